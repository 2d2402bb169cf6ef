import { expect, test } from "bun:test";
import { featureCount, LearnedWeights } from "#domain/learned-weights.ts";
import { outcomeRecord } from "#learning/fixtures.ts";
import { benefitOf, learnedScoreOf } from "#pipeline/decide/learned/learned-score.ts";
import { fitBenefit } from "./benefit-model.ts";
import type { Trial } from "./observations.ts";

/** An ask with counts of about `value`. */
const features = (value: number) =>
  Array.from({ length: featureCount }, (_, at) => (at < 4 ? 0.3 : value + Math.sin(at * value * 40) / 20));
const trial = (value: number, failed: boolean, rescued?: boolean, more: Partial<Trial> = {}): Trial => ({
  decision: { ...outcomeRecord("a", 0).decision, features: features(value), score: 100 * value },
  failed,
  rescued,
  weight: 1,
  ...more,
});
/** Easy asks, asks that flash fails at and pro solves, and asks that both fail at. */
const trials = Array.from({ length: 60 }, (_, n) => [
  trial(0.1 + n / 1_000, false),
  trial(0.5 + n / 1_000, true, true),
  trial(0.9 + n / 1_000, true, false),
]).flat();
const fit = (of: readonly Trial[]) =>
  fitBenefit(
    of,
    of.map(({ decision }) => decision),
    0,
  );
const weights = fit(trials);
const worth = (value: number, of = weights) => benefitOf(of, features(value), 100 * value).logOdds;

test("asks that flash fails and pro solves score higher than easy ones and than those that both fail", () => {
  expect(worth(0.53)).toBeGreaterThan(worth(0.93));
  expect(worth(0.53)).toBeGreaterThan(worth(0.13));
  expect(weights).toMatchObject({ records: 180, rescue_trials: 120 });
});

test("the written weights can be read again, and the same records give the same weights", () => {
  expect(LearnedWeights.parse(JSON.parse(JSON.stringify(weights)))).toEqual(weights);
  expect(fit(trials)).toEqual(weights);
});

test("scores of the records are percentiles: as many are above 90 as the number says", () => {
  const lowering = { ...weights, lowers_up_to: 100 };
  const scores = trials.map(({ decision }) =>
    learnedScoreOf({ weights: lowering, features: decision.features }, decision.score),
  );
  for (const threshold of [50, 90]) {
    const above = scores.filter((score) => score >= threshold).length / scores.length;
    expect(Math.abs(above - (1 - threshold / 100))).toBeLessThan(0.04);
  }
});

test("a failure that was never tried on pro counts with the share of those that pro has solved", () => {
  const untried = Array.from({ length: 60 }, (_, n) => trial(0.5 + n / 1_000, true));
  const solved = fit([...trials.filter(({ decision }) => decision.score < 50), ...untried, trial(0.9, true, true)]);
  expect(worth(0.53, solved)).toBeGreaterThan(worth(0.13, solved));
  expect(solved.rescue_trials).toBe(1);
});
