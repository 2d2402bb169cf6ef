import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { ann, bad, empty, flash, minute, modelWith, ok, pro, registryWith, second, talk } from "./fixtures.ts";
import type { HealthChange, HealthState, Permit, Verdict } from "./health.ts";
import { ProcessHealthRegistry } from "./registry.ts";
import type { HealthRules } from "./state-machine/model-health.ts";

const emergency = "vendor_emergency";
const all = registryWith(modelWith(flash, "worker"), modelWith(pro, "senior"), modelWith(emergency, "emergency"));

function setUp(rules: Partial<HealthRules> = {}, models: ModelRegistry = all) {
  const world = {
    ms: 1_000_000,
    jitter: 0.5,
    models,
    rules: { ...Policy.parse({}).health, ...rules } as HealthRules,
    changes: [] as HealthChange[],
  };
  const health = new ProcessHealthRegistry({
    models: () => world.models,
    rules: () => world.rules,
    clock: { now: () => world.ms, monotonic: () => world.ms },
    random: () => world.jitter,
    onChange: (change) => world.changes.push(change),
  });
  const report = (key: ModelKey, verdict: Verdict, times = 1, source = ann) => {
    for (let i = 0; i < times; i++) health.admit(key, source)?.report(verdict);
  };
  const wait = (ms: number) => {
    world.ms += ms;
  };
  const state = (key: ModelKey) => health.view()[key]?.state;
  const routable = (key: ModelKey) => health.view()[key]?.routable;
  return { world, health, report, wait, state, routable };
}
const unreachable: Verdict = { kind: "aggregator_failure", reason: "unreachable" };

describe("the view", () => {
  test("shows every registered model, HEALTHY and routable at first", () => {
    const { health, world } = setUp();
    expect(health.view()).toEqual(
      Object.fromEntries(
        [flash, pro, emergency].map((key) => [
          key,
          { state: "HEALTHY", routable: true, sinceMs: world.ms, reason: "first seen" },
        ]),
      ),
    );
  });
});

describe("admission", () => {
  test("lets a model in service have any number of attempts", () => {
    const { health } = setUp();
    expect(Array.from({ length: 50 }, () => health.admit(flash, ann)?.probe)).toEqual(Array(50).fill(false));
  });

  test("admits one probe at a time, and the next one only after its verdict", () => {
    const { health, report, wait, routable } = setUp();
    report(flash, bad, 5);
    expect(health.admit(flash, ann)).toBeUndefined();
    wait(15 * second);
    const probe = health.admit(flash, ann);
    expect(probe?.probe).toBe(true);
    expect(health.admit(flash, ann)).toBeUndefined();
    // Who cannot be the probe goes to the next model.
    expect(routable(flash)).toBe(true);
    probe?.report(ok);
    expect(health.admit(flash, ann)?.probe).toBe(true);
  });

  test("admits another probe after a caller of a probe disconnected", () => {
    const { health, report, wait } = setUp();
    report(flash, bad, 5);
    wait(15 * second);
    health.admit(flash, ann)?.report({ kind: "ignored" });
    expect(health.admit(flash, ann)?.probe).toBe(true);
  });

  test("admits the next probe as soon as the answer to the last one has begun", () => {
    const { health, report, wait, state } = setUp();
    report(flash, bad, 5);
    wait(15 * second);
    const probes = Array.from({ length: 3 }, () => {
      const probe = health.admit(flash, ann);
      expect(health.admit(flash, ann)).toBeUndefined();
      probe?.answering();
      return probe;
    });
    expect(state(flash)).toBe("HALF_OPEN");
    for (const probe of probes) probe?.report(ok);
    expect(state(flash)).toBe("DEGRADED");
  });

  test("answers to attempts from before a trip are no evidence", () => {
    const { health, report, wait, state } = setUp();
    const early = Array.from({ length: 5 }, () => health.admit(flash, ann));
    report(flash, bad, 5);
    for (const permit of early) permit?.report(ok);
    expect(state(flash)).toBe("UNHEALTHY");
    wait(15 * second);
    health.admit(flash, ann);
    expect(state(flash)).toBe("HALF_OPEN");
  });
});

describe("a 429", () => {
  test("skips the model until Retry-After, and does not change its state", () => {
    const { health, report, wait, world } = setUp();
    report(flash, { kind: "limited", retryAfterMs: 7 * second });
    expect(health.view()[flash]).toMatchObject({
      state: "HEALTHY",
      routable: false,
      reason: "rate limited by the upstream",
      retryAtMs: world.ms + 7 * second,
    });
    expect(health.admit(flash, ann)).toBeUndefined();
    wait(7 * second);
    expect(health.view()[flash]).toMatchObject({ state: "HEALTHY", routable: true, reason: "first seen" });
  });
  test("without Retry-After means 30 s, a day means 15 min", () => {
    const { health, report, world } = setUp();
    report(flash, { kind: "limited" });
    report(pro, { kind: "limited", retryAfterMs: 86_400_000 });
    expect(health.view()[flash]?.retryAtMs).toBe(world.ms + 30 * second);
    expect(health.view()[pro]?.retryAtMs).toBe(world.ms + 15 * minute);
  });
});

describe("slow answers", () => {
  test("are those beyond ten seconds while there are few samples", () => {
    const { report, state } = setUp();
    report(flash, { kind: "success", firstTokenMs: 9_999 }, 10);
    expect(state(flash)).toBe("HEALTHY");
    report(flash, { kind: "success", firstTokenMs: 10_001 }, 10);
    expect(state(flash)).toBe("DEGRADED");
  });
  test("are three times the model's own 95th percentile for a model that is always slow", () => {
    const { report, state, wait } = setUp();
    report(pro, { kind: "success", firstTokenMs: 9_000 }, 40);
    wait(2 * minute);
    report(pro, { kind: "success", firstTokenMs: 25_000 }, 12);
    expect(state(pro)).toBe("HEALTHY");
    report(flash, { kind: "success", firstTokenMs: 500 }, 40);
    wait(2 * minute);
    report(flash, { kind: "success", firstTokenMs: 25_000 }, 12);
    expect(state(flash)).toBe("DEGRADED");
  });
});

describe("shedding", () => {
  test("moves some of a DEGRADED model's requests at random, and no other model's", () => {
    const { health, report, world } = setUp();
    report(flash, bad, 3); // (3 − 0) / (3 + 1), so three quarters
    world.jitter = 0.74;
    expect(health.shed(flash)).toBe(true);
    expect(health.shed(pro)).toBe(false);
    world.jitter = 0.76;
    expect(health.shed(flash)).toBe(false);
  });
});

describe("with all models excluded", () => {
  const down = () => {
    const world = setUp({ open_base_ms: 60_000 });
    for (const key of [flash, emergency, pro]) world.report(key, bad, 5);
    return world;
  };
  test("the most senior model is probed at once and then about every second, also while a probe is silent", () => {
    const { health, wait, routable, world } = down();
    expect([routable(pro), routable(flash), routable(emergency)]).toEqual([true, false, false]);
    expect(health.admit(flash, ann)).toBeUndefined();
    health.admit(pro, ann)?.report(bad);
    expect(routable(pro)).toBe(false);
    expect(health.view()[pro]?.retryAtMs).toBe(world.ms + 800);
    expect(health.admit(pro, ann)).toBeUndefined();
    for (let probe = 0; probe < 5; probe++) {
      wait(800);
      expect(health.admit(pro, ann)?.probe).toBe(true);
      expect(health.admit(pro, ann)).toBeUndefined();
    }
  });
  test("a free model is never probed early, and a 503 with Retry-After is told as a 429 is", () => {
    const scout = "scout";
    const world = setUp({}, registryWith(...all.models.values(), modelWith(scout, "scout")));
    for (const key of [scout, flash, emergency]) world.report(key, bad, 5);
    world.report(pro, { kind: "failure", reason: "x", retryAfterMs: minute }, 5);
    expect([world.routable(scout), world.routable(pro), world.routable(flash)]).toEqual([false, false, true]);
    expect(world.health.admit(flash, ann)?.probe).toBe(true);
    world.wait(minute);
    expect(world.routable(pro)).toBe(true);
  });
  test("never calls earlier than Retry-After says; a 429 without it is a guess", () => {
    const { health, report, routable, wait } = setUp();
    for (const key of [flash, emergency, pro]) report(key, { kind: "limited", retryAfterMs: 30_000 });
    expect([routable(pro), health.admit(pro, ann)]).toEqual([false, undefined]);
    wait(30_000);
    for (const key of [flash, emergency, pro]) report(key, { kind: "limited" });
    expect([routable(pro), routable(flash)]).toEqual([true, false]);
    expect(health.admit(pro, ann)).toBeDefined();
    expect(routable(pro)).toBe(false);
  });
});

describe("the aggregator's breaker", () => {
  const open = () => {
    const world = setUp();
    world.report(flash, unreachable, 3);
    world.report(pro, unreachable, 2);
    return world;
  };
  test("opens after five failures in a row over two models, and is no model's fault", () => {
    const { health, report, state, routable } = setUp();
    report(flash, unreachable, 7);
    expect(health.outage()).toBeUndefined();
    report(pro, unreachable);
    expect([state(flash), state(pro), routable(flash), routable(emergency)]).toEqual([
      "HEALTHY",
      "HEALTHY",
      true,
      true,
    ]);
    expect(health.outage()?.reason).toBe("the aggregator could not be reached 8 times in a row (unreachable)");
    expect(health.admit(emergency, ann)).toBeUndefined();
  });
  test("a single model that can be called opens it alone; any answer ends a run", () => {
    const { health, report, world } = setUp({}, registryWith(modelWith(flash, "worker"), modelWith(pro, "senior")));
    report(pro, bad, 5);
    world.ms += second;
    report(flash, unreachable, 4);
    report(flash, { kind: "refused" });
    report(flash, unreachable, 4);
    expect(health.outage()).toBeUndefined();
    report(flash, unreachable);
    expect(health.outage()).toBeDefined();
  });
  test("admits one probe about every second, whatever became of the last, for as long as it takes", () => {
    const { health, wait, world } = open();
    for (let probe = 0; probe < 5_000; probe++) {
      expect(health.outage()?.retryAtMs).toBe(world.ms + 800);
      wait(799);
      expect(health.admit(flash, ann)).toBeUndefined();
      wait(1);
      const permit = health.admit(flash, ann);
      expect(permit).toBeDefined();
      expect(health.admit(pro, ann)).toBeUndefined();
      if (probe % 2 === 0) permit?.report(unreachable);
    }
  });
  test.each<Verdict>([ok, bad, empty, { kind: "refused" }, { kind: "limited" }])(
    "closes with the first answer of a probe, of any kind: %j",
    (verdict) => {
      const { health, report, wait, world } = open();
      wait(second);
      report(flash, { kind: "ignored" });
      expect(health.outage()).toBeDefined();
      wait(second);
      report(flash, verdict);
      expect(health.outage()).toBeUndefined();
      expect(world.changes.map((change) => change.to)).toEqual(["open", "closed"]);
    },
  );
  test("what tripped while the aggregator went away is probed through it, and as soon as it answers again", () => {
    const { health, report, routable, wait, state } = setUp();
    for (const key of [flash, pro, emergency]) report(key, bad, 5);
    wait(15 * second);
    for (const key of [flash, pro]) report(key, unreachable, 3);
    expect([health.outage() !== undefined, routable(flash), routable(emergency)]).toEqual([true, true, true]);
    wait(second);
    report(pro, ok);
    expect([state(pro), state(emergency), routable(emergency)]).toEqual(["HALF_OPEN", "UNHEALTHY", true]);
  });
  test("a probe that succeeds ends the pauses of others: a request that only they may answer need not wait", () => {
    const { report, state, wait, routable } = setUp();
    for (const key of [pro, emergency]) report(key, bad, 5);
    wait(second);
    report(flash, bad, 5);
    report(pro, ok);
    expect([state(pro), routable(emergency), routable(flash)]).toEqual(["HALF_OPEN", true, true]);
  });
  test("freezes the models' counters while it is open", () => {
    const { health, report, state } = setUp();
    const inFlight = Array.from({ length: 20 }, () => health.admit(emergency, ann));
    report(flash, unreachable, 3);
    report(pro, unreachable, 2);
    for (const permit of inFlight) permit?.report(bad);
    expect(state(emergency)).toBe("HEALTHY");
  });
});

describe("whose evidence counts", () => {
  const breach: Verdict = { kind: "price_breach" };
  const verdicts: { readonly [letter: string]: Verdict } = {
    ...{ o: ok, b: bad, e: empty, $: breach, r: { kind: "refused" }, d: { kind: "delisted" } },
  };
  /** So many times a verdict for `caller.conversation`, each; `n`: another each time, `-`: none. */
  type Row = [what: string, times: number, said: string, state: HealthState];
  test.each<Row>(jsonLines(import.meta.dir, "state-machine/fixtures/whose-evidence.jsonl"))("%s", (...row) => {
    const [, times, said, expected] = row;
    const { health, state } = setUp();
    for (let n = 100; n < 100 + times; n++) {
      for (const [letter = "", ...source] of said.split(" ")) {
        const [caller = "", conversation = ""] = source.join("").replaceAll("n", String(n)).split(".");
        const known = conversation === "-" ? undefined : conversation;
        const from = { caller: Number(caller), conversation: known, billed: known };
        health.admit(flash, from)?.report(verdicts[letter] ?? ok);
      }
    }
    expect(state(flash)).toBe(expected);
  });
  test("a conversation that has counted does not again, also as a probe; a reset forgets all", () => {
    const { health, report, state, wait } = setUp();
    for (let n = 0; n < 3; n++) report(flash, breach, 1, talk(n));
    expect(state(flash)).toBe("QUARANTINE");
    wait(31 * minute);
    report(flash, breach, 1, talk(0));
    expect(state(flash)).toBe("HALF_OPEN");
    report(flash, breach, 1, talk(9));
    expect(state(flash)).toBe("QUARANTINE");
    health.override(flash, "reset");
    report(flash, breach, 2, talk(10));
    expect(state(flash)).toBe("HALF_OPEN");
  });
  test("two conversations confirm each other for ten minutes", () => {
    const { report, state, wait } = setUp();
    for (let n = 0; n < 9; n++) {
      wait(6 * minute);
      report(flash, empty, 1, talk(n % 2 === 0 ? 0 : n));
      if (n % 2 === 0) wait(6 * minute);
      report(flash, ok);
    }
    expect(state(flash)).toBe("HEALTHY");
  });
});

describe("a reload of the model registry", () => {
  test("disables, enables, adds and removes models", () => {
    const { world, health, state, report } = setUp();
    report(pro, bad, 5);
    world.models = registryWith(modelWith(flash, "worker", false), modelWith("new_one", "senior"));
    expect(health.view()).toMatchObject({ [flash]: { state: "DISABLED" }, new_one: { state: "HEALTHY" } });
    expect(health.view()[pro]).toBeUndefined();
    world.models = all;
    expect([state(flash), state(pro)]).toEqual(["STALE", "HEALTHY"]);
  });
});

describe("after an outage of a minute, whatever the jitter", () => {
  test.each<[failure: string, verdict: Verdict, models: readonly ModelKey[]]>([
    ["one model answers 503", bad, [flash]],
    ["all models answer 503", bad, [flash, pro, emergency]],
    ["all connections are refused", unreachable, [flash, pro, emergency]],
  ])("the first model is back within 18 s: %s", (_, verdict, failing) => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = seededRandom(seed);
      const { world, health, wait } = setUp();
      const beganMs = world.ms;
      /** One request, by the first model that admits and answers it. */
      const request = (fails: boolean) =>
        [flash, pro, emergency].find((key) => {
          const permit = health.shed(key) ? undefined : health.admit(key, ann);
          const failed = fails && failing.includes(key);
          permit?.report(failed ? verdict : ok);
          return permit !== undefined && !failed;
        });
      for (let lastedMs = 0; ; lastedMs = world.ms - beganMs - minute) {
        wait(500 * random());
        world.jitter = random();
        if (request(world.ms - beganMs < minute) === flash && world.ms - beganMs >= minute) break;
        expect(lastedMs).toBeLessThan(18 * second);
      }
    }
  });
});

test("a clock set back does not prolong a pause", () => {
  let wall = 1_000_000;
  let monotonic = 0;
  const health = new ProcessHealthRegistry({
    models: () => all,
    rules: () => Policy.parse({}).health,
    clock: { now: () => wall, monotonic: () => monotonic },
    random: () => 0.5,
  });
  for (let i = 0; i < 5; i++) health.admit(flash, ann)?.report(bad);
  wall -= 60 * minute;
  monotonic += 15 * second;
  expect(health.view()[flash]?.routable).toBe(true);
});

describe("in any sequence of events", () => {
  const keys = [flash, pro, emergency] as const;
  const verdict: fc.Arbitrary<Verdict> = fc.oneof(
    { weight: 4, arbitrary: fc.constant(ok) },
    { weight: 6, arbitrary: fc.constant(bad) },
    { weight: 1, arbitrary: fc.constant<Verdict>({ kind: "garbage", reason: "garbage" }) },
    { weight: 4, arbitrary: fc.constant(unreachable) },
    { weight: 1, arbitrary: fc.nat(60_000).map((retryAfterMs): Verdict => ({ kind: "limited", retryAfterMs })) },
    { weight: 1, arbitrary: fc.constant<Verdict>({ kind: "ignored" }) },
    { weight: 1, arbitrary: fc.constant<Verdict>({ kind: "price_breach" }) },
  );
  const key = fc.constantFrom(...keys);
  const act = fc.oneof(
    { weight: 10, arbitrary: fc.record({ do: fc.constant("ask" as const), key }) },
    { weight: 10, arbitrary: fc.record({ do: fc.constant("report" as const), pick: fc.nat(), verdict }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("answering" as const), pick: fc.nat() }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(20_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(1_800_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("disable", "enable", "reset"), key }) },
  );

  test("a model is admitted when the view says that it may be, but for probes, and the view says when that will be", () => {
    const sequence = fc.array(act, { maxLength: 300, size: "max" });
    fc.assert(
      fc.property(sequence, (acts) => {
        const { health, wait, world } = setUp();
        const permits: Permit[] = [];
        for (const one of acts) {
          if (one.do === "ask") {
            const said = health.view()[one.key]?.routable;
            const outage = health.outage();
            const permit = health.admit(one.key, ann);
            if (said !== true) expect(permit).toBeUndefined();
            else if (health.view()[one.key]?.state !== "HALF_OPEN" && outage === undefined)
              expect(permit).toBeDefined();
            if (permit !== undefined) permits.push(permit);
          } else if (one.do === "report") permits.splice(one.pick % (permits.length || 1), 1)[0]?.report(one.verdict);
          else if (one.do === "answering") permits[one.pick % (permits.length || 1)]?.answering();
          else if (one.do === "wait") wait(one.ms);
          else health.override(one.key, one.do);
          for (const { state, routable, retryAtMs } of Object.values(health.view())) {
            if (routable) expect(retryAtMs).toBeUndefined();
            else if (state !== "DISABLED" && state !== "HALF_OPEN") expect(retryAtMs).toBeGreaterThan(world.ms);
          }
        }
      }),
      { numRuns: process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 1_000 : 150 },
    );
  });
});
