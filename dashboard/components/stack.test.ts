import { expect, test } from "bun:test";
import { running, stacked } from "./stack.ts";

test("series are stacked, and what none of them has stays a gap", () => {
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

test("a running sum ends where nothing is known yet", () => {
  expect(running([1, null, 3, 4], [0, 10, 20, 30], 20)).toEqual([1, 1, 4, null]);
});
