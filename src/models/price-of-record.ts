import type { Price, PriceBand, Rates } from "#domain/model.ts";
import { type NanoUsd, type NanoUsdPerMTok, usdToNano, zeroUsd } from "#domain/money/money.ts";
import type { ModelRecord } from "./schema.ts";

type Prices = NonNullable<ModelRecord["prices"]>;
type Named = { readonly [R in "input" | "cached_input" | "cache_write" | "output" | "request"]?: number | undefined };

/** The price that a record's `prices` mean; without them (free models) everything is 0. */
export function priceOf(prices: ModelRecord["prices"]): Price {
  const { input = 0, output = 0, cached_input = input } = prices ?? {};
  return {
    ...partialPriceOf({ ...prices, cached_input }, prices?.cached_input === undefined),
    input: perMTok(input),
    cachedInput: perMTok(cached_input),
    output: perMTok(output),
  };
}

/** The rates and bands that are named. `followsInput`: a band that names an input price and no cached one means both. */
export function partialPriceOf(prices: Partial<Prices>, followsInput: boolean): Partial<Price> {
  const bands: PriceBand[] = [];
  for (const { from, to, ...rates } of prices.windows ?? []) {
    const window = { fromMinute: minuteOf(from), toMinute: minuteOf(to) };
    bands.push({ window, rates: ratesIn(rates, followsInput) });
  }
  const tiers = (prices.tiers ?? []).toSorted((a, b) => a.from_input_tokens - b.from_input_tokens);
  for (const { from_input_tokens, ...rates } of tiers) {
    bands.push({ fromInputTokens: from_input_tokens, rates: ratesIn(rates, followsInput) });
  }
  return {
    ...ratesIn(prices, false),
    ...(prices.tiers === undefined && prices.windows === undefined ? {} : { bands }),
  };
}

function ratesIn(named: Named, followsInput: boolean): Partial<Rates> {
  const cached = named.cached_input ?? (followsInput ? named.input : undefined);
  return {
    ...(named.input === undefined ? {} : { input: perMTok(named.input) }),
    ...(cached === undefined ? {} : { cachedInput: perMTok(cached) }),
    ...(named.cache_write === undefined ? {} : { cacheWrite: perMTok(named.cache_write) }),
    ...(named.output === undefined ? {} : { output: perMTok(named.output) }),
    ...(named.request === undefined ? {} : { request: roundedUpNano(named.request) }),
  };
}

/** `HH:MM`, as the schema has checked it. */
function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

function perMTok(usd: number): NanoUsdPerMTok {
  return Number(roundedUpNano(usd)) as NanoUsdPerMTok; // the same unit, per million tokens
}

/** Rounded up: a cost must not come out below the invoice. */
function roundedUpNano(usd: number): NanoUsd {
  const amount = usd === 0 ? zeroUsd : usdToNano(usd, "up");
  if (amount === undefined) throw new RangeError(`not a price in USD: ${usd}`); // the schema's bounds exclude it
  return amount;
}
