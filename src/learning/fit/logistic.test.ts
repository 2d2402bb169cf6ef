import { expect, test } from "bun:test";
import { fitLogistic, type LogisticModel, type Observation } from "./logistic.ts";
import { randomSequence } from "./random-sequence.ts";

function drawn(count: number, probability: (x: number) => number): Observation[] {
  const next = randomSequence(7);
  return Array.from({ length: count }, () => {
    const x = next() * 4 - 2;
    return { features: Float64Array.of(x, next()), target: Number(next() < probability(x)), weight: 1 };
  });
}
const curve = (x: number) => 1 / (1 + Math.exp(0.5 - 1.5 * x));
const probabilityOf = ({ intercept, weights }: LogisticModel, features: readonly number[]) =>
  1 / (1 + Math.exp(-features.reduce((sum, value, at) => sum + value * (weights[at] ?? 0), intercept)));

test("finds the probabilities from which the outcomes were drawn; an irrelevant feature has almost no weight", () => {
  const model = fitLogistic(drawn(4_000, curve), 1);
  for (const x of [-1.5, 0, 1.5]) expect(Math.abs(probabilityOf(model, [x, 0.5]) - curve(x))).toBeLessThan(0.05);
  expect(Math.abs(model.weights[1] ?? 1)).toBeLessThan(0.3);
});

test("a prior that says all leaves nothing to be fitted, and a wrong one is corrected", () => {
  const seen = drawn(4_000, curve);
  const priorOf = (each: Observation, slope: number) => ({ ...each, prior: slope * (each.features[0] ?? 0) });
  const [right, wrong] = [1.5, -0.5].map((slope) =>
    fitLogistic(
      seen.map((each) => priorOf(each, slope)),
      1,
    ),
  );
  expect(Math.abs(right?.weights[0] ?? 9)).toBeLessThan(0.15);
  expect(Math.abs((wrong?.weights[0] ?? 9) - 2)).toBeLessThan(0.3);
});
