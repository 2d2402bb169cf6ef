import type { RoutingDecision } from "#domain/routing.ts";
import { readEvidence } from "#records/build-record.ts";
import type { DecisionExplanation, DecisionRecord, Tier } from "#records/decision-record.ts";
import type { RoutedInputs } from "#records/record.ts";
import type { DecisionConfiguration } from "#records/replay/configuration.ts";
import { type DecideInput, decideInputOf } from "#records/replay/replay.ts";
import { findCounterfactuals } from "./counterfactuals.ts";
import { drySentence, findingsText, givenIn, sentences } from "./sentences.ts";
import { stagesOf } from "./stages.ts";

/**
 * The explanation of a recorded decision, made from its inputs and the configuration that it was made by. Without either there
 * is only the sentence.
 */
export function explain(record: DecisionRecord, configuration: DecisionConfiguration | undefined): DecisionExplanation {
  const { inputs } = record;
  const isKnown = inputs !== null && configuration !== undefined;
  return explainRecord(record, isKnown ? decideInputOf({ ...record, inputs }, configuration) : undefined, true);
}

/** The same for an answer that carries its decision: what only the record knows is left out, such as the cost. */
export function explainedNow(record: DecisionRecord, routed: RoutedInputs | undefined): object {
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
  const known = {
    ...decision,
    ...readEvidence(decision.evidence),
    kind: input.task.kind,
    hasRedactions: redactions > 0,
  };
  return {
    sentence: drySentence(decision, tier, known),
    stages: stagesOf(input, decision.cause),
    would_change: findCounterfactuals(input, known, null),
  };
}

function explainRecord(record: DecisionRecord, input: DecideInput | undefined, withCost: boolean): DecisionExplanation {
  const { cause, inputs, redactions } = record;
  const about = {
    sentence: sentences(record, withCost),
    given: givenIn(record),
    findings: findingsText(redactions) ?? null,
  };
  if (input === undefined || cause === null) return { ...about, stages: [], would_change: [] };
  const decided = { ...record, cause, hasRedactions: redactions.length > 0 };
  return {
    ...about,
    stages: stagesOf(input, cause),
    would_change: findCounterfactuals(input, decided, inputs?.ledger_spend ?? null),
  };
}
