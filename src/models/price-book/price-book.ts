import { type Model, type ModelRegistry, modelRegistry, type Price } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { highestRates } from "#domain/money/prices.ts";
import type { Listing } from "./price-list.ts";

/** The last known prices of our models in an aggregator's list, by the aggregator's id of the model. */
export type PriceBook = ReadonlyMap<string, BookEntry>;

export interface BookEntry {
  readonly price: Price;
  /** When the list last named it, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The permanent id of the model that the id referred to then, where the list has one. */
  readonly canonical?: string;
}

export const emptyPriceBook: PriceBook = new Map();

/**
 * The registry with the book's prices: the one place where the two are combined. A price that the operator's own file
 * states wins; single fields that the file states of a shipped price replace those of the book. Models that the book
 * does not know keep their prices.
 */
export function withPriceBook(registry: ModelRegistry, book: PriceBook): ModelRegistry {
  const models = [...registry.models.values()].map((model) => priced(model, book.get(model.upstreamId)));
  return { ...modelRegistry(models), priceVersion: priceVersionOf(models) };
}

function priced(model: Model, entry: BookEntry | undefined): Model {
  if (entry === undefined || model.priceSource?.kind === "registry_file") return model;
  const price = { ...entry.price, ...model.statedPrice };
  return { ...model, price, priceSource: { kind: "price_book", atMs: entry.atMs } };
}

/** Names the prices of all models together: the same prices have the same version, on every node and after every start. */
function priceVersionOf(models: readonly Model[]): string {
  const prices = models.map(({ key, price }) => [key, sorted(price)] as const);
  const text = JSON.stringify(prices.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 12);
}

/** With the members of each object by their names, so that the order in which they were set does not count. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

/**
 * The rates that differ by more than half between two prices, in words: `input 0.14 → 0.28`. Undefined when none does.
 * Cached input counts only where both have a price of its own for it: lists leave it out more often than makers change
 * it.
 */
export function driftBetween(before: Price, after: Price): string | undefined {
  const [highestBefore, highestAfter] = [before, after].map((price) => highestRates(price, Number.MAX_SAFE_INTEGER));
  const ownCached = ({ input, cachedInput }: Price) => (cachedInput === input ? undefined : cachedInput);
  const pairs: (readonly [string, number | undefined, number | undefined])[] = [
    ["input", before.input, after.input],
    ["output", before.output, after.output],
    ["cached input", ownCached(before), ownCached(after)],
    ["cache write", before.cacheWrite, after.cacheWrite],
    ["request", before.request ?? 0, after.request ?? 0],
    ["highest input", highestBefore?.input, highestAfter?.input],
    ["highest output", highestBefore?.output, highestAfter?.output],
  ];
  // By more than half: above 1.5 times, or below two thirds.
  const drifts = pairs.flatMap(([name, a, b]) =>
    a === undefined || b === undefined || 2 * Math.max(a, b) <= 3 * Math.min(a, b)
      ? []
      : [`${name} ${formatUsd(a)} → ${formatUsd(b)}`],
  );
  return drifts.length === 0 ? undefined : drifts.join(", ");
}

/** A difference between the list and the registry that the operator should know of. */
export interface Drift {
  readonly model: string;
  /**
   * `list_changed`: the price changed by more than half since it was last known. `list_differs`: the operator's file
   * states it differently by as much. `not_listed`, `expires`, `repointed`: the id is gone, will be, or stands for
   * another model.
   */
  readonly reason: "list_changed" | "list_differs" | "not_listed" | "expires" | "repointed";
  readonly detail: string;
}

/**
 * The book after a list was read. Models that the list names get its price; all others keep their last known one. A
 * list that names none of our models changes nothing.
 */
export function updatedBook(
  book: PriceBook,
  listed: ReadonlyMap<string, Listing>,
  models: Iterable<Model>,
  atMs: number,
): { readonly book: PriceBook; readonly drifts: readonly Drift[] } {
  const updated = new Map(book);
  const drifts: Drift[] = [];
  for (const model of models) {
    const listing = listed.get(model.upstreamId);
    const known = book.get(model.upstreamId);
    if (model.enabled && listed.size > 0) drifts.push(...idDriftsOf(model, listing, known?.canonical, atMs));
    if (listing?.price === undefined) continue;
    const { price, canonical } = listing;
    const stated = model.priceSource?.kind === "registry_file";
    const detail = driftBetween(stated ? model.price : (known?.price ?? model.price), price);
    const reason = stated ? "list_differs" : "list_changed";
    if (detail !== undefined) drifts.push({ model: model.key, reason, detail });
    updated.set(model.upstreamId, { price, atMs, ...(canonical === undefined ? {} : { canonical }) });
  }
  return { book: updated, drifts };
}

/** How long before a model's end its expiry is reported. */
const expiryNoticeMs = 30 * 86_400_000;

/** Drifts of a model's id. `canonical`: the permanent id of the model that the id was last known to refer to. */
export function idDriftsOf(
  { key, upstreamId }: Pick<Model, "key" | "upstreamId">,
  listing: Listing | undefined,
  canonical: string | undefined,
  nowMs: number,
): Drift[] {
  if (listing === undefined)
    return [{ model: key, reason: "not_listed", detail: `the list does not name ${upstreamId}` }];
  const drifts: Drift[] = [];
  if (listing.expiresMs !== undefined && listing.expiresMs - nowMs < expiryNoticeMs) {
    const day = new Date(listing.expiresMs).toISOString().slice(0, 10);
    drifts.push({ model: key, reason: "expires", detail: `${upstreamId} may be removed from ${day} on` });
  }
  if (canonical !== undefined && listing.canonical !== undefined && listing.canonical !== canonical) {
    const detail = `${upstreamId} stands for ${listing.canonical} now, and stood for ${canonical}`;
    drifts.push({ model: key, reason: "repointed", detail });
  }
  return drifts;
}
