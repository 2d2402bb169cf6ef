import { expect, test } from "bun:test";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "#domain/money/money.ts";
import { settlementOf } from "./cost.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price: Price = { input: perMTok(140_000_000), cachedInput: perMTok(2_800_000), output: perMTok(280_000_000) };
const hold = nanoUsd(5_000_000);
const usage = { input: 1_000, cachedInput: 0, output: 100, reasoning: 0 };

test("if the registry's prices do not apply, only a stated cost is accepted", () => {
  expect(settlementOf({ usage }, undefined, hold)).toBeUndefined();
  expect(settlementOf({ usage, costNanoUsd: 7 }, undefined, hold)?.actual).toBe(nanoUsd(7));
});

test("an empty usage object means an unknown cost also for a model with a price per call", () => {
  const nothing = { input: 0, cachedInput: 0, output: 0, reasoning: 0 };
  expect(settlementOf({ usage: nothing }, { ...price, request: nanoUsd(1_000) }, hold)).toBeUndefined();
  expect(settlementOf({ usage: nothing }, { ...price, request: nanoUsd(1_000) }, nanoUsd(0))?.actual).toBe(
    nanoUsd(1_000),
  );
});
