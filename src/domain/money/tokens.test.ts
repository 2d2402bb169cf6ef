import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "./money.ts";
import { costOf, holdFor } from "./tokens.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price: Price = { input: perMTok(140_000_000), cachedInput: perMTok(2_800_000), output: perMTok(280_000_000) };

describe("what tokens cost", () => {
  test("is rounded up once, for the whole attempt", () => {
    const cheap: Price = { input: perMTok(1), cachedInput: perMTok(1), output: perMTok(1) };
    expect(costOf({ input: 1, cachedInput: 0, output: 1, reasoning: 0 }, cheap)).toBe(nanoUsd(1));
    expect(costOf({ input: 0, cachedInput: 0, output: 0, reasoning: 0 }, cheap)).toBe(nanoUsd(0));
    expect(costOf({ input: 1_000_000, cachedInput: 0, output: 1, reasoning: 0 }, cheap)).toBe(nanoUsd(2));
  });

  test("counts cached input at its own price, and at most as much as there is input", () => {
    expect(costOf({ input: 1_000, cachedInput: 400, output: 0, reasoning: 0 }, price)).toBe(nanoUsd(84_000 + 1_120));
    expect(costOf({ input: 1_000, cachedInput: 5_000, output: 0, reasoning: 0 }, price)).toBe(nanoUsd(2_800));
  });

  test("is exact where floats would lose units", () => {
    const highest: Price = { input: perMTok(99_999_999_999), cachedInput: perMTok(0), output: perMTok(0) };
    const usage = { input: 999_999_937, cachedInput: 0, output: 0, reasoning: 0 };
    expect(costOf(usage, highest)).toBe(nanoUsd(Number((999_999_937n * 99_999_999_999n + 999_999n) / 1_000_000n)));
  });
});

describe("a hold", () => {
  const tokens = fc.nat({ max: 2_000_000 });
  const rate = fc.nat({ max: 1_000_000_000 }).map(perMTok);
  const prices: fc.Arbitrary<Price> = fc.record({ input: rate, cachedInput: rate, output: rate });

  test("is at least the cost of any usage within its bounds", () => {
    fc.assert(
      fc.property(
        prices,
        tokens,
        tokens,
        fc.integer({ min: 1, max: 8 }),
        fc.func(fc.nat({ max: 100 })),
        (p, i, o, n, share) => {
          const hold = holdFor({ inputTokens: i, outputTokens: o, choices: n }, p);
          const part = (of: number, key: string) => Math.floor((of * share(key)) / 100);
          const input = part(i, "input");
          const usage = { input, cachedInput: part(input, "cached"), output: part(n * o, "output"), reasoning: 0 };
          expect(costOf(usage, p)).toBeLessThanOrEqual(hold);
        },
      ),
    );
  });
});
