import type { Model, Price, PriceBand, Rates } from "#domain/model.ts";
import { type Drift, idDriftsOf } from "#models/price-book/price-book.ts";
import type { Listing } from "#models/price-book/price-list.ts";
import { isWithinLimit, type ModelHost } from "./host-list.ts";

/** The differences between a model of the registry and its entry in the aggregator's list. */
export interface ModelDiff {
  readonly model: Model;
  readonly listing: Listing | undefined;
  /** Sorted by relative growth, largest increase first. */
  readonly changes: readonly RateChange[];
  readonly notices: readonly Drift[];
  readonly hosts: readonly HostRow[];
  /** Why the aggregator's data of the model are not complete; then nothing may be written. */
  readonly problem?: string;
}

/** A rate that differs in one band, in nano-USD per million tokens, or per request. Absent: not priced apart. */
export interface RateChange {
  readonly band: string;
  readonly rate: keyof Rates;
  readonly registry?: number;
  readonly listed?: number;
}

export interface HostRow extends ModelHost {
  /** Within the price limit that the registry's price is. */
  readonly within: boolean;
}

/** What was read of a model's hosts. */
export type HostsRead =
  | { readonly kind: "ok"; readonly hosts: readonly ModelHost[] }
  | { readonly kind: "failed"; readonly detail: string };

/** The differences of one model. `canonical`: the permanent id that its id last referred to. */
export function diffOf(
  model: Model,
  listing: Listing | undefined,
  hosts: HostsRead,
  canonical: string | undefined,
  nowMs: number,
): ModelDiff {
  const listed = listing?.price;
  const rows = hosts.kind === "ok" ? hosts.hosts : [];
  const problem = problemOf(model, listing, hosts);
  return {
    model,
    listing,
    changes: listed === undefined ? [] : changesBetween(model.price, listed),
    notices: model.enabled ? idDriftsOf(model, listing, canonical, nowMs) : [],
    hosts: rows.map((host) => ({
      ...host,
      within: host.price !== undefined && isWithinLimit(host.price, model.price),
    })),
    ...(problem === undefined ? {} : { problem }),
  };
}

function problemOf(model: Model, listing: Listing | undefined, hosts: HostsRead): string | undefined {
  // A disabled model needs no price.
  if (!model.enabled) return undefined;
  if (listing === undefined) return `the list does not name ${model.upstreamId}`;
  if (listing.price === undefined) {
    return model.free
      ? `the listed price of ${model.upstreamId} cannot be read`
      : `the listed price of ${model.upstreamId} cannot be read, or is nothing`;
  }
  if (hosts.kind === "failed") return `the hosts of ${model.upstreamId}: ${hosts.detail}`;
  if (hosts.hosts.length === 0) return `${model.upstreamId} has no host`;
  if (hosts.hosts.every(({ price }) => price === undefined)) {
    return `the prices of the hosts of ${model.upstreamId} cannot be read`;
  }
  return undefined;
}

/** Models with price increases first, then those with other changes, then those the aggregator does not know. */
export function increasesFirst(diffs: readonly ModelDiff[]): readonly ModelDiff[] {
  const rank = ({ changes, problem }: ModelDiff) =>
    changes.some(isIncrease) ? 0 : changes.length > 0 ? 1 : problem !== undefined ? 2 : 3;
  return diffs.toSorted((a, b) => rank(a) - rank(b));
}

/** The rates that differ, band by band, largest increase first. A band that only one side has is compared with the other's base. */
export function changesBetween(registry: Price, listed: Price): readonly RateChange[] {
  const [ours, theirs] = [bandsOf(registry), bandsOf(listed)];
  const changes: RateChange[] = [];
  for (const band of new Set([...ours.keys(), ...theirs.keys()])) {
    const [a, b] = [ours.get(band) ?? registry, theirs.get(band) ?? listed];
    for (const rate of rateNames) {
      const [before, after] = rate === "request" ? [a[rate] ?? 0, b[rate] ?? 0] : [a[rate], b[rate]];
      if (before === after) continue;
      changes.push({
        band,
        rate,
        ...(before === undefined ? {} : { registry: before }),
        ...(after === undefined ? {} : { listed: after }),
      });
    }
  }
  return changes.toSorted((a, b) => growthOf(b) - growthOf(a));
}

const rateNames = ["input", "output", "cachedInput", "cacheWrite", "request"] as const satisfies (keyof Rates)[];

export function isIncrease(change: RateChange): boolean {
  return growthOf(change) > 1;
}

/** The listed rate over the registry's; a rate that only the list names counts as infinite growth. */
export function growthOf({ registry, listed }: RateChange): number {
  if (listed === undefined) return 1;
  return registry === undefined || registry === 0 ? Number.POSITIVE_INFINITY : listed / registry;
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
