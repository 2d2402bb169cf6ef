import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { dollarText, formatUsd, nanoUsd, parseUsd, usdToNano } from "./money.ts";

describe("US dollars as text", () => {
  const cases: [string, number | undefined][] = [
    ["0", 0],
    ["1", 1_000_000_000],
    ["0.14", 140_000_000],
    [".5", 500_000_000],
    ["5.", 5_000_000_000],
    ["+2", 2_000_000_000],
    [" 3 ", 3_000_000_000],
    ["0.000000001", 1],
    ["1e-9", 1],
    ["1.4E-7", 140],
    ["2e3", 2_000_000_000_000],
    ["0e999", 0],
    ["000000000000000000001", 1_000_000_000],
    ["9007199.254740991", 9_007_199_254_740_991],
    ["9007199.254740992", undefined],
    ["1e300", undefined],
    ["1e9999", undefined],
    ["", undefined],
    [".", undefined],
    ["-1", undefined],
    ["1,5", undefined],
    ["0x10", undefined],
    ["NaN", undefined],
    ["Infinity", undefined],
    ["1e", undefined],
  ];
  test.each(cases)("%p is %p nano-dollars", (text, expected) => {
    expect(parseUsd(text)).toBe(expected as never);
  });

  test("a fraction of a nano-dollar is rounded up for costs and down for caps", () => {
    expect(parseUsd("0.0000000011", "up")).toBe(nanoUsd(2));
    expect(parseUsd("0.0000000011", "down")).toBe(nanoUsd(1));
    expect(parseUsd("1e-30", "up")).toBe(nanoUsd(1));
    expect(parseUsd("1e-30", "down")).toBe(nanoUsd(0));
  });

  test("prices that floats cannot represent are exact", () => {
    expect(parseUsd("0.435")).toBe(nanoUsd(435_000_000));
    expect(parseUsd("0.003625")).toBe(nanoUsd(3_625_000));
    expect(usdToNano(0.1 + 0.2, "down")).toBe(nanoUsd(300_000_000));
    expect(usdToNano(1.005)).toBe(nanoUsd(1_005_000_000));
  });

  test("a number that is no amount is rejected", () => {
    for (const value of [-0.01, Number.NaN, Number.POSITIVE_INFINITY, 1e12]) expect(usdToNano(value)).toBeUndefined();
  });

  test.each([
    [1_500_000, "0.0015"],
    [0, "0"],
    [2_000_000_000, "2"],
    [-250_000_000, "-0.25"],
  ])("%p nano-dollars are printed as %p", (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });
});

describe("amounts as people read them", () => {
  test.each(jsonLines<[number, string]>(import.meta.dir, "fixtures/dollar-texts.jsonl"))(
    "%d nano-USD is formatted as %s",
    (nano, text) => {
      expect(dollarText(nano)).toBe(text);
    },
  );

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
