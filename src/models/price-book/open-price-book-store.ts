import { databaseLocationOf } from "#db/database-url.ts";
import { openPostgresPriceBook } from "./postgres-store.ts";
import type { PriceBookStore } from "./price-book-store.ts";
import { openSqlitePriceBook } from "./sqlite-store.ts";

/**
 * The store of the price book that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. Rejects when the URL is none of these or the database cannot be reached.
 */
export async function openPriceBookStore(databaseUrl: string): Promise<PriceBookStore> {
  const location = databaseLocationOf(databaseUrl);
  return location.kind === "sqlite" ? openSqlitePriceBook(location.path) : openPostgresPriceBook(location.url);
}
