import { describe, expect, test } from "bun:test";
import { coarser, running, scaleLabels, scaleTop, stacked, wholeSteps } from "./sums.ts";

describe("the scale of a chart", () => {
  test("follows the values, and shows a limit once a fifth of it is used", () => {
    expect(scaleTop(10, [])).toBeCloseTo(10.8);
    expect(scaleTop(10, [51])).toBeCloseTo(10.8);
    expect(scaleTop(10, [20, 50])).toBeCloseTo(54);
  });

  test("shows the limits where nothing was used", () => {
    expect(scaleTop(0, [20, 50])).toBeCloseTo(54);
    expect(scaleTop(null, [20, 50])).toBeCloseTo(54);
    expect(scaleTop(null, [])).toBe(1);
  });

  test("has whole steps, so that no label is repeated or stands for a part of a request", () => {
    expect(wholeSteps.slice(0, 7)).toEqual([1, 2, 5, 10, 20, 25, 50]);
    expect(wholeSteps.every(Number.isSafeInteger)).toBe(true);
    expect(wholeSteps.toSorted((a, b) => a - b)).toEqual([...wholeSteps]);
  });

  test("has only its 0 labelled where it shows nothing", () => {
    expect(scaleLabels([0, 1], true, String)).toEqual(["0", ""]);
    expect(scaleLabels([0, 1], false, String)).toEqual(["0", "1"]);
  });
});

test("series are stacked, and a time at which no series has a value stays a gap", () => {
  expect(
    stacked([
      [1, null, 3, null],
      [10, 20, null, null],
    ]),
  ).toEqual([
    [1, null, 3, null],
    [11, 20, 3, null],
  ]);
});

test("a running sum ends at the last known value", () => {
  expect(running([1, null, 3, 4], [0, 10, 20, 30], 20)).toEqual([1, 1, 4, null]);
});

test("longer steps keep the sum, and a step without a value stays a gap", () => {
  const at = Array.from({ length: 360 }, (_, index) => index * 240_000);
  const values = at.map((_, index) => (index % 30 < 15 ? index : null));
  const { step_ms, at_ms, groups } = coarser({ step_ms: 240_000, at_ms: at, groups: [{ name: "a", values }] });
  const sum = (all: readonly (number | null)[] = []): number =>
    all.reduce<number>((so_far, value) => so_far + (value ?? 0), 0);
  expect([step_ms, at_ms.length]).toEqual([1_200_000, 72]);
  expect(sum(groups[0]?.values)).toBe(sum(values));
  expect(groups[0]?.values.slice(0, 7)).toEqual([10, 35, 60, null, null, null, 160]);
});
