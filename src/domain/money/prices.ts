import type { Price, PriceBand, Rates, UtcWindow } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "./money.ts";

/** A span of time in milliseconds since the epoch, both ends included. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The highest of each rate that can apply to a call with at most so many prompt tokens: base, tiers up to the bound,
 * and every window whatever the time. Windows are not narrowed to the hours that the call can reach: that would make a
 * decision depend on the clock, and the bound on how far this clock and the aggregator's differ, to save a hold that is
 * released when the call ends.
 */
export function highestRates(price: Price, inputTokens: number): Rates {
  let rates: Rates = price;
  for (const band of price.bands ?? []) if (reaches(band, inputTokens)) rates = withHigherRates(rates, band.rates);
  return rates;
}

/**
 * The rates of a call with so many prompt tokens that was under way during a span of time. Of the tiers it has reached
 * the highest counts. Where more than one rate may have been in force (a window opened or closed meanwhile, a tier and
 * a window both apply, or the time is not known) the highest counts, so that the result is never below the invoice and
 * never above `highestRates`.
 */
export function ratesOf(price: Price, inputTokens: number, during?: TimeSpan): Rates {
  if (price.bands === undefined) return price;
  let tier: Rates = price;
  let tiered: Partial<Rates> = {};
  for (const { fromInputTokens, window, rates } of price.bands) {
    if (window !== undefined || inputTokens < (fromInputTokens ?? 0)) continue;
    tiered = { ...tiered, ...rates };
    tier = { ...tier, ...rates };
  }
  let within: Partial<Rates> = {};
  const wholeWindows: Partial<Rates>[] = [];
  for (const band of price.bands) {
    if (band.window === undefined || !reaches(band, inputTokens)) continue;
    const overlap = during === undefined ? "part" : overlapOf(band.window, during);
    if (overlap === "none") continue;
    within = higherRatesOf(within, band.rates);
    if (overlap === "whole") wholeWindows.push(band.rates);
  }
  // A window that covers the whole span replaces the base rates it names, not a tier's: there the higher rate counts.
  let rates: Rates = tier;
  for (const named of wholeWindows) rates = { ...rates, ...named };
  return withHigherRates(withHigherRates(rates, tiered), within);
}

/**
 * The price for a call that asks for prompt caching (`cache_control`). Where the price of cache writes is unknown,
 * twice the input price is taken: the most that providers charge (for a cache of one hour).
 */
export function priceWithCacheWrites(price: Price): Price {
  if (price.cacheWrite !== undefined) return price;
  const bands = price.bands?.map((band) =>
    band.rates.input === undefined || band.rates.cacheWrite !== undefined
      ? band
      : { ...band, rates: { ...band.rates, cacheWrite: doubled(band.rates.input) } },
  );
  return { ...price, cacheWrite: doubled(price.input), ...(bands && { bands }) };
}

function doubled(rate: NanoUsdPerMTok): NanoUsdPerMTok {
  return (2 * rate) as NanoUsdPerMTok; // the same unit; the schema's bound leaves room
}

function reaches({ fromInputTokens }: PriceBand, inputTokens: number): boolean {
  return inputTokens >= (fromInputTokens ?? 0);
}

function withHigherRates(a: Rates, b: Partial<Rates>): Rates {
  return { ...a, ...higherRatesOf(a, b) };
}

export const rateNames = ["input", "cachedInput", "cacheWrite", "output", "request"] as const;

function higherRatesOf(a: Partial<Rates>, b: Partial<Rates>): Partial<Rates> {
  const rates: Record<string, number> = {};
  for (const name of rateNames) {
    const highest = Math.max(a[name] ?? -1, b[name] ?? -1);
    if (highest >= 0) rates[name] = highest;
  }
  return rates as Partial<Rates>; // each value is one of the two given under its name
}

const dayMinutes = 1_440;
const minuteMs = 60_000;

/** How much of the span lies in the window, which comes back every day. */
function overlapOf({ fromMinute, toMinute }: UtcWindow, { fromMs, toMs }: TimeSpan): "none" | "part" | "whole" {
  const length = toMinute > fromMinute ? toMinute - fromMinute : toMinute - fromMinute + dayMinutes;
  if (length === dayMinutes) return "whole";
  // Times since the window last opened.
  const start = sinceOpened(fromMs, fromMinute);
  const end = start + Math.max(0, toMs - fromMs) / minuteMs;
  if (start < length) return end < length ? "whole" : "part";
  return end >= dayMinutes ? "part" : "none";
}

function sinceOpened(atMs: number, fromMinute: number): number {
  const minutes = (atMs / minuteMs - fromMinute) % dayMinutes;
  return minutes < 0 ? minutes + dayMinutes : minutes;
}
