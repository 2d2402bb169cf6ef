import { describe, expect, test } from "bun:test";
import type { Verdict } from "#health/health.ts";
import { aModel } from "#pipeline/decide/fixtures.ts";
import { chargeOf, verdictOf } from "#pipeline/settle/consequences.ts";
import { ignoreCallerFaults } from "./caller-faults.ts";

test("a time-out before anything was sent is about the way to the aggregator, not about the model", () => {
  const timedOut = { kind: "timed_out", message: "m" } as const;
  expect(verdictOf({ ...timedOut, dispatched: false }, "m").kind).toBe("aggregator_failure");
  expect(verdictOf({ ...timedOut, dispatched: true }, "m").kind).toBe("failure");
});

describe("a 4xx", () => {
  const id = "vendor/model-4.1";
  const of = (status: number, message: string, kind: "rejected" | "unauthorized" = "rejected") =>
    verdictOf({ kind, status, message, dispatched: true }, id).kind;

  test.each([
    [404, `No endpoints found for ${id}.`],
    [404, `The model \`${id}\` does not exist or you do not have access to it.`],
    [404, `model "${id}" not found, try pulling it first`],
    [400, `${id} is not a valid model ID`],
  ])("%d that names the model as unknown delists it: %s", (status, message) =>
    expect(of(status, message)).toBe("delisted"),
  );

  test.each([
    [404, "No endpoints found that support tool use. To learn more about provider routing, visit: …"],
    [404, "No endpoints found that support the provided 'tool_choice' value."],
    [404, "No endpoints found matching your data policy (Zero data retention)."],
    [404, `No endpoints found for ${id} that support image input`],
    [404, "No endpoints found for vendor/other."],
    [404, `No tool named ${id} is not a valid model ID`],
    [404, "Not Found"],
    [404, ""],
    [400, "other is not a valid model ID"],
    [422, `${id} is not a valid model ID`],
  ])("%d that does not is ignored: %s", (status, message) => expect(of(status, message)).toBe("ignored"));

  test("402 about this request is not a failure of the aggregator", () => {
    const message = "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens";
    expect(of(402, message, "unauthorized")).toBe("ignored");
  });

  test.each([
    [401, "No auth credentials found"],
    [402, "Insufficient credits"],
    [403, "Key limit exceeded"],
  ])("%d about our account is one: %s", (status, message) =>
    expect(of(status, message, "unauthorized")).toBe("aggregator_failure"),
  );
});

test("only what an upstream provably does not bill costs nothing", () => {
  const failure = { kind: "rejected", message: "", dispatched: true } as const;
  for (const status of [400, 404, 413, 422]) expect(chargeOf({ ...failure, status })).toBe("nothing");
  expect(chargeOf({ ...failure, status: 418 })).toBe("unknown");
  expect(chargeOf({ ...failure, status: 400, begun: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: false })).toBe("nothing");
});

test.each([
  ["timed_out", 900, "ignored"],
  ["timed_out", 899, "failure"],
  ["upstream_error 500", 900, "failure"],
] as const)(
  "%s after a prompt of %d tokens in a context window of 1,000: %s",
  (reason, inputTokensEstimate, counts) => {
    const seen: Verdict[] = [];
    const report = (verdict: Verdict) => void seen.push(verdict);
    const permit = { model: "m", epoch: 1, probe: false, answering() {}, report };
    const size = { inputTokensBound: 10_000, inputTokensEstimate, requestedOutputTokens: null, choices: 1 };
    const body = { messages: [{ role: "user", content: "hello" }] };
    ignoreCallerFaults(permit, aModel({ key: "m", role: "worker", contextTokens: 1_000 }), { body, size }).report({
      kind: "failure",
      reason,
    });
    expect(seen.map(({ kind }) => kind)).toEqual([counts]);
  },
);
