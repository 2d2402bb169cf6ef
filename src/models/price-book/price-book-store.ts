import { z } from "zod";
import { openStoreDatabase, type Statement, type StoreDatabase } from "#db/store-database.ts";
import type { Price } from "#domain/model.ts";
import type { BookEntry, PriceBook } from "./price-book.ts";

/**
 * Where the price book is kept, so that the last known prices outlive the process and are there for every node. A database
 * can hold the lists of several aggregators (`source` is the base URL). All forms pass `price-book-store.contract.ts`.
 */
export interface PriceBookStore {
  /** Rows that another release wrote and this one cannot read are left out. */
  load(source: string): Promise<PriceBook>;
  /** Writes the entries that are newer than the stored ones, and deletes those that no list has named for `entriesKeptMs`. */
  save(source: string, book: PriceBook): Promise<void>;
  close(): Promise<void>;
}

/** A price that no list has named for this long before the newest one is forgotten. */
export const entriesKeptMs = 90 * 86_400_000;

const rate = z.int().min(0);
const rates = {
  input: rate,
  cachedInput: rate,
  cacheWrite: rate.optional(),
  output: rate,
  request: rate.optional(),
};
const minute = z.int().min(0).max(1_439);
const KeptPrice = z.strictObject({
  ...rates,
  bands: z
    .array(
      z.strictObject({
        fromInputTokens: rate.optional(),
        window: z.strictObject({ fromMinute: minute, toMinute: minute }).optional(),
        rates: z.strictObject(rates).partial(),
      }),
    )
    .optional(),
});
const KeptEntry = z.strictObject({
  price: KeptPrice,
  changed: z.strictObject({ from: KeptPrice, atMs: z.number() }).optional(),
  canonical: z.string().optional(),
});

/** The stored JSON text of an entry, apart from its id and time. */
function entryText({ price, changed, canonical }: BookEntry): string {
  return JSON.stringify({ price, changed, canonical });
}

/** The entry of a row; undefined when its text is not what this release writes. */
function readEntry(text: string, atMs: number): BookEntry | undefined {
  try {
    const { price, changed, canonical } = KeptEntry.parse(JSON.parse(text));
    return {
      price: asPrice(price),
      atMs,
      ...(changed === undefined ? {} : { changed: { from: asPrice(changed.from), atMs: changed.atMs } }),
      ...(canonical === undefined ? {} : { canonical }),
    };
  } catch {
    // Written by another release, or by hand: the next list replaces it.
    return undefined;
  }
}

/** Absent fields are absent in JSON text, never undefined; the units are those of `entryText`. */
function asPrice(kept: z.infer<typeof KeptPrice>): Price {
  return kept as unknown as Price;
}

/** The store of the price book that a database URL names. Brings the schema up to date. Rejects when the database cannot be reached. */
export async function openPriceBookStore(databaseUrl: string): Promise<PriceBookStore> {
  return priceBookStore(await openStoreDatabase(databaseUrl));
}

/** The same over an open database, which it closes with itself. */
export function priceBookStore(database: StoreDatabase): PriceBookStore {
  return {
    async load(source) {
      const [rows = []] = await database.read([
        "SELECT upstream_id, entry, read_ms FROM price_book WHERE source = ?",
        source,
      ]);
      const entries = rows.map((row) => {
        return [String(row["upstream_id"]), readEntry(String(row["entry"]), Number(row["read_ms"]))] as const;
      });
      return new Map(entries.filter((pair): pair is readonly [string, BookEntry] => pair[1] !== undefined));
    },
    async save(source, book) {
      if (book.size === 0) return;
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = [...book].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const newest = Math.max(...sorted.map(([, { atMs }]) => atMs));
      await database.write(
        ...sorted.map(
          ([id, entry]): Statement => [
            `INSERT INTO price_book (source, upstream_id, entry, read_ms) VALUES (?, ?, ?, ?)
             ON CONFLICT (source, upstream_id) DO UPDATE SET entry = excluded.entry, read_ms = excluded.read_ms
             WHERE price_book.read_ms <= excluded.read_ms`,
            source,
            id,
            entryText(entry),
            Math.round(entry.atMs),
          ],
        ),
        ["DELETE FROM price_book WHERE source = ? AND read_ms < ?", source, Math.round(newest - entriesKeptMs)],
      );
    },
    close: () => database.close(),
  };
}
