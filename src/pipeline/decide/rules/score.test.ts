import { describe, expect, test } from "bun:test";
import { levels, taskKinds } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aPolicy, aRuntime, aSnapshot, aTask, dimensions } from "#pipeline/decide/fixtures.ts";
import { confidenceOfScore, midpointTier, scoreOf, troubleOf, zoneOf } from "./score.ts";

const policy = aPolicy();
const score = (task: Parameters<typeof aTask>[0] = {}, runtime: Parameters<typeof aRuntime>[0] = {}) =>
  scoreOf(aTask(task), aRuntime(runtime), policy, []);

describe("the score", () => {
  test("of a task with only the required fields is 22.5, and of one with all dimensions at 1 it is 75", () => {
    expect(score()).toBe(22.5);
    expect(score(dimensions(1))).toBe(75);
  });

  test("of nothing at all is 0, and everything at once ends at 100", () => {
    expect(score(dimensions(0))).toBe(0);
    expect(score({ ...dimensions(0), kind: "CLASSIFY" })).toBe(0);
    const worst = { ...dimensions(1), kind: "SECURITY", risk_level: "CRITICAL", blast_radius: "CRITICAL" } as const;
    expect(score(worst, { tool_depth: 99, failure_class: "STRUCTURAL" })).toBe(100);
  });

  test("gives each dimension its own weight", () => {
    const only = (dimension: string) => score({ ...dimensions(0), [dimension]: 1 });
    expect(["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"].map(only)).toEqual([
      25, 15, 15, 20,
    ]);
  });

  test("counts risk and blast radius in thirds of their weights", () => {
    expect(levels.map((risk_level) => score({ ...dimensions(0), risk_level }))).toEqual([0, 3.33, 6.67, 10]);
    expect(levels.map((blast_radius) => score({ ...dimensions(0), blast_radius }))).toEqual([0, 2, 4, 6]);
  });

  test("counts what the task estimates and what the runtime has seen of tool depth together, up to the hard trigger", () => {
    expect(score({ ...dimensions(0), estimated_tool_depth: 4 }, { tool_depth: 4 })).toBe(2.5);
    expect(score({ ...dimensions(0), estimated_tool_depth: 400 })).toBe(5);
  });

  test("adds the bias of every kind", () => {
    for (const kind of taskKinds) expect(score({ kind })).toBe(22.5 + policy.routing.kind_bias[kind]);
  });

  test("follows the policy's weights", () => {
    const heavy = aPolicy({ routing: { weights: { ambiguity: 100 } } });
    expect(scoreOf(aTask({ ambiguity: 1 }), aRuntime(), heavy, [])).toBe(100);
  });
});

describe("trouble", () => {
  const trouble = (runtime: Parameters<typeof aRuntime>[0]) => troubleOf(aRuntime(runtime), policy);

  test("is 0 for a task that has only begun, and 1 where a signal has reached its trigger", () => {
    expect(trouble({})).toBe(0);
    expect(trouble({ same_error_count: 2 })).toBe(1);
    expect(trouble({ failure_class: "STRUCTURAL" })).toBe(1);
    expect(trouble({ tests_failed: 1_000_000 })).toBe(1);
  });

  test("joins signals so that each one counts", () => {
    expect(trouble({ same_error_count: 1 })).toBe(0.5);
    expect(trouble({ same_error_count: 1, flash_attempts: 1 })).toBe(0.75);
    expect(trouble({ same_error_count: 1, flash_attempts: 1, failure_class: "LOCAL" })).toBe(0.875);
    expect(trouble({ attempts: 4, tests_failed: 5 })).toBe(0.75);
  });

  test("counts a local failure against a task", () => {
    expect(score({}, { failure_class: "LOCAL" })).toBe(28.5);
  });
});

describe("the thresholds", () => {
  test("belong to the upper zone: 35 is gray, 60 is pro", () => {
    expect([0, 34.99, 35, 59.99, 60, 100].map((at) => zoneOf(at, policy))).toEqual([
      "flash",
      "flash",
      "gray",
      "gray",
      "pro",
      "pro",
    ]);
  });

  test("the midpoint of the gray zone belongs to pro", () => {
    expect([35, 47.49, 47.5, 60].map((at) => midpointTier(at, policy))).toEqual(["flash", "flash", "pro", "pro"]);
  });

  test("are compared with the score that is shown", () => {
    // 0.466666 × 75 = 34.99995, shown and compared as 35.
    const decision = decide(aTask(dimensions(0.466666)), aRuntime(), aSnapshot());
    expect(decision).toMatchObject({ score: 35, cause: "gray_zone_flash" });
  });

  test("follow the policy, also where there is no gray zone at all", () => {
    const narrow = aPolicy({ routing: { flash_below: 50, pro_from: 50 } });
    expect([49.99, 50].map((at) => zoneOf(at, narrow))).toEqual(["flash", "pro"]);
  });
});

describe("the score's confidence", () => {
  test("is a half at the thresholds, whole at the ends and nought at the midpoint", () => {
    expect([0, 17.5, 35, 47.5, 60, 80, 100].map((at) => confidenceOfScore(at, policy))).toEqual([
      1, 0.75, 0.5, 0, 0.5, 0.75, 1,
    ]);
  });

  test("stays within 0..1 for thresholds at the ends of the scale", () => {
    const flat = aPolicy({ routing: { flash_below: 0, pro_from: 100 } });
    for (const at of [0, 50, 100]) {
      expect(confidenceOfScore(at, flat)).toBeGreaterThanOrEqual(0);
      expect(confidenceOfScore(at, flat)).toBeLessThanOrEqual(1);
    }
  });
});
