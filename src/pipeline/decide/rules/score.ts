import type { Policy } from "#config/policy.ts";
import { type Level, levels, type RoutingTask, type RuntimeState } from "#domain/routing.ts";
import type { ScoreScale } from "#pipeline/assess/assess.ts";
import type { Evidence } from "#pipeline/decide/choice.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { onScale } from "./score-scale.ts";

/** Failed tests from which on that signal counts in full. */
const manyFailedTests = 10;

/**
 * Stage 2: the complexity score, 0..100 in steps of a hundredth (the number shown is the number compared): the points
 * of the features on the scale given. It never falls when a dimension, the risk, the blast radius, the tool depth or
 * the trouble rises.
 */
export function scoreOf(
  task: RoutingTask,
  runtime: RuntimeState,
  policy: Policy,
  evidence: Evidence,
  scale: ScoreScale = "declared",
  overProseBound = false,
): number {
  const points = pointsOf(task, runtime, policy, evidence);
  // A run in trouble is as hard as the hardest asks.
  const least = overProseBound ? policy.routing.pro_from : 0;
  const score = Math.max(least, hundredths(scale === "agent" ? agentScore(points, policy) : onScale(points, scale)));
  evidence.push(`points=${points}`, `score_scale=${scale}`, `score=${score}`);
  return score;
}

/** In an agent the points lead up to the gray zone and no further: an ask's words do not tell how its run will go. */
function agentScore(points: number, policy: Policy): number {
  return (onScale(points, "chat") / 100) * Math.max(0, policy.routing.flash_below - belowGray);
}

/** What keeps a score below a threshold, in the steps in which scores are compared. */
const belowGray = 0.01;

/** The weighted sum of what makes a task hard, 0..100, with what each feature gave. */
export function pointsOf(task: RoutingTask, runtime: RuntimeState, policy: Policy, evidence: Evidence): number {
  const { weights, kind_bias } = policy.routing;
  const bias = kind_bias[task.kind];
  const toolDepth = Math.min(1, (runtime.tool_depth + task.estimated_tool_depth) / policy.hard_rules.tool_depth);
  const sum =
    bias +
    points("reasoning_requirement", weights.reasoning_requirement * task.reasoning_requirement, evidence) +
    points("ambiguity", weights.ambiguity * task.ambiguity, evidence) +
    points("dependency_depth", weights.dependency_depth * task.dependency_depth, evidence) +
    points("verification_difficulty", weights.verification_difficulty * task.verification_difficulty, evidence) +
    points("risk_level", weights.risk_level * shareOf(task.risk_level), evidence) +
    points("blast_radius", weights.blast_radius * shareOf(task.blast_radius), evidence) +
    points("tool_depth", weights.tool_depth * toolDepth, evidence) +
    points("runtime_trouble", weights.runtime_trouble * troubleOf(runtime, policy), evidence);
  points("kind_bias", bias, evidence);
  return hundredths(Math.min(100, Math.max(0, sum)));
}

/**
 * How much trouble the task has shown so far, 0..1: signals, each with its share, are joined as
 * 1 − Π(1 − share), so that each one counts and none alone is needed to reach the end.
 */
export function troubleOf(runtime: RuntimeState, policy: Policy): number {
  const calm =
    (1 - Math.min(1, runtime.same_error_count / policy.hard_rules.same_error_count)) *
    (1 - Math.min(1, runtime.flash_attempts / policy.hard_rules.flash_attempts)) *
    (1 - Math.min(1, runtime.attempts / policy.limits.max_attempts)) *
    (1 - Math.min(1, runtime.tests_failed / manyFailedTests)) *
    (runtime.failure_class === "NONE" ? 1 : runtime.failure_class === "LOCAL" ? 0.5 : 0);
  return 1 - calm;
}

/** Whether the run's model writes so much prose that it is in trouble: it explains, doubts and starts over. */
export function exceedsProseBound({ prose = 0, policy }: Pick<Snapshot, "prose" | "policy">): boolean {
  const bound = policy.routing.run_prose_chars;
  return bound > 0 && prose > bound;
}

export type Zone = "flash" | "gray" | "pro";

export function zoneOf(score: number, policy: Policy): Zone {
  if (score < policy.routing.flash_below) return "flash";
  return score >= policy.routing.pro_from ? "pro" : "gray";
}

/** The tier on whose side of the gray zone's midpoint a score stands; for any score. */
export function midpointTier(score: number, policy: Policy): "flash" | "pro" {
  return score < midpoint(policy) ? "flash" : "pro";
}

/**
 * How sure the score is of its tier: 0 at the midpoint of the gray zone, 0.5 at either threshold, 1 at the end of the
 * scale, linear between.
 */
export function confidenceOfScore(score: number, policy: Policy): number {
  const { flash_below, pro_from } = policy.routing;
  switch (zoneOf(score, policy)) {
    case "flash":
      return 0.5 + 0.5 * fraction(flash_below - score, flash_below);
    case "pro":
      return 0.5 + 0.5 * fraction(score - pro_from, 100 - pro_from);
    case "gray":
      return 0.5 * fraction(Math.abs(score - midpoint(policy)), (pro_from - flash_below) / 2);
  }
}

function midpoint(policy: Policy): number {
  return (policy.routing.flash_below + policy.routing.pro_from) / 2;
}

/** `part / whole` within 0..1; 1 where there is no room left for a distance. */
function fraction(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 1;
}

function shareOf(level: Level): number {
  return levels.indexOf(level) / (levels.length - 1);
}

function points(feature: string, value: number, evidence: Evidence): number {
  if (value !== 0) evidence.push(`points_${feature}=${hundredths(value)}`);
  return value;
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
