import type { Trial } from "./outcomes.ts";

/** `routing.flash_below` and `routing.pro_from` of a policy. */
export interface Thresholds {
  readonly flashBelow: number;
  readonly proFrom: number;
}

type Errors = ReturnType<typeof errorsOf>;

/** `better` is absent where other thresholds would not have been better by more than chance. */
export type Advice = { readonly inForce: Errors; readonly better?: Thresholds & { readonly errors: Errors } };

/** Of failed and of solved asks: with fewer nothing is said. */
export const minOfEach = 30;
/** The share of the asks on either side of the best threshold that is the gray zone, as shipped. */
const grayShare = 0.035;
/** A change has to be better by this many standard errors: the best of many thresholds looks better than it is. */
const surely = 2;

/**
 * The thresholds that would have cost least on the trials. An ask that flash solves costs the difference of the prices
 * more on pro; one that flash fails at costs the turn on flash, and another on pro for the time that was lost; one that
 * pro fails at as well costs the same either way. Undefined with too few trials.
 * @param proCost the cost of a turn on pro, in those on flash
 */
export function thresholdsFrom(trials: readonly Trial[], inForce: Thresholds, proCost: number): Advice | undefined {
  const failures = trials.filter(({ failed }) => failed).length;
  if (failures < minOfEach || trials.length - failures < minOfEach) return undefined;
  /** `costs`: what flash costs more than pro; negative: less. */
  const asks = trials
    .map(({ score, failed, rescued }) => ({
      score,
      costs: failed ? (rescued === false ? 0 : 1 + proCost) : 1 - proCost,
    }))
    .sort((a, b) => a.score - b.score);
  let [total, least, toFlash] = [0, 0, 0];
  for (const [at, { score, costs }] of asks.entries()) {
    total += costs;
    if (total < least && asks[at + 1]?.score !== score) [least, toFlash] = [total, at + 1];
  }
  const side = Math.round(grayShare * asks.length);
  // Of scores that flash never answered nothing is known: they stay with pro.
  const above = Math.max(inForce.proFrom, Math.round(((asks.at(-1)?.score ?? 0) + 0.01) * 100) / 100);
  const scoreAt = (at: number) => Math.min(100, asks[Math.max(0, at)]?.score ?? above);
  const better = { flashBelow: scoreAt(toFlash - side), proFrom: scoreAt(toFlash + side) };

  const [from, to] = [middle(inForce), middle(better)];
  const moved = asks.filter(({ score }) => score >= Math.min(from, to) && score < Math.max(from, to));
  const saved = moved.reduce((sum, { costs }) => sum + (to < from ? costs : -costs), 0);
  const error = Math.sqrt(moved.reduce((sum, { costs }) => sum + costs * costs, 0));
  const advice = { inForce: errorsOf(trials, from) };
  return saved > surely * error ? { ...advice, better: { ...better, errors: errorsOf(trials, to) } } : advice;
}

/** In the gray zone the midpoint decides, where no scout does. */
function middle({ flashBelow, proFrom }: Thresholds): number {
  return (flashBelow + proFrom) / 2;
}

/** The two errors of a score: asks that flash failed at and would get again, and those it solved that would go to pro. */
function errorsOf(trials: readonly Trial[], from: number) {
  return {
    failedToFlash: trials.filter(({ failed, score }) => failed && score < from).length,
    solvedToPro: trials.filter(({ failed, score }) => !failed && score >= from).length,
  };
}
