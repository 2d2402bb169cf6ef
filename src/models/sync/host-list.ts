import { isObject, type Json } from "#domain/chat.ts";
import type { Price } from "#domain/model.ts";
import { highestRates } from "#domain/money/prices.ts";
import { priceIn, tokenCountIn } from "#models/price-book/price-list.ts";

/** One host of a model, as the aggregator lists it. */
export interface ModelHost {
  readonly name: string;
  /** Undefined where it cannot be read as a price. */
  readonly price: Price | undefined;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
  /** In percent, over the last half hour. */
  readonly uptime?: number;
  /** The aggregator sends it no traffic now. */
  readonly down: boolean;
}

/** The hosts in an answer to `GET /models/{author}/{slug}/endpoints`; undefined when it is none. Never throws. */
export function hostsIn(answer: Json, free: boolean): readonly ModelHost[] | undefined {
  const data = isObject(answer) ? answer["data"] : undefined;
  const endpoints = isObject(data) ? data["endpoints"] : undefined;
  if (!Array.isArray(endpoints)) return undefined;
  return endpoints.flatMap((endpoint) => {
    if (!isObject(endpoint)) return [];
    const { provider_name, name, pricing, status, uptime_last_30m: uptime } = endpoint;
    const contextTokens = tokenCountIn(endpoint["context_length"]);
    const maxOutputTokens = tokenCountIn(endpoint["max_completion_tokens"]);
    return [
      {
        name: String(provider_name ?? name ?? "unnamed").slice(0, 100),
        price: priceIn(pricing, free),
        ...(contextTokens === undefined ? {} : { contextTokens }),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(typeof uptime === "number" ? { uptime } : {}),
        // 0 is in service; below it the aggregator has taken the host back, in steps.
        down: typeof status === "number" && status < 0,
      },
    ];
  });
}

/**
 * Whether a host stays within the limit that our price is sent as, for a prompt of any length and at any hour: the aggregator
 * applies it to input, output and the price of the request.
 */
export function isWithinLimit(host: Price, limit: Price): boolean {
  const [theirs, ours] = [host, limit].map((price) => highestRates(price, Number.MAX_SAFE_INTEGER));
  if (theirs === undefined || ours === undefined) return false;
  return theirs.input <= ours.input && theirs.output <= ours.output && (theirs.request ?? 0) <= (ours.request ?? 0);
}
