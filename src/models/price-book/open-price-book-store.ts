import { databaseLocationOf } from "#db/database-url.ts";
import type { PriceBookStore } from "./price-book-store.ts";
import { openSqlitePriceBook } from "./sqlite-store.ts";

/**
 * The store of the price book that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. Rejects when the URL is none of these or the database cannot be reached.
 */
export async function openPriceBookStore(databaseUrl: string): Promise<PriceBookStore> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return openSqlitePriceBook(location.path);
  // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
  const { openPostgresPriceBook } = await import("./postgres-store.ts");
  return openPostgresPriceBook(location.url);
}
