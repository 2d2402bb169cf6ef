import { expect, test } from "bun:test";
import { coarser, running, stacked } from "./stack.ts";

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
