import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Trial } from "./outcomes.ts";
import { thresholdsFrom } from "./thresholds.ts";

const shipped = { flashBelow: 90, proFrom: 97 };
/** Scores of 0 to 99; flash fails at a share of those with the score. */
const trialsOf = (count: number, failsAt: (score: number) => number, rescued?: boolean): Trial[] =>
  Array.from({ length: count }, (_, n): Trial => {
    const score = n % 100;
    const failed = (n * 0.618_034) % 1 < failsAt(score);
    return { score, failed, rescued: failed ? rescued : undefined };
  });

type Row = readonly [string, readonly Trial[], at: number | undefined];
const rows: readonly Row[] = [
  ["flash fails from a score on", trialsOf(1_000, (score) => (score >= 60 ? 0.9 : 0.02)), 60],
  ["flash fails early", trialsOf(1_000, (score) => (score >= 20 ? 0.9 : 0.02)), 20],
  ["flash fails at one in twenty, whatever the score", trialsOf(1_000, () => 0.05), 99],
  ["pro fails as well", trialsOf(1_000, (score) => (score >= 60 ? 0.9 : 0.02), false), 99],
  ["there is only chance", trialsOf(120, () => 0.34), undefined],
];
test.each(rows)("when %s, the thresholds follow what paid", (_, trials, at) => {
  const advice = thresholdsFrom(trials, shipped, 3)!;
  if (at === undefined) return expect(advice.better).toBeUndefined();
  const { flashBelow, proFrom, errors } = advice.better!;
  expect(flashBelow).toBeWithin(at - 6, at + 1);
  expect(proFrom).toBeWithin(at, at + 6);
  const { inForce } = advice;
  if (at < 90) expect(errors.failedToFlash).toBeLessThan(inForce.failedToFlash);
  else expect(errors.solvedToPro).toBeLessThan(inForce.solvedToPro);
});

test("thresholds that are too low are raised, but scores that flash has not answered stay with pro", () => {
  const trials = trialsOf(1_000, () => 0.05).filter(({ score }) => score < 60);
  const low = thresholdsFrom(trials, { flashBelow: 10, proFrom: 20 }, 3)!;
  expect(low.better).toMatchObject({ proFrom: 59.01 });
  expect(low.better?.errors.solvedToPro).toBeLessThan(low.inForce.solvedToPro / 10);
});

test("too few failed or solved asks say nothing", () => {
  const some = (failed: number, solved: number) => [...trialsOf(failed, () => 1), ...trialsOf(solved, () => 0)];
  expect(thresholdsFrom(some(29, 500), shipped, 3)).toBeUndefined();
  expect(thresholdsFrom(some(500, 29), shipped, 3)).toBeUndefined();
  expect(thresholdsFrom(some(30, 30), shipped, 3)).toBeDefined();
});

test("advice is a valid policy, and never costs more on the trials than what is in force", () => {
  const trial = fc.record({ score: fc.integer({ min: 0, max: 10_000 }).map((n) => n / 100), failed: fc.boolean() });
  const trials = fc.array(
    trial.map((one): Trial => ({ ...one, rescued: undefined })),
    { minLength: 60, maxLength: 300 },
  );
  const threshold = fc.integer({ min: 0, max: 100 });
  fc.assert(
    fc.property(trials, threshold, threshold, fc.double({ min: 1, max: 20, noNaN: true }), (some, a, b, proCost) => {
      const inForce = { flashBelow: Math.min(a, b), proFrom: Math.max(a, b) };
      const advice = thresholdsFrom(some, inForce, proCost);
      if (advice?.better === undefined) return;
      const { flashBelow, proFrom, errors } = advice.better;
      expect(flashBelow >= 0 && flashBelow <= proFrom && proFrom <= 100).toBe(true);
      const cost = ({ failedToFlash, solvedToPro }: typeof errors) =>
        failedToFlash * (1 + proCost) + solvedToPro * (proCost - 1);
      expect(cost(errors)).toBeLessThanOrEqual(cost(advice.inForce));
    }),
  );
});
