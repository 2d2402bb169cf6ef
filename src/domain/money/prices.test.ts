import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Price, PriceBand, Rates } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "./money.ts";
import { highestRates, priceWithCacheWrites, ratesOf } from "./prices.ts";
import { costOf, holdFor } from "./tokens.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const base = { input: perMTok(100), cachedInput: perMTok(10), output: perMTok(400) };
const window = (from: number, to: number, rates: Partial<Rates>): PriceBand => ({
  window: { fromMinute: from, toMinute: to },
  rates,
});
const tier = (fromInputTokens: number, rates: Partial<Rates>): PriceBand => ({ fromInputTokens, rates });
const at = (text: string, minutes = 0) => {
  const fromMs = Date.parse(`2026-03-04T${text}Z`);
  return { fromMs, toMs: fromMs + minutes * 60_000 };
};

describe("tiers", () => {
  const price: Price = {
    ...base,
    bands: [tier(200, { input: perMTok(200), output: perMTok(600) }), tier(500, { input: perMTok(150) })],
  };
  test("the highest tier that a prompt reaches replaces the prices that it names", () => {
    expect(ratesOf(price, 199)).toMatchObject({ input: 100, output: 400 });
    expect(ratesOf(price, 200)).toMatchObject({ input: 200, output: 600 });
    expect(ratesOf(price, 500)).toMatchObject({ input: 150, output: 600, cachedInput: 10 });
  });
});

describe("windows", () => {
  const night: Price = { ...base, bands: [window(16 * 60 + 30, 30, { input: perMTok(50), output: perMTok(200) })] };
  test.each([
    ["16:29:59.999", 100],
    ["16:30:00", 50],
    ["23:59:59.999", 50],
    ["00:00:00", 50],
    ["00:29:59.999", 50],
    ["00:30:00", 100],
  ])("a window across midnight is open at %s or not, its end not included", (time, input) => {
    expect(ratesOf(night, 10, at(time)).input).toBe(perMTok(input));
  });
  test("a call that begins in a cheap window and ends outside it costs the higher price", () => {
    expect(ratesOf(night, 10, at("00:29:00", 2)).input).toBe(perMTok(100));
    expect(ratesOf(night, 10, at("16:29:00", 2)).input).toBe(perMTok(100));
  });
  test("a call longer than the rest of the day reaches the window again", () => {
    const peak: Price = { ...base, bands: [window(60, 120, { input: perMTok(900) })] };
    expect(ratesOf(peak, 10, at("03:00:00", 60)).input).toBe(perMTok(100));
    expect(ratesOf(peak, 10, at("03:00:00", 24 * 60)).input).toBe(perMTok(900));
  });
});

describe("cache writes", () => {
  const usage = { input: 1_000_000, cachedInput: 200_000, cacheWrite: 500_000, output: 0, reasoning: 0 };
  test("are charged at their own price", () => {
    expect(costOf(usage, { ...base, cacheWrite: perMTok(125) })).toBe(nanoUsd(30 + 2 + 63));
  });
  test("cost twice the input price if they were requested and their price is unknown, in every band", () => {
    const price = priceWithCacheWrites({ ...base, bands: [tier(10, { input: perMTok(300) })] });
    expect(costOf({ ...usage, cachedInput: 0, cacheWrite: 1_000_000 }, price)).toBe(nanoUsd(600));
    expect(holdFor({ inputTokens: 9, outputTokens: 0, choices: 1 }, price)).toBe(nanoUsd(1));
    expect(highestRates(price, 9).cacheWrite).toBe(perMTok(200));
  });
});

test("a price per call is part of hold and cost, once", () => {
  const price: Price = { ...base, request: nanoUsd(5_000) };
  expect(costOf({ input: 0, cachedInput: 0, output: 0, reasoning: 0 }, price)).toBe(nanoUsd(5_000));
  expect(holdFor({ inputTokens: 0, outputTokens: 0, choices: 3 }, price)).toBe(nanoUsd(5_000));
});

describe("for every price, usage and time", () => {
  const rate = fc.integer({ min: 0, max: 50_000_000_000 }).map(perMTok);
  const amount = fc.integer({ min: 0, max: 1_000_000_000 }).map(nanoUsd);
  const some = fc.record(
    { input: rate, cachedInput: rate, cacheWrite: rate, output: rate, request: amount },
    { requiredKeys: [] },
  );
  const minute = fc.integer({ min: 0, max: 1_439 });
  const band: fc.Arbitrary<PriceBand> = fc.oneof(
    fc.record({ fromInputTokens: fc.integer({ min: 1, max: 3_000 }), rates: some }),
    fc.record({ window: fc.record({ fromMinute: minute, toMinute: minute }), rates: some }),
    fc.record({
      fromInputTokens: fc.integer({ min: 1, max: 3_000 }),
      window: fc.record({ fromMinute: minute, toMinute: minute }),
      rates: some,
    }),
  );
  const prices: fc.Arbitrary<Price> = fc
    .tuple(some, rate, rate, rate, fc.array(band, { maxLength: 5 }))
    .map(([named, input, cachedInput, output, bands]) => ({
      ...named,
      input,
      cachedInput,
      output,
      bands: bands.toSorted((a, b) => (a.fromInputTokens ?? 0) - (b.fromInputTokens ?? 0)),
    }));
  const tokens = fc.integer({ min: 0, max: 4_000 });
  const during = fc.option(
    fc.tuple(fc.integer({ min: 0, max: 200_000_000 }), fc.integer({ min: 0, max: 200_000_000 })),
    { nil: undefined },
  );

  test("the hold is at least the cost of every usage within its bounds, in every band", () => {
    fc.assert(
      fc.property(
        prices,
        fc.boolean(),
        tokens,
        tokens,
        tokens,
        tokens,
        tokens,
        fc.integer({ min: 1, max: 4 }),
        during,
        (price, asked, input, cachedInput, cacheWrite, output, slack, choices, time) => {
          const used = asked ? priceWithCacheWrites(price) : price;
          const bound = { inputTokens: input + slack, outputTokens: Math.ceil(output / choices), choices };
          const span = time === undefined ? undefined : { fromMs: time[0], toMs: time[0] + time[1] };
          const cost = costOf({ input, cachedInput, cacheWrite, output, reasoning: 0 }, used, span);
          expect(holdFor(bound, used)).toBeGreaterThanOrEqual(cost);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
