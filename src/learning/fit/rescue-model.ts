import type { OutcomeRecord } from "#learning/outcomes/outcomes.ts";
import { fitLogistic, type LogisticModel, type Observation, probabilityOf } from "./logistic.ts";

/** How likely flash is to fail at an ask, and pro to solve what flash has failed at. */
export interface RescueModel {
  readonly failure: LogisticModel;
  readonly rescue: LogisticModel;
  /** Asks of which it is known whether pro solved what flash had failed at. */
  readonly trials: number;
}

/** Below this the second factor is guesswork. */
const defaultMinTrials = 60;
/** Strength of the penalty on each weight, in observations; chosen by `bench/routing/learning.ts`. */
const ridge = 10;
/** A tier that was hardly ever chosen must not let one record stand for hundreds. */
const maxWeight = 20;

/** Fits both factors; undefined when the records hold fewer than `minTrials` rescue trials. */
export function fitRescueModel(
  records: readonly OutcomeRecord[],
  minTrials = defaultMinTrials,
): RescueModel | undefined {
  const { failures, rescues } = observationsIn(records);
  if (rescues.length < minTrials || failures.length === 0) return undefined;
  return { failure: fitLogistic(failures, ridge), rescue: fitLogistic(rescues, ridge), trials: rescues.length };
}

/** What sending the ask to pro is worth: the probability that flash fails and pro then solves it. */
export function benefitOf({ failure, rescue }: RescueModel, decision: OutcomeRecord["decision"]): number {
  const features = featuresOf(decision);
  return probabilityOf(failure, features) * probabilityOf(rescue, features);
}

/**
 * What the records say of the two questions. An ask of which nothing was heard counts as solved; of an escalated one the
 * result is known when another ask, a failure or the caller's own word came after it.
 */
export function observationsIn(records: readonly OutcomeRecord[]): {
  readonly failures: readonly Observation[];
  readonly rescues: readonly Observation[];
} {
  const byId = new Map(records.map((record) => [record.decisionId, record]));
  const failures: Observation[] = [];
  const rescues: Observation[] = [];
  for (const record of records) {
    const { decision, signals, outcome } = record;
    const observed = (positive: boolean): Observation => ({
      features: featuresOf(decision),
      positive,
      weight: Math.min(maxWeight, 1 / decision.probability),
    });
    if (decision.tier === "flash") {
      failures.push(observed(flashFailed(record)));
      const known = signals.wentOn || signals.failedAfter > 0 || signals.repeated > 0 || outcome !== undefined;
      if (signals.escalated && known) rescues.push(observed(solvedAfterEscalation(record)));
      continue;
    }
    const before = byId.get(decision.retryOf ?? "");
    if (before?.decision.tier === "flash" && flashFailed(before) && !before.signals.escalated) {
      rescues.push(observed(outcome === undefined ? !hasTrouble(record) : outcome === "solved"));
    }
  }
  return { failures, rescues };
}

function flashFailed(record: OutcomeRecord): boolean {
  // An escalated run was finished by pro, whatever the caller says of its end.
  if (record.signals.escalated) return true;
  return record.outcome === undefined ? hasTrouble(record) : record.outcome === "failed";
}

function solvedAfterEscalation({ signals, outcome }: OutcomeRecord): boolean {
  return outcome === undefined ? signals.failedAfter === 0 && signals.repeated === 0 : outcome === "solved";
}

function hasTrouble({ signals }: OutcomeRecord): boolean {
  return signals.reported > 0 || signals.repeated > 0;
}

/** The shipped score is one of the features: with nothing else to learn, its order is what is found. */
function featuresOf({ features, score }: OutcomeRecord["decision"]): readonly number[] {
  return [...features, score / 100];
}
