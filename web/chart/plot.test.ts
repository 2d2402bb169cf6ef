import { expect, test } from "bun:test";
import { scaleTop, stacked } from "./plot.ts";

test("the scale follows the values, and is not empty where there are none", () => {
  expect([scaleTop(10), scaleTop(0), scaleTop(null)]).toEqual([10.8, 1, 1]);
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
