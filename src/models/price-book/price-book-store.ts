import { openStoreDatabase, type Statement, type StoreDatabase } from "#db/store-database.ts";
import type { BookEntry, PriceBook } from "./price-book.ts";

/**
 * Where the price book is kept, so that the last known prices outlive the process and are there for every node. A
 * database can hold the lists of several aggregators (`source` is the base URL). All forms pass
 * `price-book-store.contract.ts`.
 */
export type PriceBookStore = ReturnType<typeof priceBookStore>;

/** A price that no list has named for this long before the newest one is forgotten. */
export const entriesKeptMs = 90 * 86_400_000;

/** Of the JSON text of an entry. A release that writes another form counts it up; rows of other forms are left out. */
const form = 1;

function entryIn(text: string, atMs: number): BookEntry | undefined {
  try {
    const { form: written, ...entry } = JSON.parse(text);
    return written === form ? { ...entry, atMs } : undefined;
  } catch {
    return undefined;
  }
}

/** The store of the price book that a database URL names. Brings the schema up to date. Rejects when the database cannot be reached. */
export async function openPriceBookStore(databaseUrl: string): Promise<PriceBookStore> {
  return priceBookStore(await openStoreDatabase(databaseUrl));
}

/** The same over an open database, which it closes with itself. */
export function priceBookStore(database: StoreDatabase) {
  return {
    async load(source: string): Promise<PriceBook> {
      const sql = "SELECT upstream_id, entry, read_ms FROM price_book WHERE source = ?";
      const [rows = []] = await database.read([sql, source]);
      const book = new Map<string, BookEntry>();
      for (const row of rows) {
        const entry = entryIn(String(row["entry"]), Number(row["read_ms"]));
        if (entry !== undefined) book.set(String(row["upstream_id"]), entry);
      }
      return book;
    },
    /** Writes the entries that are newer than the stored ones, and deletes those that no list has named for `entriesKeptMs`. */
    async save(source: string, book: PriceBook): Promise<void> {
      if (book.size === 0) return;
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = [...book].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const newest = Math.max(...sorted.map(([, { atMs }]) => atMs));
      await database.write(
        ...sorted.map(
          ([id, { atMs, ...entry }]): Statement => [
            `INSERT INTO price_book (source, upstream_id, entry, read_ms) VALUES (?, ?, ?, ?)
             ON CONFLICT (source, upstream_id) DO UPDATE SET entry = excluded.entry, read_ms = excluded.read_ms
             WHERE price_book.read_ms <= excluded.read_ms`,
            ...[source, id, JSON.stringify({ form, ...entry }), Math.round(atMs)],
          ],
        ),
        ["DELETE FROM price_book WHERE source = ? AND read_ms < ?", source, Math.round(newest - entriesKeptMs)],
      );
    },
    close: () => database.close(),
  };
}
