import { featureNames } from "#pipeline/decide/learned/learned-score.ts";
import { type DecisionPart, noSignals, type OutcomeRecord } from "./outcomes.ts";

/** The record of an ask that went to flash and has no signals. */
export function outcomeRecord(decisionId: string, atMs: number, decision: Partial<DecisionPart> = {}): OutcomeRecord {
  return {
    decisionId,
    atMs,
    decision: {
      features: featureNames.map(() => 0.5),
      tier: "flash",
      model: "vendor_v4_flash",
      cause: "score_flash",
      score: 20,
      probability: 1,
      ...decision,
    },
    signals: noSignals,
  };
}
