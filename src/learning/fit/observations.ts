import type { DecisionPart, OutcomeRecord } from "#learning/outcomes.ts";

/** What is known of an ask that flash answered first. */
export interface Trial {
  readonly decision: DecisionPart;
  readonly failed: boolean;
  /** Whether pro then solved it; undefined where flash did not fail, pro was not tried, or the result is not known. */
  readonly rescued: boolean | undefined;
  /** How many asks it stands for. */
  readonly weight: number;
}

/** A tier that was hardly ever chosen must not let one record stand for hundreds. */
const maxWeight = 20;

/** How many asks a record stands for, by the probability with which its tier was chosen. */
export function weightOf({ decision }: OutcomeRecord): number {
  return Math.min(maxWeight, 1 / decision.probability);
}

/**
 * The asks that flash answered first, with their results. An ask without a signal counts as solved. The result of an escalated
 * ask is known once another ask, a failure or the caller's report has followed.
 */
export function trialsIn(records: readonly OutcomeRecord[]): readonly Trial[] {
  const retries = new Map<string, OutcomeRecord>();
  for (const record of records) {
    const { tier, retryOf } = record.decision;
    if (tier === "pro" && retryOf !== undefined) retries.set(retryOf, record);
  }
  return records.flatMap((record): Trial[] => {
    const { decision, signals } = record;
    if (decision.tier !== "flash") return [];
    const failed = flashFailed(record);
    const rescued = signals.escalated ? solvedAfterEscalation(record) : solvedByRetry(retries.get(record.decisionId));
    return [{ decision, failed, rescued: failed ? rescued : undefined, weight: weightOf(record) }];
  });
}

function flashFailed(record: OutcomeRecord): boolean {
  // An escalated run was finished by pro, whatever the caller reports about its end.
  if (record.signals.escalated) return true;
  return record.outcome === undefined ? hasTrouble(record) : record.outcome === "failed";
}

function solvedAfterEscalation({ signals, outcome }: OutcomeRecord): boolean | undefined {
  if (outcome !== undefined) return outcome === "solved";
  if (signals.failedAfter > 0 || signals.repeated > 0) return false;
  return signals.wentOn ? true : undefined;
}

function solvedByRetry(retry: OutcomeRecord | undefined): boolean | undefined {
  if (retry === undefined) return undefined;
  return retry.outcome === undefined ? !hasTrouble(retry) : retry.outcome === "solved";
}

function hasTrouble({ signals }: OutcomeRecord): boolean {
  return signals.reported > 0 || signals.repeated > 0;
}
