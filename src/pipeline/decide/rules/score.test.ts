import { describe, expect, test } from "bun:test";
import { levels } from "#domain/routing.ts";
import { type ScoreScale, scaleFor } from "#pipeline/assess/assess.ts";
import { aPolicy, aRuntime, aTask, dimensions } from "#pipeline/decide/fixtures.ts";
import { confidenceOfScore, midpointTier, pointsOf, scoreOf, troubleOf, zoneOf } from "./score.ts";
import { onScale } from "./score-scale.ts";

const policy = aPolicy();
const points = (task: Parameters<typeof aTask>[0] = {}, runtime: Parameters<typeof aRuntime>[0] = {}) =>
  pointsOf(aTask(task), aRuntime(runtime), policy, []);
const scored = (task: Parameters<typeof aTask>[0], scale: ScoreScale, given = policy) =>
  scoreOf(aTask(task), aRuntime(), given, [], scale);

describe("the scale", () => {
  test.each(["declared", "chat"] as const)(
    "%s: only the required fields are flash, all dimensions at 1 are pro",
    (scale) => {
      expect(zoneOf(scored({}, scale), policy)).toBe("flash");
      expect(zoneOf(scored(dimensions(1), scale), policy)).toBe("pro");
    },
  );

  test("of stated tasks does not change easy ones, and has the thresholds at 35 and 60 points", () => {
    expect([0, 22.5, 25, 35, 47.5, 60, 100].map((at) => onScale(at, "declared"))).toEqual([
      0, 22.5, 25, 90, 93.5, 97, 100,
    ]);
  });

  test("of software work in an agent ends below the gray zone, wherever that begins, and ranks like the others", () => {
    for (const flash_below of [90, 40, 0]) {
      const given = aPolicy({ routing: { flash_below } });
      expect(zoneOf(scored({ ...dimensions(1), kind: "ARCHITECTURE" }, "agent", given), given)).toBe(
        flash_below === 0 ? "gray" : "flash",
      );
    }
    expect(scored(dimensions(0.5), "agent")).toBeGreaterThan(scored(dimensions(0.4), "agent"));
  });

  test("is that of agents where tools are offered, a repository is at hand or a program has instructed the model", () => {
    const conversation = (content: string, count = 0) => ({
      tools: { count, workInRepository: false },
      system: { role: "system" as const, content },
    });
    const cook = "You are a friendly cook.";
    expect(scaleFor(conversation(cook), false)).toBe("chat");
    expect(scaleFor(conversation(cook, 1), false)).toBe("agent");
    expect(scaleFor(conversation(cook), true)).toBe("agent");
    expect(scaleFor(conversation(cook.repeat(20)), false)).toBe("agent");
  });
});

describe("the points", () => {
  test("of a task with only the required fields are 22.5, and of one with all dimensions at 1 they are 75", () => {
    expect(points()).toBe(22.5);
    expect(points(dimensions(1))).toBe(75);
  });

  test("are 0 with all features at 0, and at most 100 with all at their maximum", () => {
    expect(points(dimensions(0))).toBe(0);
    expect(points({ ...dimensions(0), kind: "CLASSIFY" })).toBe(0);
    const worst = { ...dimensions(1), kind: "SECURITY", risk_level: "CRITICAL", blast_radius: "CRITICAL" } as const;
    expect(points(worst, { tool_depth: 99, failure_class: "STRUCTURAL" })).toBe(100);
  });

  test("gives each dimension its own weight", () => {
    const only = (dimension: string) => points({ ...dimensions(0), [dimension]: 1 });
    expect(["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"].map(only)).toEqual([
      25, 15, 15, 20,
    ]);
  });

  test("counts risk and blast radius in thirds of their weights", () => {
    expect(levels.map((risk_level) => points({ ...dimensions(0), risk_level }))).toEqual([0, 3.33, 6.67, 10]);
    expect(levels.map((blast_radius) => points({ ...dimensions(0), blast_radius }))).toEqual([0, 2, 4, 6]);
  });
});

describe("trouble", () => {
  const trouble = (runtime: Parameters<typeof aRuntime>[0]) => troubleOf(aRuntime(runtime), policy);

  test("is 0 for a task that has only begun, and 1 if a signal has reached its trigger", () => {
    expect(trouble({})).toBe(0);
    expect(trouble({ same_error_count: 2 })).toBe(1);
    expect(trouble({ failure_class: "STRUCTURAL" })).toBe(1);
    expect(trouble({ tests_failed: 1_000_000 })).toBe(1);
  });

  test("combines signals so that each one counts", () => {
    expect(trouble({ same_error_count: 1 })).toBe(0.5);
    expect(trouble({ same_error_count: 1, flash_attempts: 1 })).toBe(0.75);
    expect(trouble({ same_error_count: 1, flash_attempts: 1, failure_class: "LOCAL" })).toBe(0.875);
    expect(trouble({ attempts: 4, tests_failed: 5 })).toBe(0.75);
  });
});

describe("the thresholds", () => {
  test("belong to the upper zone: 90 is gray, 97 is pro", () => {
    expect([0, 89.99, 90, 96.99, 97, 100].map((at) => zoneOf(at, policy))).toEqual([
      "flash",
      "flash",
      "gray",
      "gray",
      "pro",
      "pro",
    ]);
  });

  test("the midpoint of the gray zone belongs to pro", () => {
    expect([90, 93.49, 93.5, 97].map((at) => midpointTier(at, policy))).toEqual(["flash", "flash", "pro", "pro"]);
  });

  test("follow the policy, also without a gray zone", () => {
    const narrow = aPolicy({ routing: { flash_below: 50, pro_from: 50 } });
    expect([49.99, 50].map((at) => zoneOf(at, narrow))).toEqual(["flash", "pro"]);
  });
});

describe("the score's confidence", () => {
  test("is one half at the thresholds, one at the ends of the scale, and zero at the midpoint", () => {
    expect([0, 45, 90, 93.5, 97, 98.5, 100].map((at) => confidenceOfScore(at, policy))).toEqual([
      1, 0.75, 0.5, 0, 0.5, 0.75, 1,
    ]);
  });
});
