import { describe, expect, test } from "bun:test";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "#domain/money/money.ts";
import { settlementOf } from "./cost.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price: Price = { input: perMTok(140_000_000), cachedInput: perMTok(2_800_000), output: perMTok(280_000_000) };
const hold = nanoUsd(5_000_000);
const usage = { input: 1_000, cachedInput: 0, output: 100, reasoning: 0 };

describe("the cost of an attempt", () => {
  test("the upstream's own figure takes precedence over token counts", () => {
    expect(settlementOf({ usage, costNanoUsd: 7 }, price, hold)).toEqual({
      actual: nanoUsd(7),
      source: "upstream_cost",
    });
  });
  test("a stated cost of 0 is a cost", () => {
    expect(settlementOf({ usage, costNanoUsd: 0 }, price, hold)).toEqual({
      actual: nanoUsd(0),
      source: "upstream_cost",
    });
  });
  test("an absent cost is not 0: token counts are priced with the registry", () => {
    expect(settlementOf({ usage }, price, hold)).toEqual({ actual: nanoUsd(168_000), source: "usage" });
  });
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300])(
    "a stated cost of %p is refused and the outcome is unknown",
    (costNanoUsd) => {
      expect(settlementOf({ usage, costNanoUsd }, price, hold)).toBeUndefined();
    },
  );
  test("fractions of a nano-dollar are rounded up", () => {
    expect(settlementOf({ costNanoUsd: 6.2 }, price, hold)?.actual).toBe(nanoUsd(7));
  });
  test("cached input is charged at its own price", () => {
    const cached = settlementOf({ usage: { ...usage, cachedInput: 1_000 } }, price, hold);
    expect(cached?.actual).toBe(nanoUsd(2_800 + 28_000));
  });
  test("reasoning tokens are part of the output, not counted twice", () => {
    expect(settlementOf({ usage: { ...usage, reasoning: 90 } }, price, hold)?.actual).toBe(nanoUsd(168_000));
  });
  test("a cost above the hold is accepted", () => {
    expect(settlementOf({ costNanoUsd: 9_000_000 }, price, hold)?.actual).toBe(nanoUsd(9_000_000));
  });
  test("if the registry's prices do not apply, only a stated cost is accepted", () => {
    expect(settlementOf({ usage }, undefined, hold)).toBeUndefined();
    expect(settlementOf({ usage, costNanoUsd: 7 }, undefined, hold)?.actual).toBe(nanoUsd(7));
  });
  test("without a report the cost is unknown", () => {
    expect(settlementOf({}, price, hold)).toBeUndefined();
  });
  test("an empty usage object means an unknown cost, not a free call", () => {
    expect(settlementOf({ usage: { input: 0, cachedInput: 0, output: 0, reasoning: 0 } }, price, hold)).toBeUndefined();
  });
  test("an empty usage object means an unknown cost also for a model with a price per call", () => {
    const empty = { usage: { input: 0, cachedInput: 0, output: 0, reasoning: 0 } };
    expect(settlementOf(empty, { ...price, request: nanoUsd(1_000) }, hold)).toBeUndefined();
  });
  test.each([
    { input: -1, cachedInput: 0, output: 1, reasoning: 0 },
    { input: 1.5, cachedInput: 0, output: 1, reasoning: 0 },
    { input: Number.NaN, cachedInput: 0, output: 1, reasoning: 0 },
    { input: Number.MAX_SAFE_INTEGER, cachedInput: 0, output: Number.MAX_SAFE_INTEGER, reasoning: 0 },
  ])("absurd counts are unknown: %p", (absurd) => {
    expect(settlementOf({ usage: absurd }, price, hold)).toBeUndefined();
  });
});
