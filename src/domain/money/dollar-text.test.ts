import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { dollarText } from "./dollar-text.ts";

describe("amounts of money", () => {
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
