import { describe, expect, test } from "bun:test";
import type { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aHealth, aPolicy, aRuntime, aSnapshot, aTask, dimensions, dollars } from "#pipeline/decide/fixtures.ts";
import { propensityOf } from "./affinity.ts";

const flash = "vendor_v4_flash";
const pro = "vendor_v4_pro";
const policy = aPolicy({ routing: { exploration: 0.05 } });
/** A snapshot with this draw. */
const drawn = (draw: number, more: Parameters<typeof aSnapshot>[0] = {}) => aSnapshot({ policy, draw, ...more });
const decided = (
  task: Partial<RoutingTask>,
  snapshot: ReturnType<typeof aSnapshot>,
  runtime: Partial<RuntimeState> = {},
) => decide(aTask(task), aRuntime(runtime), snapshot);

test("a share of the tasks that the score decides goes to the other tier, in both directions, with its own cause", () => {
  const up = decided({}, drawn(0.049));
  expect(up).toMatchObject({ cause: "exploration", model: pro, hard_rule: false, confidence: 0.5 });
  expect(up.evidence).toEqual(expect.arrayContaining(["exploration=0.05", "explored_from=flash"]));
  const down = decided(dimensions(1), drawn(0.049));
  expect(down).toMatchObject({ cause: "exploration", model: flash });
  expect(down.evidence).toContain("explored_from=pro");
});

test("over many tasks, the share and the recorded probabilities are those of the policy", () => {
  const draws = Array.from({ length: 1_000 }, (_, n) => n / 1_000);
  const decisions = draws.map((draw) => decided({}, drawn(draw)));
  const explored = decisions.filter(({ cause }) => cause === "exploration");
  expect(explored).toHaveLength(50);
  // Weighted by the inverse of its probability, each tier represents all tasks.
  for (const model of [flash, pro]) {
    const weights = decisions.filter((each) => each.model === model).map((each) => 1 / propensityOf(each));
    expect(weights.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1_000, 6);
  }
});

describe("nothing is explored", () => {
  type Row = readonly [string, Partial<RoutingTask>, ReturnType<typeof aSnapshot>, Partial<RuntimeState>];
  const never: readonly Row[] = [
    ["as shipped", {}, aSnapshot({ draw: 0 }), {}],
    ["without a draw: a dry run, housekeeping, a further turn", {}, aSnapshot({ policy }), {}],
    ["where a hard rule decides", { kind: "AUTH", risk_level: "HIGH" }, drawn(0), {}],
    ["where a run is stuck", {}, drawn(0), { same_error_count: 2 }],
    ["where the caller has chosen pro", { explicit_route: "PRO" }, drawn(0), {}],
    ["where the caller has chosen flash", { explicit_route: "FLASH" }, drawn(0), {}],
    ["where the caller hints", { metadata: { routing: "flash" } }, drawn(0), {}],
    ["where high reasoning is asked for", { reasoning: "HIGH" }, drawn(0), {}],
    ["where the task is out of attempts", {}, drawn(0), { attempts: 8 }],
    ["where privacy denies", { explicit_route: "FREE_SCOUT" }, drawn(0), {}],
    ["where its context is cached", {}, drawn(0, { affinity: { model: flash, continuation: false } }), {}],
    ["above a soft cap", {}, drawn(0, { spend: { goal: { spent: dollars(2), held: dollars(0) } } }), {}],
    ["where the senior model is down", {}, drawn(0, { health: aHealth({ [pro]: "UNHEALTHY" }) }), {}],
    ["where the worker model is down", {}, drawn(0, { health: aHealth({ [flash]: "UNHEALTHY" }) }), {}],
    ["where the request is too large for the models", {}, drawn(0, { size: { inputTokensEstimate: 200_000 } }), {}],
  ];
  test.each(never)("%s", (_, task, snapshot, runtime) => {
    const decision = decided(task, snapshot, runtime);
    expect(decision.cause).not.toBe("exploration");
    expect(decision.evidence.filter((entry) => entry.startsWith("explor"))).toEqual([]);
    expect(propensityOf(decision)).toBe(1);
  });
});
