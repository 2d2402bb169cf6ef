import type { Price, PriceBand, Rates, UtcWindow } from "#domain/model.ts";
import { type NanoUsd, type NanoUsdPerMTok, usdToNano, zeroUsd } from "#domain/money.ts";
import type { ModelRecord } from "./schema.ts";

type Prices = NonNullable<ModelRecord["prices"]>;
type Tier = NonNullable<Prices["tiers"]>[number];
type Window = NonNullable<Prices["windows"]>[number];

/** The price that a record's `prices` mean; without them (free models) everything is 0. */
export function priceOf(prices: ModelRecord["prices"]): Price {
  const { input = 0, output = 0, cached_input = input } = prices ?? {};
  const bands: PriceBand[] = [];
  // A band that names an input price and no cached one means both, unless the base has a cached price of its own.
  const followsInput = prices?.cached_input === undefined;
  for (const { from_input_tokens, ...rates } of (prices?.tiers ?? []).toSorted(byStart)) {
    bands.push({ fromInputTokens: from_input_tokens, rates: ratesIn(rates, followsInput) });
  }
  for (const { from, to, ...rates } of prices?.windows ?? []) {
    bands.push({ window: windowOf(from, to), rates: ratesIn(rates, followsInput) });
  }
  return {
    ...ratesIn({ ...prices, cached_input }, false),
    input: perMTok(input),
    cachedInput: perMTok(cached_input),
    output: perMTok(output),
    ...(bands.length === 0 ? {} : { bands }),
  };
}

function byStart(a: Tier, b: Tier): number {
  return a.from_input_tokens - b.from_input_tokens;
}

function ratesIn(
  named: Pick<Tier | Window, "input" | "cached_input" | "cache_write" | "output" | "request">,
  followsInput: boolean,
): Partial<Rates> {
  const cached = named.cached_input ?? (followsInput ? named.input : undefined);
  return {
    ...(named.input === undefined ? {} : { input: perMTok(named.input) }),
    ...(cached === undefined ? {} : { cachedInput: perMTok(cached) }),
    ...(named.cache_write === undefined ? {} : { cacheWrite: perMTok(named.cache_write) }),
    ...(named.output === undefined ? {} : { output: perMTok(named.output) }),
    ...(named.request === undefined ? {} : { request: nanoUp(named.request) }),
  };
}

/** `from` and `to` as the schema has checked them: `HH:MM`. */
function windowOf(from: string, to: string): UtcWindow {
  return { fromMinute: minuteOf(from), toMinute: minuteOf(to) };
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

function perMTok(usd: number): NanoUsdPerMTok {
  return Number(nanoUp(usd)) as NanoUsdPerMTok; // the same unit, per million tokens
}

/** Rounded up: a cost must not come out below the invoice. */
function nanoUp(usd: number): NanoUsd {
  const amount = usd === 0 ? zeroUsd : usdToNano(usd, "up");
  if (amount === undefined) throw new RangeError(`not a price in USD: ${usd}`); // the schema's bounds exclude it
  return amount;
}
