import { describe, expect, test } from "bun:test";
import { errorMeanings } from "#domain/codes/error-codes.ts";
import { ProcessHealthRegistry } from "#health/registry.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aPolicy, aRegistry, aRuntime, aSnapshot, aTask } from "#pipeline/decide/fixtures.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { Clock } from "#platform/time.ts";
import { failureKinds } from "#upstream/upstream.ts";
import { failureAnswer } from "./failure-answer.ts";
import { refusedExecution } from "./refusals.ts";

const flash = "vendor_v4_flash";

/** Seconds that a caller is told when each model has asked for a pause of 20 s; `pass` is called before that and after. */
function retryAfter(clock: Clock, pass: () => void): number | undefined {
  const policy = aPolicy();
  const registry = aRegistry();
  const health = new ProcessHealthRegistry({
    models: () => registry,
    rules: () => policy.health,
    clock,
    random: () => 0.5,
  });
  pass();
  const limited = { kind: "limited", retryAfterMs: 20_000 } as const;
  for (const model of registry.models.keys()) health.admit(model)?.report(limited);
  pass();
  const snapshot = aSnapshot({ policy, registry });
  const routed = { decision: decide(aTask(), aRuntime(), snapshot), snapshot };
  const failure = { kind: "rate_limited", message: "", dispatched: true, retryAfterMs: 20_000 } as const;
  const refusal = refusedExecution(
    { kind: "failed", failure, model: flash, attempts: [] },
    {} as RequestContext, // nothing of it is read
    routed,
    { decisionId: "d1", decision: routed.decision, taskKind: "OTHER", answeredBy: null, redactions: 0 },
    { clock, health } as unknown as Ports, // nor other ports
  );
  return refusal.retryAfterS;
}

describe("Retry-After", () => {
  test("is no longer than the upstream's pause, however the two clocks count parts of a millisecond", () => {
    let monotonic = 0;
    // The wall clock counts whole milliseconds, the monotonic one parts of them too.
    const clock = { now: () => Math.floor(1_000_000.4 + monotonic), monotonic: () => monotonic };
    for (let step = 0; step < 50; step++) {
      const told = retryAfter(clock, () => {
        monotonic += 0.013;
      });
      expect(told).toBe(20);
      monotonic += 0.117;
    }
  });

  test("is the rest of the pause when the wall clock has been set back by an hour", () => {
    let wall = 10_000_000;
    let monotonic = 0;
    const told = retryAfter({ now: () => wall, monotonic: () => monotonic }, () => {
      wall -= 3_600_000;
      monotonic += 5_000;
    });
    expect(told).toBe(15);
  });
});

test.each(failureKinds)("the failure %s has a documented code, with its status", (kind) => {
  const { code, status } = failureAnswer({ kind, message: "", dispatched: true });
  expect(Object.keys(errorMeanings)).toContain(code);
  const documented: { readonly status: readonly number[] } = errorMeanings[code as keyof typeof errorMeanings];
  expect(documented.status).toEqual([status]);
});
