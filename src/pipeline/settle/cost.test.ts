import { describe, expect, test } from "bun:test";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "#domain/money/money.ts";
import { settlementOf } from "./cost.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price: Price = { input: perMTok(140_000_000), cachedInput: perMTok(2_800_000), output: perMTok(280_000_000) };
const hold = nanoUsd(5_000_000);
const usage = { input: 1_000, cachedInput: 0, output: 100, reasoning: 0 };

const nothing = { input: 0, cachedInput: 0, output: 0, reasoning: 0 };
const upstreamCost = (nanoUsdCost: number) => ({ actual: nanoUsd(nanoUsdCost), source: "upstream_cost" as const });
const fromUsage = (nanoUsdCost: number) => ({ actual: nanoUsd(nanoUsdCost), source: "usage" as const });

describe("the cost of an attempt", () => {
  const rows: [what: string, report: Parameters<typeof settlementOf>[0], cost: ReturnType<typeof settlementOf>][] = [
    ["the upstream's own figure comes before token counts", { usage, costNanoUsd: 7 }, upstreamCost(7)],
    ["a stated cost of 0 is a cost", { usage, costNanoUsd: 0 }, upstreamCost(0)],
    ["an absent cost is not 0: token counts are priced with the registry", { usage }, fromUsage(168_000)],
    ["cached input has its own price", { usage: { ...usage, cachedInput: 1_000 } }, fromUsage(2_800 + 28_000)],
    ["reasoning is part of the output", { usage: { ...usage, reasoning: 90 } }, fromUsage(168_000)],
    ["a cost above the hold is accepted", { costNanoUsd: 9_000_000 }, upstreamCost(9_000_000)],
    ["without a report it is unknown", {}, undefined],
    ["an empty usage object means an unknown cost, not a free call", { usage: nothing }, undefined],
  ];
  test.each(rows)("%s", (_, report, cost) => {
    expect(settlementOf(report, price, hold)).toEqual(cost);
  });

  test("if the registry's prices do not apply, only a stated cost is accepted", () => {
    expect(settlementOf({ usage }, undefined, hold)).toBeUndefined();
    expect(settlementOf({ usage, costNanoUsd: 7 }, undefined, hold)?.actual).toBe(nanoUsd(7));
  });

  test("an empty usage object means an unknown cost also for a model with a price per call", () => {
    expect(settlementOf({ usage: nothing }, { ...price, request: nanoUsd(1_000) }, hold)).toBeUndefined();
  });
});
