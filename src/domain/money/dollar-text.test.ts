import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { dollarText } from "./dollar-text.ts";

describe("amounts of money", () => {
  test.each([
    [0, "$0"],
    [1, "$0.000000001"],
    [4_100_000, "$0.0041"],
    [4_123_456, "$0.004123"],
    [9_999_999, "$0.01"],
    [10_000_000, "$0.01"],
    [29_600_000, "$0.0296"],
    [500_000_000, "$0.50"],
    [999_940_000, "$0.9999"],
    [999_960_000, "$1.00"],
    [12_400_000_000, "$12.40"],
    [123_456_789_000, "$123"],
    [1_234_567_890_000, "$1,235"],
    [1_234_567_890_000_000, "$1,235,000"],
    [-4_100_000, "−$0.0041"],
  ])("%d nano-USD is formatted as %s", (nano, text) => {
    expect(dollarText(nano)).toBe(text);
  });

  test("an amount above zero is never written as zero, and differs by less than a thousandth below a cent", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_999_999 }), (nano) => {
        const shown = Number(dollarText(nano).slice(1));
        expect(shown).toBeGreaterThan(0);
        expect(Math.abs(shown * 1e9 - nano)).toBeLessThanOrEqual(nano / 1_000 + 0.001);
      }),
    );
  });
});
