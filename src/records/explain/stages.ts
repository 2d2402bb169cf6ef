import type { Cause } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import { withAffinity, withExploration } from "#pipeline/decide/rules/affinity.ts";
import { choose } from "#pipeline/decide/rules/precedence.ts";
import { privacyOf } from "#pipeline/decide/rules/privacy.ts";
import { scoreOf, zoneOf } from "#pipeline/decide/rules/score.ts";
import { addHardCapEvidence, withinHardCaps, withinSoftCap } from "#pipeline/decide/select/budget.ts";
import { routable, stateOf } from "#pipeline/decide/select/select-model.ts";
import type { DecisionStage } from "#records/decision-record.ts";
import type { DecideInput } from "#records/replay/replay.ts";
import { causeTexts, difficulty } from "./sentences.ts";

type StageVerdict = Pick<DecisionStage, "stage" | "verdict" | "evidence">;

/**
 * What each stage of the pipeline decided about the task, in their order. For the stages after the one that decided it is what they would
 * have decided, if the stages before them had let the task pass.
 */
export function stagesOf({ task, runtime, snapshot }: DecideInput, cause: Cause): DecisionStage[] {
  const evidence = { privacy: [] as Evidence, score: [] as Evidence, rules: [] as Evidence };
  const privacy = privacyOf(task, evidence.privacy);
  const score = scoreOf(task, runtime, snapshot.policy, evidence.score, snapshot.scale, snapshot.learned);
  const allowed = { ...privacy, denied: undefined };
  const chosen = choose({ task, runtime, snapshot, privacy: allowed, score, evidence: evidence.rules });
  const kept = withAffinity(chosen, snapshot, evidence.rules);
  const wanted = withExploration(kept, privacy.freeAllowed, snapshot, evidence.rules);
  const zone = zoneOf(score, snapshot.policy);
  const isScored = causeTexts[wanted.cause].stage === "score";
  const stages: readonly StageVerdict[] = [
    {
      stage: "privacy",
      verdict: privacy.denied ?? (privacy.freeAllowed ? "free models allowed" : "free models withheld"),
      evidence: evidence.privacy,
    },
    {
      stage: "score",
      verdict: `${zone === "gray" ? "gray zone" : zone}: ${difficulty(evidence.score)}`,
      evidence: evidence.score,
    },
    { stage: "rules", verdict: isScored ? "no rule: the score decides" : wanted.cause, evidence: evidence.rules },
    ...afterRules(wanted, snapshot),
  ];
  const decider = stages.findIndex(({ stage }) => stage === causeTexts[cause].stage);
  // After the choice of a model the later stages are asked, after a refusal they are not.
  const isRefusal = decider === 0 || cause === "attempts_exhausted" || cause === "budget_hard_cap_exceeded";
  return stages.map((stage, at) => {
    const own = { ...stage, decided: at === decider, would: null };
    return isRefusal && at > decider ? { ...own, verdict: "not asked", would: stage.verdict } : own;
  });
}

/** The verdicts of budget and health on a choice. */
function afterRules(wanted: Choice, snapshot: DecideInput["snapshot"]): readonly StageVerdict[] {
  const evidence: Evidence = [];
  const choice = withinSoftCap(wanted, snapshot, evidence);
  const role = choice.kind === "execute" ? choice.role : "worker";
  const model = snapshot.registry.byRole[role];
  const states = [...snapshot.registry.models.values()].map((each) => [each.key, stateOf(each, snapshot)] as const);
  const health = states.flatMap(([key, state]) => (state === "HEALTHY" ? [] : `health_${key}=${state}`));
  if (model === undefined) {
    return [
      { stage: "budget", verdict: "no model of this role", evidence },
      { stage: "health", verdict: `no model of the role ${role}`, evidence: health },
    ];
  }
  const fits = withinHardCaps(model, snapshot);
  if (!fits) addHardCapEvidence(model, snapshot, evidence);
  const within = choice.cause === "budget_soft_cap" ? "budget_soft_cap: flash instead of pro" : "within the caps";
  const serves = routable(model, snapshot) ? "can serve" : "cannot serve: its fallbacks are asked";
  return [
    { stage: "budget", verdict: fits ? within : "budget_hard_cap_exceeded", evidence },
    { stage: "health", verdict: `${model.key} ${serves}`, evidence: health },
  ];
}
