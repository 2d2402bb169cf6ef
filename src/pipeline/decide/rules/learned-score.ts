import type { LearnedWeights } from "#domain/learned-weights.ts";
import { interpolated } from "./score-scale.ts";

/** Learned weights with the features of the ask that they are applied to. */
export interface LearnedInput {
  readonly weights: LearnedWeights;
  readonly features: readonly number[];
}

/** What an ask is compared with. */
export type Landmarks = Pick<LearnedWeights, "centre" | "scale" | "width" | "landmarks">;

/** Features beyond this many spreads from the mean say nothing more. */
const farthest = 4;

/** Features in units of their spread, 0 being the mean. */
export function standardized({ centre, scale }: Pick<Landmarks, "centre" | "scale">, features: readonly number[]): Float64Array {
  const result = new Float64Array(centre.length);
  for (let at = 0; at < result.length; at++) {
    const spread = scale[at] ?? 0;
    const value = spread === 0 ? 0 : ((features[at] ?? 0) - (centre[at] ?? 0)) / spread;
    result[at] = Math.max(-farthest, Math.min(farthest, value));
  }
  return result;
}

/** How alike two standardized vectors are: 1 for equal ones, towards 0 with their mean squared distance. */
export function similarity(a: ArrayLike<number>, b: ArrayLike<number>, width: number): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) {
    const distance = (a[at] ?? 0) - (b[at] ?? 0);
    sum += distance * distance;
  }
  return Math.exp((-width * sum) / a.length);
}

/** The logarithm of the odds that flash fails at such an ask and pro then solves it. */
export function benefitOf(weights: Landmarks & Pick<LearnedWeights, "weights" | "intercept">, features: readonly number[]): number {
  const point = standardized(weights, features);
  let sum = weights.intercept;
  for (let at = 0; at < weights.landmarks.length; at++) {
    const landmark = weights.landmarks[at];
    if (landmark !== undefined) sum += (weights.weights[at] ?? 0) * similarity(point, landmark, weights.width);
  }
  return sum;
}

/**
 * The score with what was learned: the share of the installation's asks that are less worth sending to pro, in steps of a hundredth.
 * For the same ask it rises strictly with the shipped score, apart from rounding.
 */
export function learnedScoreOf({ weights, features }: LearnedInput, shipped: number): number {
  const rank = interpolated(weights.rank_knots, benefitOf(weights, features));
  const blended = weights.blend * rank + (1 - weights.blend) * shipped;
  return Math.round(interpolated(weights.score_knots, blended) * 100) / 100;
}
