import type { Price, PriceBand, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { timeOf } from "#models/sync/registry-diff.ts";

/** A price as `--json` shows it: USD per million tokens, or per request, as text, so that nothing is rounded. */
export function priceRecord(price: Price) {
  return {
    ...ratesOf(price),
    ...(price.bands === undefined ? {} : { bands: price.bands.map(bandOf) }),
  };
}

function ratesOf({ input, cachedInput, cacheWrite, output, request }: Partial<Rates>) {
  return {
    ...(input === undefined ? {} : { input: formatUsd(input) }),
    ...(cachedInput === undefined ? {} : { cached_input: formatUsd(cachedInput) }),
    ...(cacheWrite === undefined ? {} : { cache_write: formatUsd(cacheWrite) }),
    ...(output === undefined ? {} : { output: formatUsd(output) }),
    ...(request === undefined ? {} : { request: formatUsd(request) }),
  };
}

function bandOf({ fromInputTokens, window, rates }: PriceBand) {
  return {
    ...(fromInputTokens === undefined ? {} : { from_input_tokens: fromInputTokens }),
    ...(window === undefined ? {} : { from: timeOf(window.fromMinute), to: timeOf(window.toMinute) }),
    ...ratesOf(rates),
  };
}
