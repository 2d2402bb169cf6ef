import { describe, expect, test } from "bun:test";
import { counted, duration, share } from "./numbers.ts";

describe("durations", () => {
  test.each([
    [0, "0 ms"],
    [0.02, "0.1 ms"],
    [0.44, "0.4 ms"],
    [2, "2 ms"],
    [9.96, "10 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [3_240, "3.2 s"],
    [59_940, "59.9 s"],
    [59_960, "1 m 00 s"],
    [64_000, "1 m 04 s"],
    [7_500_000, "2 h 05 m"],
    [273_600_000, "3 d 04 h"],
    [-2_000, "−2.0 s"],
  ])("%d ms is formatted as %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test("a missing duration is a dash", () => {
    expect(duration(null)).toBe("–");
  });
});

describe("shares", () => {
  test.each([
    [0, 10, "0 %"],
    [1, 1_000, "<1 %"],
    [1, 3, "33 %"],
    [999, 1_000, ">99 %"],
    [10, 10, "100 %"],
    [12, 10, "120 %"],
    [1, 0, "–"],
  ])("%d of %d is formatted as %s", (part, whole, text) => {
    expect(share(part, whole)).toBe(text);
  });
});

test("one is singular", () => {
  expect([counted(1, "request"), counted(1_234, "request"), counted(2, "model is", "models are")]).toEqual([
    "1 request",
    "1,234 requests",
    "2 models are",
  ]);
});
