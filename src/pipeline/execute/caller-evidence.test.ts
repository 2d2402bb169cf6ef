import { expect, test } from "bun:test";
import type { Permit, Verdict } from "#health/health.ts";
import { manualTime } from "#platform/manual-time.ts";
import { callerEvidence } from "./caller-evidence.ts";

const success: Verdict = { kind: "success", firstTokenMs: 1 };
const failure: Verdict = { kind: "failure", reason: "status_500" };

function setUp() {
  const time = manualTime();
  const evidence = callerEvidence(time.clock);
  const report = (caller: number, verdict: Verdict, model = "m") => {
    let seen: Verdict | undefined;
    const permit: Permit = {
      model,
      epoch: 1,
      probe: false,
      answering() {},
      report(reported) {
        seen = reported;
      },
    };
    evidence.permitFor(permit, caller).report(verdict);
    return seen?.kind;
  };
  return { time, report };
}

test("failures count while no other caller has had an answer from the model", () => {
  const { report } = setUp();
  report(1, success);
  report(2, success, "another model");
  expect([report(1, failure), report(1, failure)]).toEqual(["failure", "failure"]);
});

test("failures of one caller do not count for ten minutes after the model has answered another", () => {
  const { time, report } = setUp();
  report(2, success);
  report(1, success);
  for (const verdict of [failure, { kind: "garbage", reason: "x" }, { kind: "price_breach" }] as const)
    expect(report(1, verdict)).toBe("ignored");
  time.advance(600_001);
  expect(report(1, failure)).toBe("failure");
});

test("failures count for a minute after another caller has failed too", () => {
  const { time, report } = setUp();
  report(3, success);
  expect(report(1, failure)).toBe("ignored");
  expect(report(2, failure)).toBe("failure");
  expect(report(1, failure)).toBe("failure");
  time.advance(60_001);
  expect(report(1, failure)).toBe("ignored");
});

test("outcomes that do not depend on the request always count", () => {
  const { report } = setUp();
  report(2, success);
  for (const verdict of [
    { kind: "limited" },
    { kind: "delisted" },
    { kind: "aggregator_failure", reason: "x" },
  ] as const)
    expect(report(1, verdict)).toBe(verdict.kind);
});
