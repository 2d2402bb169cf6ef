import { expect, test } from "bun:test";
import { featureCount } from "#domain/learned-weights.ts";
import { outcomeRecord } from "#learning/fixtures.ts";
import { noSignals, type OutcomeRecord } from "#learning/outcomes.ts";
import { crossValidate } from "./cross-validation.ts";
import { randomSequence } from "./landmarks.ts";

/** Asks of two shapes; only `rescuable` ones fail on flash and are solved by pro. The shipped score does not distinguish them. */
function records(count: number, rescuable: (shape: number, random: () => number) => boolean): OutcomeRecord[] {
  const random = randomSequence(5);
  return Array.from({ length: count }, (_, n) => {
    const shape = random();
    const rescued = rescuable(shape, random);
    const score = Math.round(9_000 * random()) / 100;
    return {
      ...outcomeRecord(`a${n}`, n, { features: Array.from({ length: featureCount }, () => shape), score }),
      signals: { ...noSignals, escalated: rescued, wentOn: true },
    };
  });
}
const options = { nowMs: 0, proFrom: 93.5, proCost: 3 };

test("finds a learnable pattern: asks that only pro solves rank higher, and more of them go to pro first", () => {
  const held = crossValidate(
    records(600, (shape) => shape > 0.85),
    options,
  );
  expect(held?.asks).toBe(600);
  expect(Math.abs((held?.rescuedRank.shipped ?? 0) - 0.5)).toBeLessThan(0.1);
  expect(held?.rescuedRank.learned).toBeGreaterThan(0.8);
  expect(held?.rescuedRank.change.low).toBeGreaterThan(0.2);
  // No score is above the threshold before, and 6.5 of 100 are afterwards.
  expect(held?.proShare).toMatchObject({ shipped: 0 });
  expect(Math.abs((held?.proShare.learned ?? 0) - 0.065)).toBeLessThan(0.03);
  expect(held?.solvedFirst.value).toBeGreaterThan(0.03);
  // Each of these costs 3 instead of 1 + 3.
  expect(held?.cost.value).toBeLessThan(0);
});
