import type { Cause } from "#domain/routing.ts";
import type { DecisionPart, OutcomeRecord } from "#learning/outcomes.ts";
import { benefitOf, learnedScoreOf } from "#pipeline/decide/learned/learned-score.ts";
import { fitBenefit } from "./benefit-model.ts";
import { randomSequence, shuffled } from "./landmarks.ts";
import { type Trial, trialsIn, weightOf } from "./observations.ts";

/** A mean with its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What the learned score would have changed for records that it was not fitted to. */
export interface CrossValidation {
  /** Asks that the score decides, each scored with weights that were fitted to others. */
  readonly asks: number;
  /** Where the asks that flash failed and pro solved stand in the order of all, 0 to 1; 0.5 is chance. */
  readonly rescuedRank: { readonly shipped: number; readonly learned: number; readonly change: Estimate };
  /** Share of asks that go to pro. */
  readonly proShare: { readonly shipped: number; readonly learned: number; readonly change: Estimate };
  /** Change of the share of asks that the first model solves. */
  readonly solvedFirst: Estimate;
  /** Change of the cost, as a share of the cost now; retries on pro included. */
  readonly cost: Estimate;
}

export interface CrossValidationOptions {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The score from which an ask goes to pro. */
  readonly proFrom: number;
  /** What an ask costs on pro, with flash as 1. */
  readonly proCost: number;
}

/** Causes of asks whose tier the score has chosen, or would have without a draw or a soft cap. */
const scored: ReadonlySet<Cause> = new Set([
  "score_flash",
  "score_pro",
  "gray_zone_scout",
  "gray_zone_flash",
  "gray_zone_pro",
  "exploration",
  "budget_soft_cap",
]);

/** The decisions that the score has made, which a learned score would make in its place. */
export function rankedIn(records: readonly OutcomeRecord[]): readonly DecisionPart[] {
  return records.filter(isRanked).map(({ decision }) => decision);
}

function isRanked({ decision }: OutcomeRecord): boolean {
  return scored.has(decision.cause);
}

const folds = 5;

interface ScoredAsk {
  readonly weight: number;
  readonly shipped: number;
  readonly learned: number;
  /** Probability that flash fails and pro solves it: from the record where there is one, else as predicted. */
  readonly benefit: number;
  /** Cost on flash, with the retry on pro that followed. */
  readonly flashCost: number;
  readonly rescued: boolean | undefined;
}

/** Five-fold cross-validation: fits to four fifths of the records and scores the last fifth, five times. Undefined with too few records. */
export function crossValidate(
  records: readonly OutcomeRecord[],
  options: CrossValidationOptions,
): CrossValidation | undefined {
  const trialOf = new Map(trialsIn(records).map((trial) => [trial.decision, trial]));
  const tried = [...trialOf.values()].filter(({ rescued }) => rescued !== undefined);
  const rescueShare = tried.filter(({ rescued }) => rescued).length / Math.max(1, tried.length);
  const mixed = shuffled(records, randomSequence(3));
  const asks: ScoredAsk[] = [];
  for (let fold = 0; fold < folds; fold++) {
    const [seen, held] = [mixed.filter((_, at) => at % folds !== fold), mixed.filter((_, at) => at % folds === fold)];
    const trials = seen.flatMap(({ decision }) => trialOf.get(decision) ?? []);
    const ranked = rankedIn(seen);
    if (trials.length === 0 || ranked.length === 0) return undefined;
    const weights = fitBenefit(trials, ranked, options.nowMs);
    for (const record of held.filter(isRanked)) {
      const { decision } = record;
      const predicted = 1 / (1 + Math.exp(-benefitOf(weights, decision.features, decision.score).logOdds));
      const known = knownOf(trialOf.get(decision), rescueShare, options.proCost);
      asks.push({
        weight: weightOf(record),
        shipped: decision.score,
        learned: learnedScoreOf({ weights, features: decision.features }, decision.score),
        benefit: known?.benefit ?? predicted,
        flashCost: known?.flashCost ?? 1 + Math.min(1, predicted / Math.max(rescueShare, 0.01)) * options.proCost,
        rescued: known?.rescued,
      });
    }
  }
  return asks.length === 0 ? undefined : summed(asks, options);
}

function knownOf(trial: Trial | undefined, rescueShare: number, proCost: number) {
  if (trial === undefined) return undefined;
  const { failed, rescued } = trial;
  return {
    benefit: failed ? (rescued === undefined ? rescueShare : Number(rescued)) : 0,
    flashCost: rescued === undefined ? 1 : 1 + proCost,
    rescued: rescued === true,
  };
}

function summed(asks: readonly ScoredAsk[], { proFrom, proCost }: CrossValidationOptions): CrossValidation {
  const onPro = (score: number) => Number(score >= proFrom);
  const moved = (each: ScoredAsk) => onPro(each.learned) - onPro(each.shipped);
  const known = asks.filter(({ rescued }) => rescued !== undefined);
  const [byShipped, byLearned] = (["shipped", "learned"] as const).map((score) =>
    ranksOf(known.map((ask) => ask[score])),
  );
  const ranks = known.flatMap(({ weight, rescued }, at) =>
    rescued ? [{ weight, shipped: byShipped?.[at] ?? 0, learned: byLearned?.[at] ?? 0 }] : [],
  );
  const costNow = meanOf(asks, (each) => (onPro(each.shipped) === 1 ? proCost : each.flashCost)).value;
  const costChange = meanOf(asks, (each) => moved(each) * (proCost - each.flashCost));
  return {
    asks: asks.length,
    rescuedRank: {
      shipped: meanOf(ranks, ({ shipped }) => shipped).value,
      learned: meanOf(ranks, ({ learned }) => learned).value,
      change: meanOf(ranks, ({ shipped, learned }) => learned - shipped),
    },
    proShare: {
      shipped: meanOf(asks, (each) => onPro(each.shipped)).value,
      learned: meanOf(asks, (each) => onPro(each.learned)).value,
      change: meanOf(asks, moved),
    },
    solvedFirst: meanOf(asks, (each) => moved(each) * each.benefit),
    cost: { value: costChange.value / costNow, low: costChange.low / costNow, high: costChange.high / costNow },
  };
}

/** A weighted mean with the interval of its standard error. */
function meanOf<T extends { readonly weight: number }>(items: readonly T[], value: (item: T) => number): Estimate {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return { value: 0, low: 0, high: 0 };
  const mean = items.reduce((sum, item) => sum + item.weight * value(item), 0) / total;
  const error = Math.sqrt(items.reduce((sum, item) => sum + (item.weight * (value(item) - mean)) ** 2, 0)) / total;
  return { value: mean, low: mean - 1.96 * error, high: mean + 1.96 * error };
}

/** Each value's place in the order of all, 0 to 1; equal values have the same. */
function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  const places = new Map<number, { first: number; last: number }>();
  for (const [at, value] of sorted.entries()) {
    const place = places.get(value);
    if (place === undefined) places.set(value, { first: at, last: at });
    else place.last = at;
  }
  return values.map((value) => {
    const { first, last } = places.get(value) ?? { first: 0, last: 0 };
    return ((first + last) / 2 + 0.5) / values.length;
  });
}
