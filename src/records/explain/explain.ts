import type { Cause, RoutingDecision } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import { withAffinity } from "#pipeline/decide/rules/affinity.ts";
import { choose } from "#pipeline/decide/rules/precedence.ts";
import { privacyOf } from "#pipeline/decide/rules/privacy.ts";
import { scoreOf, zoneOf } from "#pipeline/decide/rules/score.ts";
import { addHardCapEvidence, withinHardCaps, withinSoftCap } from "#pipeline/decide/select/budget.ts";
import { routable, stateOf } from "#pipeline/decide/select/select-model.ts";
import type { DecisionExplanation, DecisionRecord, DecisionStage, Tier } from "#records/decision-record.ts";
import type { RoutedInputs } from "#records/record.ts";
import { type DecideInput, type DecisionConfiguration, decideInputOf } from "#records/replay/replay.ts";
import { completeRecord, readEvidence, type StoredRecord } from "#records/stored-record.ts";
import { findCounterfactuals } from "./counterfactuals.ts";
import { causeTexts, difficulty, drySentence, findingsText, givenIn, sentences } from "./sentences.ts";

/**
 * The explanation of a recorded decision, made from its inputs and the configuration that it was made by. Without
 * either there is only the sentence.
 */
export function explain(record: DecisionRecord, configuration: DecisionConfiguration | undefined): DecisionExplanation {
  const { inputs } = record;
  const isKnown = inputs !== null && configuration !== undefined;
  return explainRecord(record, isKnown ? decideInputOf({ ...record, inputs }, configuration) : undefined, true);
}

/** The same for an answer that carries its decision: what only the record knows is left out, such as the cost. */
export function explainedNow(built: StoredRecord, routed: RoutedInputs | undefined): object {
  const record = completeRecord(JSON.parse(JSON.stringify(built))); // as it will be read
  const { seq, recorded_ms, outcome, status, timings, conversation, reported, repeated, ...known } = record;
  const { tokens, hold_nano_usd, cost_nano_usd, cost_state, cost_source, baseline_nano_usd, attempts, ...decision } =
    known;
  return { ...decision, explanation: explainRecord(record, routed, false) };
}

/** The explanation of a decision that nothing was done with: a dry run's. */
export function explainDryRun(
  decision: RoutingDecision,
  tier: Tier | null,
  input: DecideInput,
  redactions: number,
): Pick<DecisionExplanation, "sentence" | "stages" | "would_change"> {
  const { kind } = input.task;
  const known = { ...decision, ...readEvidence(decision.evidence), kind, hasRedactions: redactions > 0 };
  return {
    sentence: drySentence(decision, tier, known),
    stages: stagesOf(input, decision.cause),
    would_change: findCounterfactuals(input, known, null),
  };
}

function explainRecord(record: DecisionRecord, input: DecideInput | undefined, withCost: boolean): DecisionExplanation {
  const { cause, inputs, redactions } = record;
  const about = { sentence: sentences(record, withCost), given: givenIn(record), findings: findingsText(redactions) };
  if (input === undefined || cause === null) return { ...about, stages: [], would_change: [] };
  const decided = { ...record, cause, hasRedactions: redactions.length > 0 };
  return {
    ...about,
    stages: stagesOf(input, cause),
    would_change: findCounterfactuals(input, decided, inputs?.ledger_spend ?? null),
  };
}

type StageVerdict = Pick<DecisionStage, "stage" | "verdict" | "evidence">;

/**
 * What each stage of the pipeline decided about the task, in their order. For the stages after the one that decided it
 * is what they would have decided, if the stages before them had let the task pass.
 */
function stagesOf({ task, runtime, snapshot }: DecideInput, cause: Cause): DecisionStage[] {
  const evidence = { privacy: [] as Evidence, score: [] as Evidence, rules: [] as Evidence };
  const privacy = privacyOf(task, evidence.privacy);
  const score = scoreOf(task, runtime, snapshot.policy, evidence.score, snapshot.scale);
  const allowed = { ...privacy, denied: undefined };
  const chosen = choose({ task, runtime, snapshot, privacy: allowed, score, evidence: evidence.rules });
  const wanted = withAffinity(chosen, snapshot, evidence.rules);
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
  const fits = model === undefined || withinHardCaps(model, snapshot);
  if (model !== undefined && !fits) addHardCapEvidence(model, snapshot, evidence);
  const within = choice.cause === "budget_soft_cap" ? "budget_soft_cap: flash instead of pro" : "within the caps";
  const serves =
    model !== undefined && routable(model, snapshot) ? "can serve" : "cannot serve: its fallbacks are asked";
  const none = `no model of the role ${role}`;
  const budget = fits ? within : "budget_hard_cap_exceeded";
  return [
    { stage: "budget", verdict: model === undefined ? none : budget, evidence },
    { stage: "health", verdict: model === undefined ? none : `${model.key} ${serves}`, evidence: health },
  ];
}
