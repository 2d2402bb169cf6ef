import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { RoutingTask } from "#domain/routing.ts";
import { interpolated } from "#pipeline/decide/rules/score-scale.ts";

/** Learned weights with the features of the ask that they are applied to. */
export interface LearnedInput {
  readonly weights: LearnedWeights;
  readonly features: readonly number[];
}

/** What an ask is compared with. */
export type Landmarks = Pick<LearnedWeights, "centre" | "scale" | "width" | "landmarks">;

/** Features are cut at this many spreads from the mean. */
const farthest = 4;

/** Features in units of their spread, 0 being the mean; those without spread are left out. */
export function standardized(
  { centre, scale }: Pick<Landmarks, "centre" | "scale">,
  features: readonly number[],
): Float64Array {
  const result = new Float64Array(scale.length);
  let used = 0;
  for (let at = 0; at < scale.length; at++) {
    const spread = scale[at] ?? 0;
    if (spread === 0) continue;
    const value = ((features[at] ?? 0) - (centre[at] ?? 0)) / spread;
    result[used++] = Math.max(-farthest, Math.min(farthest, value));
  }
  return result.subarray(0, used);
}

/** How alike the point is to the `index`th of the landmarks, which stand one after the other: 1 if equal, towards 0 with the distance. */
export function similarity(point: Float64Array, landmarks: Float64Array, index: number, width: number): number {
  const size = point.length;
  const from = index * size;
  let sum = 0;
  for (let at = 0; at < size; at++) {
    const distance = (point[at] as number) - (landmarks[from + at] as number); // both are within
    sum += distance * distance;
  }
  return Math.exp((-width * sum) / Math.max(1, size));
}

const packedLandmarks = new WeakMap<Landmarks["landmarks"], Float64Array>();

/** Landmarks one after the other in one array, which is read ten times faster; made once for each list. */
function packed(landmarks: Landmarks["landmarks"]): Float64Array {
  let known = packedLandmarks.get(landmarks);
  if (known === undefined) {
    known = Float64Array.from(landmarks.flat());
    packedLandmarks.set(landmarks, known);
  }
  return known;
}

/** What is known of such asks. */
export interface Benefit {
  /** The logarithm of the odds that flash fails at it and pro then solves it. */
  readonly logOdds: number;
  /** The similarity with the nearest landmark. */
  readonly nearest: number;
}

export function benefitOf(
  weights: Landmarks & Pick<LearnedWeights, "weights" | "intercept" | "score_weight">,
  features: readonly number[],
  shipped: number,
): Benefit {
  const point = standardized(weights, features);
  const landmarks = packed(weights.landmarks);
  let logOdds = weights.intercept + weights.score_weight * (shipped / 100);
  let nearest = 0;
  for (let at = 0; at < weights.landmarks.length; at++) {
    const alike = similarity(point, landmarks, at, weights.width);
    logOdds += (weights.weights[at] ?? 0) * alike;
    if (alike > nearest) nearest = alike;
  }
  return { logOdds, nearest };
}

/** The learned rank and the shipped score in one; asks unlike all that were recorded keep the shipped one. */
export function blendOf(
  { blend, reach, rank_knots }: Pick<LearnedWeights, "blend" | "reach" | "rank_knots">,
  { logOdds, nearest }: Benefit,
  shipped: number,
): number {
  const share = blend * Math.min(1, nearest / reach);
  return share * interpolated(rank_knots, logOdds) + (1 - share) * shipped;
}

/**
 * The score with what was learned: the share of the installation's asks that are less worth sending to pro, in steps of a hundredth.
 * For the same ask it never falls when the shipped score rises. An ask with a higher shipped score than flash was tried at is not
 * lowered: nobody knows what flash would make of it.
 */
export function learnedScoreOf({ weights, features }: LearnedInput, shipped: number): number {
  const blended = blendOf(weights, benefitOf(weights, features, shipped), shipped);
  const score = Math.round(interpolated(weights.score_knots, blended) * 100) / 100;
  return shipped > weights.lowers_up_to ? Math.max(score, shipped) : score;
}

const dimensions = ["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"] as const;
const counts = [
  "characters",
  "words",
  "distinct_words",
  "code_lines",
  "trace_lines",
  "list_items",
  "options",
  "numbers",
  "commas",
  "math_signs",
  "identifiers",
] as const;

/** The features of an ask, in the order of the vector. A release that changes them changes `featureVersion`. */
export const featureNames = [...dimensions, ...counts] as const;

/** The four dimensions as they are, counts as log(1 + count) / 8: most lie between 0 and 1. A count that a record lacks is 0. */
export function featureVector(
  task: Pick<RoutingTask, (typeof dimensions)[number]>,
  features: { readonly [name in (typeof counts)[number]]?: number },
): readonly number[] {
  return [...dimensions.map((name) => task[name]), ...counts.map((name) => logged(features[name] ?? 0))];
}

function logged(count: number): number {
  return Math.round((Math.log1p(count) / 8) * 1e4) / 1e4;
}
