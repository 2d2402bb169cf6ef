import type { RoutingDecision } from "#domain/routing.ts";
import { readEvidence } from "#records/build-record.ts";
import type { DecisionExplanation, DecisionInputs, DecisionRecord, Tier } from "#records/decision-record.ts";
import type { RoutedInputs } from "#records/record.ts";
import { type DecideInput, type DecisionConfiguration, decideInputOf } from "#records/replay/replay.ts";
import { findCounterfactuals } from "./counterfactuals.ts";
import { findingsText, givenIn, sentenceOf, wouldSentenceOf } from "./sentences.ts";
import { stagesOf } from "./stages.ts";

/**
 * The explanation of a recorded decision, made from its inputs and the configuration that it was made by. Without either there
 * is only the sentence.
 */
export function explain(record: DecisionRecord, configuration: DecisionConfiguration | undefined): DecisionExplanation {
  const { inputs } = record;
  const isKnown = inputs !== null && configuration !== undefined;
  const input = isKnown ? decideInputOf({ ...record, inputs }, configuration) : undefined;
  return explainRecord(record, input, sentenceOf(record, "with_cost"));
}

/** The same for an answer that carries its decision: what only the record knows is left out. */
export function explainedNow(record: DecisionRecord, routed: RoutedInputs | undefined): object {
  // The cost is in the record once it is known.
  const explanation = explainRecord(record, routed, sentenceOf(record, "without_cost"));
  const { seq, recorded_ms, outcome, status, timings, conversation, reported, repeated, ...known } = record;
  const { tokens, hold_nano_usd, cost_nano_usd, cost_state, cost_source, baseline_nano_usd, attempts, ...decision } =
    known;
  return { ...decision, explanation };
}

/** The explanation of a decision that nothing was done with: a dry run's. */
export function explainDryRun(
  decision: RoutingDecision,
  tier: Tier | null,
  input: DecideInput,
  redactions: number,
): Pick<DecisionExplanation, "sentence" | "stages" | "would_change"> {
  const { score, evidence } = decision;
  const hasRedactions = redactions > 0;
  const { rule } = readEvidence(evidence);
  const sentence = wouldSentenceOf(decision, tier, { rule, score, evidence, kind: input.task.kind, hasRedactions });
  return { sentence, ...reasons(input, { ...decision, rule }, null, hasRedactions) };
}

function explainRecord(record: DecisionRecord, input: DecideInput | undefined, sentence: string): DecisionExplanation {
  const { cause, inputs, redactions } = record;
  const about = { sentence, given: givenIn(record), findings: findingsText(redactions) ?? null };
  if (input === undefined || cause === null) return { ...about, stages: [], would_change: [] };
  return { ...about, ...reasons(input, { ...record, cause }, inputs?.ledger_spend ?? null, redactions.length > 0) };
}

function reasons(
  input: DecideInput,
  decided: Parameters<typeof findCounterfactuals>[1],
  ledgerSpend: DecisionInputs["ledger_spend"],
  hasRedactions: boolean,
): Pick<DecisionExplanation, "stages" | "would_change"> {
  return {
    stages: stagesOf(input, decided.cause),
    would_change: findCounterfactuals(input, decided, ledgerSpend, hasRedactions),
  };
}
