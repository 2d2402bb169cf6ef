import { isObject, type Json } from "#domain/chat.ts";
import type { Model, Price, PriceBand, Rates } from "#domain/model.ts";
import { highestRates, rateNames } from "#domain/money/prices.ts";
import { type Drift, idDriftsOf } from "#models/price-book/price-book.ts";
import { type Listing, priceIn } from "#models/price-book/price-list.ts";

/** The differences between a model of the registry and its entry in the aggregator's list. */
export type ModelDiff = ReturnType<typeof diffOf>;

/** What was read of a model's hosts. */
export type HostsRead =
  | { readonly kind: "ok"; readonly hosts: NonNullable<ReturnType<typeof hostsIn>> }
  | { readonly kind: "failed"; readonly detail: string };

/** The hosts in an answer to `GET /models/{author}/{slug}/endpoints`; undefined when it is none. Never throws. */
export function hostsIn(answer: Json, { free, price: limit }: Pick<Model, "free" | "price">) {
  const data = isObject(answer) ? answer["data"] : undefined;
  const endpoints = isObject(data) ? data["endpoints"] : undefined;
  if (!Array.isArray(endpoints)) return undefined;
  return endpoints.filter(isObject).map((endpoint) => {
    const { provider_name, name, pricing, status } = endpoint;
    const price = priceIn(pricing, free);
    return {
      name: String(provider_name ?? name ?? "unnamed").slice(0, 100),
      /** Undefined where it cannot be read as a price. */
      price,
      within_price_limit: price !== undefined && isWithinLimit(price, limit),
      // 0 is in service; below it the aggregator has taken the host back, in steps.
      in_service: !(typeof status === "number" && status < 0),
      /** Over the last half hour. */
      uptime_percent: numberOrNull(endpoint["uptime_last_30m"]),
      context_tokens: numberOrNull(endpoint["context_length"]),
      max_output_tokens: numberOrNull(endpoint["max_completion_tokens"]),
    };
  });
}

function numberOrNull(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

/**
 * Whether a host stays within the limit that our price is sent as, for a prompt of any length and at any hour: the
 * aggregator applies it to input, output and the price of the request.
 */
function isWithinLimit(host: Price, limit: Price): boolean {
  const [theirs, ours] = [host, limit].map((price) => highestRates(price, Number.MAX_SAFE_INTEGER));
  if (theirs === undefined || ours === undefined) return false;
  return theirs.input <= ours.input && theirs.output <= ours.output && (theirs.request ?? 0) <= (ours.request ?? 0);
}

/** The differences of one model. `canonical`: the permanent id that its id last referred to. */
export function diffOf(
  model: Model,
  listing: Listing | undefined,
  hosts: HostsRead,
  canonical: string | undefined,
  nowMs: number,
) {
  return {
    model,
    listing,
    changes: listing?.price === undefined ? [] : changesBetween(model.price, listing.price),
    notices: model.enabled ? idDriftsOf(model, listing, canonical, nowMs) : ([] as Drift[]),
    hosts: hosts.kind === "ok" ? hosts.hosts : [],
    /** Why the aggregator's data of the model are not complete; then nothing may be written. A disabled model needs no price. */
    problem: model.enabled ? problemOf(model, listing, hosts) : undefined,
  };
}

function problemOf({ upstreamId, free }: Model, listing: Listing | undefined, hosts: HostsRead): string | undefined {
  if (listing === undefined) return `the list does not name ${upstreamId}`;
  if (listing.price === undefined)
    return `the listed price of ${upstreamId} cannot be read${free ? "" : ", or is nothing"}`;
  if (hosts.kind === "failed") return `the hosts of ${upstreamId}: ${hosts.detail}`;
  if (hosts.hosts.length === 0) return `${upstreamId} has no host`;
  const priced = hosts.hosts.some(({ price }) => price !== undefined);
  return priced ? undefined : `the prices of the hosts of ${upstreamId} cannot be read`;
}

/**
 * The rates that differ, band by band, in nano-USD per million tokens, or per request; undefined where one is not
 * priced apart. A band that only one side has is compared with the other's base.
 */
function changesBetween(ours: Price, theirs: Price) {
  const [ourBands, theirBands] = [bandsOf(ours), bandsOf(theirs)];
  return [...new Set([...ourBands.keys(), ...theirBands.keys()])].flatMap((band) => {
    const [a, b] = [ourBands.get(band) ?? ours, theirBands.get(band) ?? theirs];
    return rateNames.flatMap((rate) => {
      const [registry, listed] = rate === "request" ? [a[rate] ?? 0, b[rate] ?? 0] : [a[rate], b[rate]];
      if (registry === listed) return [];
      const increase = listed !== undefined && listed > (registry ?? 0);
      return [{ band, rate, registry, listed, increase, change: changeText(registry, listed) }];
    });
  });
}

function changeText(registry: number | undefined, listed: number | undefined): string {
  if (listed === undefined) return "not listed apart";
  if (registry === undefined || registry === 0) return "new";
  const percent = Math.round((listed / registry - 1) * 1_000) / 10;
  return listed > registry ? `higher, +${percent} %` : `lower, ${percent} %`;
}

/** The rates of each band by its name, whole: what a band does not name is the base's. */
function bandsOf(price: Price): ReadonlyMap<string, Rates> {
  const bands = new Map<string, Rates>([["base", price]]);
  for (const band of price.bands ?? []) {
    const name = bandName(band);
    bands.set(name, { ...(bands.get(name) ?? price), ...band.rates });
  }
  return bands;
}

/** `from 200001 tokens`, `16:30-00:30 UTC`, or both. */
function bandName({ fromInputTokens, window }: Pick<PriceBand, "fromInputTokens" | "window">): string {
  const parts = [
    ...(fromInputTokens === undefined ? [] : [`from ${fromInputTokens} tokens`]),
    ...(window === undefined ? [] : [`${timeOf(window.fromMinute)}-${timeOf(window.toMinute)} UTC`]),
  ];
  return parts.length === 0 ? "base" : parts.join(", ");
}

/** Minutes since midnight as `HH:MM`. */
export function timeOf(minute: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}
