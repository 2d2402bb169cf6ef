import type { ModelRegistry, Price } from "#domain/model.ts";
import { type NanoUsd, nanoUsd, zeroUsd } from "#domain/money/money.ts";
import type { TimeSpan } from "#domain/money/prices.ts";
import { costOf, holdFor, type TokenUsage } from "#domain/money/tokens.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import type { UsageReport } from "#upstream/upstream.ts";

export interface Settlement {
  readonly actual: NanoUsd;
  readonly source: ActualSource;
}

/**
 * What an attempt is known to have cost: the upstream's own figure when it is one, else its token counts at our prices.
 * Undefined when neither is usable; then the hold is charged, because unknown is never free.
 *
 * A cost of 0 is a value (free models, credits); an absent one is not. Both are believed as they are, also above the hold:
 * the ledger charges what is owed and records the overrun. A figure that is no amount at all (negative, not a number,
 * too large to hold) says that the report is broken, and then its token counts are not believed either.
 *
 * Without a `price` (the caller's fields change what the call costs) only a stated cost is believed. `during` is when the
 * call was under way, for prices that depend on the hour.
 */
export function settlementOf(
  report: UsageReport,
  price: Price | undefined,
  hold: NanoUsd,
  during?: TimeSpan,
): Settlement | undefined {
  if (report.costNanoUsd !== undefined) {
    const stated = Math.ceil(report.costNanoUsd);
    return isAmount(stated) ? { actual: nanoUsd(Math.max(stated, 0)), source: "upstream_cost" } : undefined;
  }
  if (price === undefined || report.usage === undefined || !isUsage(report.usage)) return undefined;
  // Counts of zero beside a hold that is not zero: some aggregators send an empty usage object when they have lost count.
  if (hold > 0 && report.usage.input === 0 && report.usage.output === 0) return undefined;
  const actual = costAtOurPrices(report.usage, price, during);
  return actual === undefined ? undefined : { actual, source: "usage" };
}

/** What is believed of a call whose price is not ours to know: another model has answered, or a free one has cost something. */
const mostWithoutPrice = nanoUsd(20_000_000_000);

/** The highest cost that is believed of a call of which the model can have written `most`. */
export function maxCredibleCost(hold: NanoUsd, most: NanoUsd, hasOtherPrice = false): NanoUsd {
  return nanoUsd(Math.max(hold, most, hasOtherPrice || hold === zeroUsd ? mostWithoutPrice : zeroUsd));
}

/** The most that any call of a registry can cost, where it is not known which model was asked. */
export function dearestCallOf({ models }: ModelRegistry): NanoUsd {
  const costs = [...models.values()].map(({ price, contextTokens, maxOutputTokens }) =>
    holdFor({ inputTokens: contextTokens, outputTokens: maxOutputTokens, choices: 1 }, price),
  );
  return nanoUsd(Math.max(zeroUsd, ...costs));
}

function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isUsage({ input, cachedInput, cacheWrite = 0, output, reasoning }: TokenUsage): boolean {
  return [input, cachedInput, cacheWrite, output, reasoning].every(isAmount);
}

function costAtOurPrices(usage: TokenUsage, price: Price, during: TimeSpan | undefined): NanoUsd | undefined {
  try {
    return costOf(usage, price, during);
  } catch {
    // More than an amount can hold (nine million dollars for one attempt): counts nobody can mean.
    return undefined;
  }
}
