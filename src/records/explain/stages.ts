import type { Cause } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import { withAffinity } from "#pipeline/decide/rules/affinity.ts";
import { withExploration } from "#pipeline/decide/rules/exploration.ts";
import { choose } from "#pipeline/decide/rules/precedence.ts";
import { privacyOf } from "#pipeline/decide/rules/privacy.ts";
import { scoreOf, zoneOf } from "#pipeline/decide/rules/score.ts";
import { addHardCapEvidence, withinHardCaps, withinSoftCap } from "#pipeline/decide/select/budget.ts";
import { routable, stateOf } from "#pipeline/decide/select/select-model.ts";
import type { DecisionStage } from "#records/decision-record.ts";
import type { DecideInput } from "#records/replay/replay.ts";

type StageName = DecisionStage["stage"];

/** Which stage a cause belongs to. */
const stageOf: { readonly [C in Cause]: StageName } = {
  privacy_free_denied: "privacy",
  privacy_scout_denied: "privacy",
  attempts_exhausted: "rules",
  hard_pro_rule: "rules",
  explicit_pro: "rules",
  reasoning_high: "rules",
  explicit_free: "rules",
  explicit_flash: "rules",
  scout_requested: "rules",
  hint_pro: "rules",
  hint_flash: "rules",
  hint_free: "rules",
  score_flash: "score",
  score_pro: "score",
  gray_zone_scout: "score",
  gray_zone_flash: "score",
  gray_zone_pro: "score",
  affinity: "rules",
  exploration: "rules",
  budget_soft_cap: "budget",
  budget_hard_cap_exceeded: "budget",
  all_models_unhealthy: "health",
};
const order: readonly StageName[] = ["privacy", "score", "rules", "budget", "health"];

/**
 * What each stage of the pipeline decided about the task. For the stages after the one that decided it is what they would have
 * decided, if the stages before them had let the task pass.
 */
export function stagesOf(input: DecideInput, cause: Cause): readonly DecisionStage[] {
  const decider = stageOf[cause];
  const verdicts = verdictsOf(input);
  return order.map((stage) => {
    const { verdict, evidence } = verdicts[stage];
    const asked = order.indexOf(stage) <= order.indexOf(decider) || passes(decider, cause);
    return {
      stage,
      verdict: asked ? verdict : "not asked",
      decided: stage === decider,
      would: asked ? null : verdict,
      evidence,
    };
  });
}

/** Whether the later stages were asked too: after the choice of a model they are, after a refusal they are not. */
function passes(decider: StageName, cause: Cause): boolean {
  if (decider === "privacy" || decider === "health") return false;
  return cause !== "attempts_exhausted" && cause !== "budget_hard_cap_exceeded";
}

interface StageVerdict {
  readonly verdict: string;
  readonly evidence: string[];
}

function verdictsOf({ task, runtime, snapshot }: DecideInput): Record<StageName, StageVerdict> {
  const privacyEvidence: Evidence = [];
  const privacy = privacyOf(task, privacyEvidence);
  const scoreEvidence: Evidence = [];
  const score = scoreOf(task, runtime, snapshot.policy, scoreEvidence, snapshot.scale, snapshot.learned);
  const rulesEvidence: Evidence = [];
  const allowed = { ...privacy, denied: undefined };
  const chosen = choose({ task, runtime, snapshot, privacy: allowed, score, evidence: rulesEvidence });
  const kept = withAffinity(chosen, snapshot, rulesEvidence);
  const wanted = withExploration(kept, privacy.freeAllowed, snapshot, rulesEvidence);
  return {
    privacy: {
      verdict: privacy.denied ?? (privacy.freeAllowed ? "free models allowed" : "free models withheld"),
      evidence: privacyEvidence,
    },
    score: {
      verdict: `${zoneOf(score, snapshot.policy) === "gray" ? "gray zone" : zoneOf(score, snapshot.policy)}${meaningOf(scoreEvidence)}`,
      evidence: scoreEvidence,
    },
    rules: {
      verdict: stageOf[wanted.cause] === "score" ? "no rule: the score decides" : wanted.cause,
      evidence: rulesEvidence,
    },
    ...afterRules(wanted, snapshot),
  };
}

/** The verdicts of budget and health on a choice. */
function afterRules(wanted: Choice, snapshot: DecideInput["snapshot"]): Record<"budget" | "health", StageVerdict> {
  const evidence: Evidence = [];
  const choice = withinSoftCap(wanted, snapshot, evidence);
  const role = choice.kind === "execute" ? choice.role : "worker";
  const model = snapshot.registry.byRole[role];
  const healthEvidence = [...snapshot.registry.models.values()].flatMap((each) => {
    const state = stateOf(each, snapshot);
    return state === "HEALTHY" ? [] : [`health_${each.key}=${state}`];
  });
  if (model === undefined) {
    return {
      budget: { verdict: "no model of this role", evidence },
      health: { verdict: `no model of the role ${role}`, evidence: healthEvidence },
    };
  }
  const fits = withinHardCaps(model, snapshot);
  if (!fits) addHardCapEvidence(model, snapshot, evidence);
  const stepped = choice.cause === "budget_soft_cap";
  return {
    budget: {
      verdict: fits
        ? stepped
          ? "budget_soft_cap: flash instead of pro"
          : "within the caps"
        : "budget_hard_cap_exceeded",
      evidence,
    },
    health: {
      verdict: routable(model, snapshot)
        ? `${model.key} can serve`
        : `${model.key} cannot serve: its fallbacks are asked`,
      evidence: healthEvidence,
    },
  };
}

/** What the score means on its scale: how many of such asks have fewer points. Stated tasks have no such share. */
function meaningOf(evidence: Evidence): string {
  const valueIn = (key: string) => evidence.find((entry) => entry.startsWith(`${key}=`))?.slice(key.length + 1);
  const points = valueIn("points");
  if (points === undefined) return "";
  if (valueIn("score_scale") === "declared") return `: ${points} points of a stated task`;
  const learned = valueIn("learned");
  const shipped = valueIn("score_shipped") ?? valueIn("score");
  const change = learned === undefined ? "" : `; the learned weights change that by ${learned}`;
  return `: its ${points} points are more than ${shipped} % of such asks have${change}`;
}
