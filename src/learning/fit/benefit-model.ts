import { featureVersion, type LearnedWeights } from "#domain/learned-weights.ts";
import type { DecisionPart } from "#learning/outcomes.ts";
import { benefitOf, blendOf } from "#pipeline/decide/learned/learned-score.ts";
import { landmarksOf, randomSequence, smoothFeatures } from "./landmarks.ts";
import { fitLogistic } from "./logistic.ts";
import type { Trial } from "./observations.ts";

/** Strength of the penalty; chosen on recorded outcomes, like the constants below. */
const ridge = 1;
/**
 * How much more likely pro is needed at the end of the shipped scale than at its beginning, as a logarithm of odds. The fit starts from
 * that and corrects it, so where nothing is learned the order stays the shipped one.
 */
const scoreWeight = 1;
/** The learned rank counts for half at this many rescue trials. */
const halfTrials = 20;
/** The share of the recorded asks that are farthest from the landmarks; for such asks the learned rank counts less. */
const unfamiliarShare = 0.1;
/** How many asks from a score upwards flash must have answered before such scores may be lowered. */
const minTried = 20;
/** Pairs in a table of ranks. */
const knots = 100;

/**
 * Fits P(flash fails) × P(pro solves what flash failed at), as one probability: rescues are rare, and two models of them waste
 * what is known. A failure that was never tried on pro counts by the share of those that were and were solved.
 * @param ranked the asks that the score decides @param nowMs since the epoch
 */
export function fitBenefit(trials: readonly Trial[], ranked: readonly DecisionPart[], nowMs: number): LearnedWeights {
  const tried = trials.filter(({ rescued }) => rescued !== undefined);
  const rescueShare = (tried.filter(({ rescued }) => rescued).length + 0.5) / (tried.length + 1);
  const landmarks = landmarksOf(
    trials.map(({ decision }) => decision.features),
    randomSequence(1),
  );
  const smooth = smoothFeatures(landmarks);
  const meanWeight = trials.reduce((sum, { weight }) => sum + weight, 0) / Math.max(1, trials.length);
  const fitted = fitLogistic(
    trials.map(({ decision, failed, rescued, weight }) => ({
      features: smooth.of(decision.features),
      prior: scoreWeight * (decision.score / 100),
      target: failed ? (rescued === undefined ? rescueShare : Number(rescued)) : 0,
      weight: weight / meanWeight,
    })),
    ridge,
  );
  const model = {
    ...landmarks,
    intercept: fitted.intercept,
    score_weight: scoreWeight,
    weights: [...smooth.weightsOf(fitted.weights)],
  };
  const blend = tried.length / (tried.length + halfTrials);
  const known = trials
    .map(({ decision }) => benefitOf(model, decision.features, decision.score).nearest)
    .toSorted((a, b) => a - b);
  const reach = known[Math.floor(unfamiliarShare * known.length)] ?? 1;
  const benefits = ranked.map(({ features, score }) => benefitOf(model, features, score));
  const ranking = { blend, reach, rank_knots: ranksOf(benefits.map(({ logOdds }) => logOdds)) };
  const blended = ranked.map(({ score }, at) => blendOf(ranking, benefits[at] ?? { logOdds: 0, nearest: 0 }, score));
  return {
    format: 1,
    feature_version: featureVersion,
    fitted_at: new Date(nowMs).toISOString(),
    records: Math.max(1, trials.length),
    rescue_trials: Math.max(1, tried.length),
    ...ranking,
    // The score from which on flash has answered `minTried` asks.
    lowers_up_to: trials.map(({ decision }) => decision.score).toSorted((a, b) => b - a)[minTried - 1] ?? 0,
    ...model,
    score_knots: ranksOf(blended, [0, 100]),
  };
}

/** From a value to the share of all values that are below it, in percent; `ends` are values at 0 and 100 %. */
function ranksOf(values: readonly number[], ends?: readonly [number, number]): LearnedWeights["rank_knots"] {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = sorted[0] ?? 0, high = sorted.at(-1) ?? 0] = ends ?? [];
  const table: (readonly [number, number])[] = [[low, 0]];
  for (let knot = 1; knot < knots; knot++) {
    const value = sorted[Math.floor((knot / knots) * sorted.length)];
    const before = table.at(-1)?.[0] ?? low;
    // Of equal values one knot is kept; a table must rise.
    if (value !== undefined && value > before + 1e-9 && value < high - 1e-9) table.push([value, (100 * knot) / knots]);
  }
  const last = table.at(-1)?.[0] ?? low;
  return [...table, [Math.max(high, last + 1e-6), 100]];
}
