import type { ModelRegistry, Price } from "#domain/model.ts";
import { type NanoUsd, nanoUsd, zeroUsd } from "#domain/money/money.ts";
import type { TimeSpan } from "#domain/money/prices.ts";
import { costOf, holdFor } from "#domain/money/tokens.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import type { UsageReport } from "#upstream/upstream.ts";

export interface Settlement {
  readonly actual: NanoUsd;
  readonly source: ActualSource;
}

/**
 * What an attempt is known to have cost: the upstream's own figure when it is one, else its token counts at our prices.
 * Undefined when neither is there; then the hold is charged, because unknown is never free. A cost of 0 is a value
 * (free models, credits); an absent one is not.
 *
 * Without a `price` (the caller's fields change what the call costs) only a stated cost is believed. `during` is when
 * the call was under way, for prices that depend on the hour.
 */
export function settlementOf(
  { costNanoUsd, usage }: UsageReport,
  price: Price | undefined,
  hold: NanoUsd,
  during?: TimeSpan,
): Settlement | undefined {
  if (costNanoUsd !== undefined) return { actual: nanoUsd(costNanoUsd), source: "upstream_cost" };
  if (price === undefined || usage === undefined) return undefined;
  // Counts of zero beside a hold that is not zero: some aggregators send an empty usage object when they have lost count.
  if (hold > 0 && usage.input === 0 && usage.output === 0) return undefined;
  return { actual: costOf(usage, price, during), source: "usage" };
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
