import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import { type HealthState, healthStates } from "#health/health.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { shedShare } from "./evidence.ts";
import {
  type Health,
  type HealthEvent,
  type HealthRules,
  initialHealth,
  staleAfterMs,
  windowMs,
} from "./model-health.ts";
import { flapping, next, probeLeaseMs, quarantine, transitions } from "./transitions.ts";

/** The states that each state may become. There are no others. */
const allowedTransitions: Readonly<Record<HealthState, readonly HealthState[]>> = {
  HEALTHY: ["DEGRADED", "UNHEALTHY", "QUARANTINE", "STALE", "DISABLED"],
  DEGRADED: ["HEALTHY", "UNHEALTHY", "QUARANTINE", "STALE", "DISABLED"],
  UNHEALTHY: ["HALF_OPEN", "DISABLED"],
  HALF_OPEN: ["DEGRADED", "UNHEALTHY", "QUARANTINE", "DISABLED"],
  STALE: ["HEALTHY", "DEGRADED", "UNHEALTHY", "QUARANTINE", "DISABLED"],
  QUARANTINE: ["HALF_OPEN", "DISABLED"],
  DISABLED: ["STALE"],
};
const defaults: HealthRules = Policy.parse({}).health;
const second = 1_000;
const minute = 60_000;

/** What the registry asks before it sends a request. */
function mayBeSent(health: Health, ms: number): boolean {
  const { retryAtMs = 0, leaseUntilMs, limitedUntilMs } = health as Partial<Health<"UNHEALTHY"> & Health<"HALF_OPEN">>;
  const out = health.state === "UNHEALTHY" || health.state === "QUARANTINE";
  const probed = health.state === "HALF_OPEN" ? (leaseUntilMs ?? 0) : 0;
  return Math.max(out ? retryAtMs : 0, probed, limitedUntilMs ?? 0) <= ms;
}

/** A model with its own clock: each call is one event at the current time, in the current epoch. */
class ModelUnderTest {
  health: Health = initialHealth(0);
  ms = 0;
  jitter = 0.5;
  readonly rules: HealthRules;

  constructor(rules: Partial<HealthRules> = {}) {
    this.rules = { ...defaults, ...rules };
  }
  say(event: HealthEvent): this {
    this.health = next(this.health, event, { ms: this.ms, jitter: this.jitter, rules: this.rules });
    return this;
  }
  wait(ms: number): this {
    this.ms += ms;
    return this.say({ kind: "time_passed" });
  }
  times(n: number, one: () => unknown): this {
    for (let i = 0; i < n; i++) one();
    return this;
  }
  ok(slow = false): this {
    return this.say({ kind: "succeeded", epoch: this.health.epoch, slow });
  }
  fail(retryAfterMs?: number): this {
    return this.say({ kind: "failed", as: "failure", epoch: this.health.epoch, reason: "timed_out", retryAfterMs });
  }
  garble(): this {
    return this.say({ kind: "failed", as: "garbage", epoch: this.health.epoch, reason: "garbage" });
  }
  want(): this {
    return mayBeSent(this.health, this.ms) ? this.say({ kind: "wanted" }) : this;
  }
  trip(): this {
    return this.times(this.rules.failures_in_a_row, () => this.fail());
  }
  recover(): this {
    this.ms = Math.max(this.ms, (this.health as { retryAtMs?: number }).retryAtMs ?? 0);
    return this.times(3, () => this.want().ok());
  }
  is(state: HealthState): void {
    expect(this.health.state).toBe(state);
  }
  get retryAtMs(): number {
    return (this.health as Health<"UNHEALTHY">).retryAtMs;
  }
}
const modelUnderTest = (rules: Partial<HealthRules> = {}) => new ModelUnderTest(rules);

const said: { readonly [letter: string]: (model: ModelUnderTest) => unknown } = {
  o: (model) => model.ok(),
  s: (model) => model.ok(true),
  f: (model) => model.fail(),
  g: (model) => model.garble(),
  n: (model) => model.say({ kind: "failed", as: "not_found", epoch: model.health.epoch, reason: "404" }),
  p: (model) => model.say({ kind: "price_breached", epoch: model.health.epoch }),
  r: (model) => model.recover(),
  "-": (model) => model.wait(70 * second),
  "|": (model) => model.wait(15 * minute),
};
/** `oo`: two answers; `s`: a slow one; `f`ailure, `g`arbage, `n`ot found, `p`rice breach; `r`ecovers; a window, 15 min. */
function after(script: string): ModelUnderTest {
  const model = modelUnderTest();
  for (const letter of script) said[letter]?.(model);
  return model;
}

describe("edges 1, 3, 7, 9 and 10, by evidence", () => {
  test.each<[what: string, script: string, state: HealthState, reason?: string]>(
    jsonLines(import.meta.dir, "fixtures/evidence.jsonl"),
  )("%s", (...[, script, state, reason]) => {
    const model = after(script);
    model.is(state);
    if (reason !== undefined) expect(model.health.reason).toBe(reason);
    if (model.health.state === "QUARANTINE") expect(model.retryAtMs - model.ms).toBe(30 * minute);
  });
  test("9: not a millisecond earlier", () =>
    modelUnderTest()
      .wait(15 * minute - 1)
      .is("HEALTHY"));
});

describe("edge 2, DEGRADED to HEALTHY", () => {
  const degraded = () => modelUnderTest().fail().fail().fail();
  test("two good windows of ten answers restore it, one does not", () => {
    const model = degraded();
    model.times(10, () => model.wait(6 * second).ok()).is("DEGRADED");
    model.times(9, () => model.wait(6 * second).ok()).is("DEGRADED");
    model
      .wait(6 * second)
      .ok()
      .is("HEALTHY");
  });
  test("with little traffic five good answers in five minutes are enough", () => {
    const model = degraded();
    model.times(4, () => model.wait(70 * second).ok()).is("DEGRADED");
    model
      .wait(70 * second)
      .ok()
      .is("HEALTHY");
  });
});

describe("edge 3, trips", () => {
  test("the pause is the base plus or minus a fifth, by jitter", () => {
    const early = modelUnderTest();
    early.jitter = 0;
    early.trip();
    expect(early.retryAtMs).toBe(12 * second);
    const late = modelUnderTest();
    late.jitter = 1;
    late.trip();
    expect(late.retryAtMs).toBe(18 * second);
  });
  test("a reason never contains text from outside", () => {
    const model = modelUnderTest();
    model.times(5, () =>
      model.say({ kind: "failed", as: "failure", epoch: model.health.epoch, reason: "Key sk-123 <is> bad!" }),
    );
    expect(model.health.reason).toBe("5 failures in a row");
  });
});

describe("edges 4 to 6, probing", () => {
  test("no probe is admitted before the pause is over, and one after it", () => {
    const model = modelUnderTest().trip();
    model.ms = model.retryAtMs - 1;
    model.want().is("UNHEALTHY");
    model.ms += 1;
    model.want().is("HALF_OPEN");
    expect((model.health as Health<"HALF_OPEN">).leaseUntilMs).toBe(model.ms + probeLeaseMs);
  });
  test("three successful probes in a row lead to DEGRADED, with traffic that grows over a window", () => {
    const model = modelUnderTest().trip().recover();
    model.is("DEGRADED");
    expect(shedShare(model.health, model.ms)).toBe(0.8);
    expect(shedShare(model.health, model.ms + minute / 2)).toBeCloseTo(0.4);
    expect(shedShare(model.health, model.ms + minute)).toBe(0);
  });
  test("a failed probe doubles the pause, up to a quarter of the outage and to the limit", () => {
    const model = modelUnderTest().trip();
    const pauses: number[] = [];
    for (let i = 0; i < 20; i++) {
      model.ms = model.retryAtMs;
      model.want().fail();
      model.is("UNHEALTHY");
      pauses.push(Math.round((model.retryAtMs - model.ms) / second));
    }
    expect(pauses).toEqual([15, 15, 15, 15, 19, 23, 29, 37, 46, 57, 72, 89, 112, 140, 175, 218, 273, 300, 300, 300]);
  });
  test("a first probe that fails hours later, because nobody wanted the model, doubles the pause only once", () => {
    const model = modelUnderTest().trip();
    model.ms = 180 * minute;
    model.want().fail();
    expect(model.retryAtMs - model.ms).toBe(30 * second);
  });
  test("a long outage is not flapping: it does not quarantine, however many probes fail", () => {
    const model = modelUnderTest().trip();
    model
      .times(20, () => {
        model.ms = model.retryAtMs;
        model.want().fail();
      })
      .is("UNHEALTHY");
  });
});

describe("edge 8, the end of a quarantine", () => {
  test("its time doubles up to a day and then ends in a probe", () => {
    const model = modelUnderTest();
    const dwells: number[] = [];
    for (let i = 0; i < 7; i++) {
      model.say({ kind: "price_breached", epoch: model.health.epoch }).is("QUARANTINE");
      dwells.push((model.retryAtMs - model.ms) / minute);
      model.want().is("QUARANTINE");
      model.ms = model.retryAtMs;
      model.want().is("HALF_OPEN");
    }
    expect(dwells).toEqual([30, 60, 120, 240, 480, 960, 1440]);
  });
});

describe("edge 11, the operator", () => {
  test("every state can be disabled, and leads to STALE when enabled", () => {
    for (const model of oneOfEach()) {
      model.say({ kind: "disabled", reason: "disabled by the operator" }).is("DISABLED");
      model.say({ kind: "enabled" }).is("STALE");
    }
  });
  test("a reset clears all counts, and lets an excluded model be probed at once", () => {
    const outcome: Record<HealthState, HealthState> = {
      HEALTHY: "HEALTHY",
      DEGRADED: "HEALTHY",
      UNHEALTHY: "HALF_OPEN",
      HALF_OPEN: "HALF_OPEN",
      DISABLED: "DISABLED",
      STALE: "STALE",
      QUARANTINE: "HALF_OPEN",
    };
    for (const model of oneOfEach()) {
      const before = model.health.state;
      model.say({ kind: "reset" }).is(outcome[before]);
      expect([model.health.tripsAtMs, model.health.limitedUntilMs]).toEqual([[], 0]);
    }
  });
});

describe("a 429", () => {
  test("is a pause and not a failure, in every state", () => {
    for (const model of oneOfEach()) {
      const before = model.health;
      model.say({ kind: "limited", untilMs: model.ms + 30 * second });
      expect(model.health).toEqual({ ...before, limitedUntilMs: model.ms + 30 * second });
    }
  });
  test("delays a probe", () => {
    const model = modelUnderTest()
      .trip()
      .say({ kind: "limited", untilMs: 5 * minute });
    model
      .wait(4 * minute)
      .want()
      .is("UNHEALTHY");
    model.wait(minute).want().is("HALF_OPEN");
  });
});

test("a DEGRADED model sheds by its share of failures, and keeps a fifth of its traffic", () => {
  const model = modelUnderTest();
  model.times(3, () => model.fail()).ok();
  expect(shedShare(model.health, 0)).toBeCloseTo((4 - 1.5) / 5);
  const worse = modelUnderTest({ failures_in_a_row: 60 });
  worse.times(40, () => worse.fail());
  expect(shedShare(worse.health, 0)).toBe(0.8);
  expect(shedShare(modelUnderTest().ok().health, 0)).toBe(0);
});

test("the table has a cell for every state and event, and the same edges as the documented list", () => {
  const kinds = Object.keys(transitions.HEALTHY).sort();
  for (const state of healthStates) expect(Object.keys(transitions[state]).sort()).toEqual(kinds);
  expect(Object.keys(allowedTransitions).sort()).toEqual([...healthStates].sort());
});

function oneOfEach(): ModelUnderTest[] {
  const halfOpen = modelUnderTest().trip();
  halfOpen.ms = halfOpen.retryAtMs;
  const all = [
    modelUnderTest(),
    modelUnderTest().fail().fail().fail(),
    modelUnderTest().trip(),
    halfOpen.want(),
    modelUnderTest().say({ kind: "disabled", reason: "disabled by the operator" }),
    modelUnderTest().wait(15 * minute),
    modelUnderTest().garble().garble().garble(),
  ];
  expect(all.map((model) => model.health.state)).toEqual([...healthStates]);
  return all;
}

// Any sequence of events: each with the current or an older epoch, and waits from nothing to an hour.
type Step = { waitMs: number; jitter: number; event: (epoch: number, ms: number) => HealthEvent };
const old = fc.constantFrom(0, 0, 0, 0, 1, 3);
const verdict = (weight: number, event: (epoch: number) => HealthEvent) => ({
  weight,
  arbitrary: old.map(
    (o): Step["event"] =>
      (epoch) =>
        event(epoch - o),
  ),
});
const failure = (as: "failure" | "garbage" | "not_found") => (epoch: number) =>
  ({ kind: "failed", as, epoch, reason: "timed_out" }) as const;
const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.oneof(
    { weight: 6, arbitrary: fc.nat(3 * second) },
    { weight: 3, arbitrary: fc.nat(40 * second) },
    { weight: 1, arbitrary: fc.nat(60 * minute) },
  ),
  jitter: fc.double({ min: 0, max: 0.999, noNaN: true }),
  event: fc.oneof(
    verdict(4, (epoch) => ({ kind: "succeeded", epoch, slow: false })),
    verdict(2, (epoch) => ({ kind: "succeeded", epoch, slow: true })),
    verdict(8, failure("failure")),
    verdict(1, (epoch) => ({ ...failure("failure")(epoch), run: 5 })),
    verdict(2, failure("garbage")),
    verdict(1, failure("not_found")),
    verdict(1, (epoch) => ({ kind: "price_breached", epoch })),
    verdict(1, (epoch) => ({ kind: "lease_returned", epoch })),
    {
      weight: 1,
      arbitrary: fc.nat(minute).map((ms): Step["event"] => (_, now) => ({ kind: "limited", untilMs: now + ms })),
    },
    verdict(6, () => ({ kind: "wanted" })),
    verdict(4, () => ({ kind: "time_passed" })),
  ),
});
const operator: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.nat(minute),
  jitter: fc.constant(0.5),
  event: fc
    .constantFrom<HealthEvent[]>({ kind: "disabled", reason: "x" }, { kind: "enabled" }, { kind: "reset" })
    .map((event) => () => event),
});
const length = { minLength: 1, maxLength: 400, size: "max" } as const;
const events = fc.array(step, length);
const eventsWithOperator = fc.array(
  fc.oneof({ weight: 15, arbitrary: step }, { weight: 1, arbitrary: operator }),
  length,
);

/** Applies the events in order; `look` is called after every step. */
function play(steps: readonly Step[], look: (before: Health, event: HealthEvent, after: Health, ms: number) => void) {
  let health: Health = initialHealth(0);
  let ms = 0;
  for (const { waitMs, jitter, event } of steps) {
    ms += waitMs;
    const now = event(health.epoch, ms);
    if (now.kind === "wanted" && !mayBeSent(health, ms)) continue;
    const after = next(health, now, { ms, jitter, rules: defaults });
    look(health, now, after, ms);
    health = after;
  }
}

describe("in any sequence of events", () => {
  test("every edge of the table occurs", () => {
    const walked = new Set<string>();
    for (const steps of fc.sample(eventsWithOperator, { numRuns: 1_000, seed: 1 })) {
      play(steps, (before, _, after) => {
        if (after.state !== before.state) walked.add(`${before.state} ${after.state}`);
      });
    }
    const all = healthStates.flatMap((from) => allowedTransitions[from].map((to) => `${from} ${to}`));
    expect([...walked].sort()).toEqual(all.sort());
  });

  test("each step follows the table, counts its epoch, heeds no old verdict, and leases one probe at a time", () => {
    fc.assert(
      fc.property(eventsWithOperator, (steps) => {
        play(steps, (before, event, after, ms) => {
          const changed = after.state !== before.state;
          if (changed) expect(allowedTransitions[before.state]).toContain(after.state);
          if (event.kind === "limited") expect(changed).toBe(false);
          // The epoch grows by one with each change of state, and otherwise only for a probe.
          const probe = event.kind === "wanted" && after.state === "HALF_OPEN" && after.epoch !== before.epoch;
          expect(after.epoch - before.epoch).toBe(changed || probe ? 1 : 0);
          if ("epoch" in event && event.epoch < before.countsFrom) expect(after).toBe(before);
          if (before.state === "HALF_OPEN" && (before.leaseUntilMs ?? 0) > ms) {
            if (event.kind === "lease_returned" && event.epoch !== before.epoch) expect(after).toBe(before);
          }
          // What is stored stays small.
          expect(after.slices.length).toBeLessThanOrEqual(6);
          expect(after.tripsAtMs.length).toBeLessThan(flapping.trips);
        });
      }),
      { numRuns: process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 1_000 : 100 },
    );
  });

  test("no state flaps: a state is entered again only after the minimum times of the states between", () => {
    // Shortest time between two entries into the same state, without the operator and silences.
    const minimumMs: { readonly [S in HealthState]?: number } = {
      HEALTHY: 2 * windowMs,
      DEGRADED: 0.8 * defaults.open_base_ms,
      UNHEALTHY: 0.8 * defaults.open_base_ms,
      HALF_OPEN: 0.8 * defaults.open_base_ms,
      QUARANTINE: quarantine.baseMs,
      STALE: staleAfterMs,
    };
    fc.assert(
      fc.property(events, (steps) => {
        const enteredAt = new Map<HealthState, number>();
        play(steps, (before, _, after, ms) => {
          if (after.state === before.state) return;
          const earlier = enteredAt.get(after.state);
          // After a silence one verdict is enough (edge 10), and a silence is itself a minimum time.
          if (earlier !== undefined && before.state !== "STALE") {
            expect(ms - earlier).toBeGreaterThanOrEqual(minimumMs[after.state] ?? 0);
          }
          enteredAt.set(after.state, ms);
        });
      }),
      { numRuns: process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 1_000 : 100 },
    );
  });
});
