import { describe, expect, test } from "bun:test";
import { scaleLabels, scaleTop, wholeSteps } from "./scale.ts";

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
