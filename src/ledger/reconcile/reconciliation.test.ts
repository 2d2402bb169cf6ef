import { describe, expect, test } from "bun:test";
import { isNotable } from "./reconciliation.ts";

const usd = (amount: number) => Math.round(amount * 1e9);
const notable = (ledger: number, aggregator: number, held = 0) =>
  isNotable({
    day: "2026-11-22",
    ledgerSpent: usd(ledger),
    ledgerHeld: usd(held),
    aggregatorSpent: usd(aggregator),
    readMs: 0,
  });

describe("a difference between the ledger and the aggregator", () => {
  test.each([
    ["equal counts", 10, 10, 0, false],
    ["less than 5 %", 10, 10.4, 0, false],
    ["more than 5 %", 10, 10.6, 0, true],
    ["more than 5 % less", 10, 9.4, 0, true],
    ["a few cents, however large their share", 0.01, 0.1, 0, false],
    ["what running calls hold", 10, 12, 2, false],
    ["more than they hold", 10, 13, 2, true],
    ["less, whatever is held", 10, 8, 5, true],
    ["nothing in the ledger", 0, 3, 0, true],
  ])("of %s is reported or not", (_, ledger, aggregator, held, expected) => {
    expect(notable(ledger, aggregator, held)).toBe(expected);
  });
});
