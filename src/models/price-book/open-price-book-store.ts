import { openStoreAt } from "#db/database-url.ts";
import type { PriceBookStore } from "./price-book-store.ts";
import { openSqlitePriceBook } from "./sqlite-store.ts";

/**
 * The store of the price book that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. Rejects when the URL is none of these or the database cannot be reached.
 */
export function openPriceBookStore(databaseUrl: string): Promise<PriceBookStore> {
  return openStoreAt(databaseUrl, {
    sqlite: openSqlitePriceBook,
    postgres: async (url) => (await import("./postgres-store.ts")).openPostgresPriceBook(url),
  });
}
