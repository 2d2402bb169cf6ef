import type { RoutingDecision } from "#domain/routing.ts";
import type { DecisionExplanation, DecisionRecord, Tier } from "#records/decision-record.ts";
import type { RoutedInputs } from "#records/record.ts";
import type { DecisionConfiguration } from "#records/replay/configuration.ts";
import { type DecideInput, decideInputOf } from "#records/replay/replay.ts";
import { counterfactualsOf } from "./counterfactuals.ts";
import { sentenceOf, wouldSentenceOf } from "./sentences.ts";
import { stagesOf } from "./stages.ts";

/**
 * The explanation of a recorded decision, made from its inputs and the configuration that it was made by. Without either there
 * is only the sentence.
 */
export function explain(record: DecisionRecord, configuration: DecisionConfiguration | undefined): DecisionExplanation {
  const { inputs } = record;
  const known = inputs !== null && configuration !== undefined;
  const input = known ? decideInputOf({ ...record, inputs }, configuration) : undefined;
  return explanationOf(record, input, sentenceOf(record, "with_cost"));
}

function explanationOf(record: DecisionRecord, input: DecideInput | undefined, sentence: string): DecisionExplanation {
  const { cause, rule, model, score, inputs } = record;
  if (input === undefined || cause === null) return { sentence, stages: [], would_change: [] };
  const decided = { model, cause, rule, score: score ?? 0 };
  return {
    sentence,
    stages: [...stagesOf(input, cause)],
    would_change: [...counterfactualsOf(input, decided, inputs?.ledger_spend ?? null, record.redactions.length > 0)],
  };
}

/** The explanation of a decision that nothing was done with: a dry run's. */
export function explainDryRun(
  decision: RoutingDecision,
  tier: Tier | null,
  input: DecideInput,
  redactions: number,
): DecisionExplanation {
  const hasRedactions = redactions > 0;
  const { model, cause, score, evidence } = decision;
  const rule = hardRulesIn(evidence).join(", ") || null;
  const known = { rule, score, evidence, kind: input.task.kind, hasRedactions };
  return {
    sentence: wouldSentenceOf(decision, tier, known),
    stages: [...stagesOf(input, cause)],
    would_change: [...counterfactualsOf(input, { model, cause, rule, score }, null, hasRedactions)],
  };
}

function hardRulesIn(evidence: readonly string[]): readonly string[] {
  return evidence.flatMap((entry) => (entry.startsWith("hard_rule=") ? [entry.slice("hard_rule=".length)] : []));
}

/** The same for an answer that carries its decision: what only the record knows is left out. */
export function explainedNow(record: DecisionRecord, routed: RoutedInputs | undefined): object {
  const input = routed === undefined ? undefined : { ...routed, task: { ...routed.task, instruction: "" } };
  // The cost is in the record once it is known.
  const explanation = explanationOf(record, input, sentenceOf(record, "without_cost"));
  const { seq, recorded_ms, outcome, status, timings, conversation, reported, repeated, ...known } = record;
  const { tokens, hold_nano_usd, cost_nano_usd, cost_state, cost_source, baseline_nano_usd, attempts, ...decision } =
    known;
  return { ...decision, explanation };
}
