import { expect, test } from "bun:test";
import { fitLogistic, type Observation, probabilityOf } from "./logistic.ts";

/** Uniform numbers in [0, 1), the same in every run. */
function numbers(): () => number {
  let state = 7;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function drawn(count: number, probability: (x: number) => number): Observation[] {
  const next = numbers();
  return Array.from({ length: count }, () => {
    const x = next() * 4 - 2;
    return { features: [x, next(), 5], positive: next() < probability(x), weight: 1 };
  });
}
const curve = (x: number) => 1 / (1 + Math.exp(0.5 - 1.5 * x));

test("finds the probabilities that the outcomes were drawn with; a feature that says nothing has next to no weight", () => {
  const model = fitLogistic(drawn(4_000, curve), 1);
  for (const x of [-1.5, 0, 1.5]) expect(Math.abs(probabilityOf(model, [x, 0.5, 5]) - curve(x))).toBeLessThan(0.05);
  expect(Math.abs(model.weights[1] ?? 1)).toBeLessThan(0.15);
  expect(model.weights[2]).toBe(0);
});

test("a stronger penalty draws the weights to zero", () => {
  const [weak, strong] = [1, 10_000].map((ridge) => fitLogistic(drawn(400, curve), ridge).weights[0] ?? 0);
  expect(strong).toBeLessThan((weak ?? 0) / 5);
});

test("an observation with the weight 3 counts as three", () => {
  const once = drawn(200, curve);
  const weighted = fitLogistic([...once.slice(1), ...once.slice(0, 1).map((each) => ({ ...each, weight: 3 }))], 1);
  const repeated = fitLogistic([...once, ...once.slice(0, 1), ...once.slice(0, 1)], 1);
  expect(probabilityOf(weighted, [1, 0, 5])).toBeCloseTo(probabilityOf(repeated, [1, 0, 5]), 8);
});

test("with one outcome alone, or none, it is a share that is neither 0 nor 1", () => {
  const sure = fitLogistic([{ features: [1], positive: true, weight: 9 }], 1);
  expect(probabilityOf(sure, [1])).toBeCloseTo(0.95, 5);
  expect(probabilityOf(fitLogistic([], 1), [])).toBe(0.5);
});
