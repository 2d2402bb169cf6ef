import { describe, expect, test } from "bun:test";
import type { RoutingTask } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aFeatureVector, aRuntime, aSnapshot, aTask, learnedWeights } from "#pipeline/decide/fixtures.ts";
import { shippedScoreOf } from "#pipeline/decide/rules/score.ts";
import { learnedScoreOf } from "./learned-score.ts";

const weights = learnedWeights(3);
const near = (value: number) => ({ weights, features: aFeatureVector(value) });
const routed = (task: Partial<RoutingTask>, value: number, scale: "agent" | "declared" = "agent") =>
  decide(aTask(task), aRuntime(), aSnapshot({ scale, learned: near(value) }));

test("asks that only pro has solved rise, those that flash has solved fall, and the evidence shows by how much", () => {
  const up = routed({}, 3);
  const down = routed({}, 0);
  expect(up.score).toBeGreaterThan(shippedScoreOf(up));
  expect(down.score).toBeLessThan(shippedScoreOf(down));
  for (const decision of [up, down]) {
    const [learned = ""] = decision.evidence.filter((entry) => entry.startsWith("learned="));
    expect(learned).toMatch(/^learned=[+-]\d/);
    expect(Number(learned.slice("learned=".length))).toBeCloseTo(decision.score - shippedScoreOf(decision), 6);
  }
});

test("an ask with a higher score than flash has answered is not lowered", () => {
  expect(learnedScoreOf(near(0), 92)).toBeLessThan(92);
  for (const shipped of [93.01, 97, 100]) expect(learnedScoreOf(near(0), shipped)).toBe(shipped);
  expect(learnedScoreOf(near(3), 95)).toBeGreaterThan(95);
});

describe("learned weights have no effect", () => {
  test.each<[string, Partial<RoutingTask>]>([
    ["where a hard rule decides", { kind: "AUTH", risk_level: "HIGH" }],
    ["where privacy denies", { explicit_route: "FREE_SCOUT" }],
    ["where the caller wants pro", { explicit_route: "PRO" }],
    ["where the caller wants flash", { explicit_route: "FLASH" }],
  ])("%s", (_, task) => {
    for (const value of [0, 3]) {
      const without = decide(aTask(task), aRuntime(), aSnapshot({ scale: "agent" }));
      const { cause, model, action, sensitive_block_applied } = routed(task, value);
      expect({ cause, model, action, sensitive_block_applied }).toEqual({
        cause: without.cause,
        model: without.model,
        action: without.action,
        sensitive_block_applied: without.sensitive_block_applied,
      });
    }
  });
});
