import { describe, expect, test } from "bun:test";
import { RoutingDecision } from "#domain/routing.ts";
import { decide } from "./decide.ts";
import { aHealth, aPolicy, aRuntime, aSnapshot, aTask, dollars } from "./fixtures.ts";

const open = { sensitive: false } as const;

/** Scores 43.5: in the gray zone, on its flash side. */
const grayLow = { reasoning_requirement: 0.6, ambiguity: 0.6, dependency_depth: 0.6, verification_difficulty: 0.5 };
/** Scores 52.5: in the gray zone, on its pro side. */
const grayHigh = { reasoning_requirement: 0.7, ambiguity: 0.7, dependency_depth: 0.7, verification_difficulty: 0.7 };
const hardest = { reasoning_requirement: 1, ambiguity: 1, dependency_depth: 1, verification_difficulty: 1 };

describe("a decision", () => {
  test("has exactly the eleven specified fields", () => {
    const decision = decide(aTask(), aRuntime(), aSnapshot());
    expect(Object.keys(decision).sort()).toEqual(Object.keys(RoutingDecision.shape).sort());
    expect(Object.keys(decision)).toHaveLength(11);
    expect(RoutingDecision.parse(decision)).toEqual(decision);
    expect(decision).toMatchObject({ task_id: "t-1", policy_version: "1" });
  });

  test("routes a task with only the required fields to flash by its score", () => {
    expect(decide(aTask(), aRuntime(), aSnapshot())).toMatchObject({
      action: "ROUTE",
      model: "vendor_v4_flash",
      purpose: "EXECUTE",
      cause: "score_flash",
      score: 22.5,
      hard_rule: false,
      sensitive_block_applied: false,
    });
  });

  test("routes a task with all four dimensions at 1 to pro by its score", () => {
    expect(decide(aTask(hardest), aRuntime(), aSnapshot())).toMatchObject({
      action: "ROUTE",
      model: "vendor_v4_pro",
      purpose: "EXECUTE",
      cause: "score_pro",
      score: 75,
    });
  });

  test("asks the scout in the gray zone when a free model may see the task", () => {
    expect(decide(aTask({ ...open, ...grayLow }), aRuntime(), aSnapshot())).toMatchObject({
      action: "SCOUT",
      model: "vendor_free_scout",
      purpose: "SCOUT",
      cause: "gray_zone_scout",
      score: 43,
    });
  });

  test("splits the gray zone at its midpoint when the task is sensitive, and says that privacy did so", () => {
    expect(decide(aTask(grayLow), aRuntime(), aSnapshot())).toMatchObject({
      cause: "gray_zone_flash",
      model: "vendor_v4_flash",
      sensitive_block_applied: true,
    });
    expect(decide(aTask(grayHigh), aRuntime(), aSnapshot())).toMatchObject({
      cause: "gray_zone_pro",
      model: "vendor_v4_pro",
      sensitive_block_applied: true,
    });
  });

  test("denies when not even the hard cap leaves room", () => {
    const snapshot = aSnapshot({ policy: aPolicy({ budget: { per_goal_hard_usd: 0.000001 } }) });
    expect(decide(aTask(), aRuntime(), snapshot)).toMatchObject({
      action: "DENY",
      model: null,
      purpose: "NONE",
      cause: "budget_hard_cap_exceeded",
    });
  });

  test("stops for a human when every model is unhealthy", () => {
    const health = aHealth({
      vendor_v4_flash: "UNHEALTHY",
      vendor_v4_pro: "QUARANTINE",
      vendor_emergency: "DISABLED",
    });
    expect(decide(aTask(), aRuntime(), aSnapshot({ health }))).toMatchObject({
      action: "STOP_FOR_HUMAN",
      model: null,
      purpose: "NONE",
      cause: "all_models_unhealthy",
    });
  });

  test("steps a scored pro down to flash at the soft cap", () => {
    const spend = { goal: { spent: dollars(1.99), held: dollars(0) } };
    expect(decide(aTask(hardest), aRuntime(), aSnapshot({ spend }))).toMatchObject({
      model: "vendor_v4_flash",
      cause: "budget_soft_cap",
    });
  });
});
