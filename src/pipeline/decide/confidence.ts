import type { Policy } from "#config/policy.ts";
import type { Cause } from "#domain/routing.ts";
import { confidenceOfScore } from "./rules/score.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Rules that leave no doubt are 1; a hint is a wish; at the soft cap, and where a tier was drawn,
 * the task wanted another model than it got.
 */
const confidences = {
  privacy_free_denied: 1,
  privacy_scout_denied: 1,
  attempts_exhausted: 1,
  hard_pro_rule: 1,
  explicit_pro: 1,
  reasoning_high: 1,
  explicit_free: 1,
  explicit_flash: 1,
  scout_requested: "scout",
  hint_pro: 0.9,
  hint_flash: 0.9,
  hint_free: 0.9,
  score_flash: "score",
  score_pro: "score",
  gray_zone_scout: "scout",
  gray_zone_flash: "score",
  gray_zone_pro: "score",
  affinity: "score",
  exploration: 0.5,
  budget_soft_cap: 0.5,
  budget_hard_cap_exceeded: 1,
  all_models_unhealthy: 1,
} as const satisfies Record<Cause, number | "score" | "scout">;

/** A scout's verdict: half-way between a score at its threshold and certainty. */
const scoutConfidence = 0.75;

/** How sure the decision is of its model, 0..1, in steps of a thousandth. */
export function confidenceOf(cause: Cause, score: number, policy: Policy, verdict: Snapshot["verdict"]): number {
  const confidence = confidences[cause];
  if (typeof confidence === "number") return confidence;
  if (confidence === "scout" && (verdict === "flash" || verdict === "pro")) return scoutConfidence;
  return Math.round(confidenceOfScore(score, policy) * 1000) / 1000;
}
