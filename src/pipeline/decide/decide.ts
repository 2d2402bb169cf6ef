import type { Policy } from "#config/policy.ts";
import { formatUsd } from "#domain/money/money.ts";
import {
  type Cause,
  policyVersion,
  type RoutingDecision,
  type RoutingTask,
  type RuntimeState,
} from "#domain/routing.ts";
import type { Choice, Evidence } from "./choice.ts";
import { withAffinity } from "./rules/affinity.ts";
import { choose } from "./rules/precedence.ts";
import { privacyOf } from "./rules/privacy.ts";
import { confidenceOfScore, exceedsProseBound, scoreOf } from "./rules/score.ts";
import { withinSoftCap } from "./select/budget.ts";
import { selectModel } from "./select/select-model.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Where a task goes, and why: the one function behind both POST endpoints. Pure (no clock, no I/O) and total.
 * `docs/reference/causes.md` describes each cause, `docs/routing.md` each key of the evidence.
 */
export function decide(task: RoutingTask, runtime: RuntimeState, snapshot: Snapshot): RoutingDecision {
  const { policy } = snapshot;
  const evidence: Evidence = [`kind=${task.kind}`, `risk_level=${task.risk_level}`];
  const { surcharge } = snapshot.size;
  if (surcharge !== undefined) {
    evidence.push(`forwarded_fields=${surcharge.fields.join(",")}`);
    if (surcharge.fee > 0) evidence.push(`surcharge_usd=${formatUsd(surcharge.fee)}`);
    if (surcharge.factor > 1) evidence.push(`price_factor=${surcharge.factor}`);
  }
  if (snapshot.runEvidence !== undefined) evidence.push(...snapshot.runEvidence);
  const privacy = privacyOf(task, evidence);
  const overProseBound = exceedsProseBound(snapshot);
  if (overProseBound) evidence.push(`prose=${snapshot.prose}`, `run_prose_chars=${policy.routing.run_prose_chars}`);
  const score = scoreOf(task, runtime, policy, evidence, snapshot.scale, overProseBound);
  const chosen = choose({ task, runtime, snapshot, privacy, score, evidence });
  const choice = withinSoftCap(withAffinity(chosen, snapshot, evidence), snapshot, evidence);
  const outcome = outcomeOf(choice, privacy.freeAllowed, snapshot, evidence);
  return {
    task_id: task.task_id,
    ...outcome,
    score,
    confidence: confidenceOf(outcome.cause, score, policy, snapshot.verdict),
    hard_rule: outcome.cause === "hard_pro_rule",
    sensitive_block_applied:
      privacy.blockApplied || (!privacy.freeAllowed && freeWasWithheld(chosen, choice, snapshot)),
    evidence,
    policy_version: policyVersion,
  };
}

type Outcome = Pick<RoutingDecision, "action" | "model" | "purpose" | "cause">;

/** Stages 4 and 5: the choice, with a model that the hard caps allow and that can serve. */
function outcomeOf(choice: Choice, freeAllowed: boolean, snapshot: Snapshot, evidence: Evidence): Outcome {
  switch (choice.kind) {
    case "refuse":
      return { action: choice.action, model: null, purpose: "NONE", cause: choice.cause };
    case "scout": {
      // Scouting is free, but pointless when not even the cheaper of the models it chooses between could answer.
      const seen: Evidence = [];
      const answering = selectModel("worker", false, freeAllowed, snapshot, seen);
      if ("key" in answering) return { action: "SCOUT", model: choice.scout, purpose: "SCOUT", cause: choice.cause };
      evidence.push(...seen);
      return outcomeOf(answering, freeAllowed, snapshot, evidence);
    }
    case "execute": {
      const hardRule = choice.cause === "hard_pro_rule";
      const model = selectModel(choice.role, hardRule, freeAllowed, snapshot, evidence);
      if ("key" in model) return { action: "ROUTE", model: model.key, purpose: "EXECUTE", cause: choice.cause };
      return outcomeOf(model, freeAllowed, snapshot, evidence);
    }
  }
}

/** Whether privacy kept a free model out that would have been asked: the gray zone's scout, or a role's own model. */
function freeWasWithheld(wanted: Choice, choice: Choice, { registry }: Snapshot): boolean {
  if (wanted.cause === "gray_zone_flash" || wanted.cause === "gray_zone_pro") return true;
  return choice.kind === "execute" && registry.byRole[choice.role]?.free === true;
}

/**
 * Rules that leave no doubt, all that are not listed, are 1; a hint is a wish; at the soft cap the task wanted another
 * model than it got.
 */
const confidences: { readonly [C in Cause]?: number | "score" | "scout" } = {
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
  budget_soft_cap: 0.5,
};

/** A scout's verdict: half-way between a score at its threshold and certainty. */
const scoutConfidence = 0.75;

/** How sure the decision is of its model, 0..1, in steps of a thousandth. */
function confidenceOf(cause: Cause, score: number, policy: Policy, verdict: Snapshot["verdict"]): number {
  const confidence = confidences[cause] ?? 1;
  if (typeof confidence === "number") return confidence;
  if (confidence === "scout" && (verdict === "flash" || verdict === "pro")) return scoutConfidence;
  return Math.round(confidenceOfScore(score, policy) * 1000) / 1000;
}
