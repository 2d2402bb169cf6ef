import { expect, test } from "bun:test";
import { running, scaleTop, stacked } from "./plot.ts";

test("the scale follows the values, shows a limit once a fifth of it is used, and the limits where nothing was used", () => {
  expect(scaleTop(10, [51])).toBeCloseTo(10.8);
  expect(scaleTop(10, [20, 50])).toBeCloseTo(54);
  expect(scaleTop(null, [20, 50])).toBeCloseTo(54);
  expect(scaleTop(null, [])).toBe(1);
});

test("series are stacked, and a time at which no series has a value stays a gap", () => {
  const series = [
    [1, null, 3, null],
    [10, 20, null, null],
  ];
  expect(stacked(series)).toEqual([
    [1, null, 3, null],
    [11, 20, 3, null],
  ]);
});

test("a running sum ends at the last known value", () => {
  expect(running([1, null, 3, 4], [0, 10, 20, 30], 20)).toEqual([1, 1, 4, null]);
});
