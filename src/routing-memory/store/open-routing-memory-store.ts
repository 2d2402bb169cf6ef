import { openStoreAt } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import type { RoutingMemoryStore } from "./routing-memory-store.ts";
import { openSqliteRoutingMemory } from "./sqlite-store.ts";

/**
 * The store of routing memory that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. `sharedWrite` writes over the ledger's connection to the same SQLite file. Rejects when the URL is none of
 * these or the database cannot be reached.
 */
export function openRoutingMemoryStore(
  databaseUrl: string,
  sharedWrite?: WriteTransaction,
): Promise<RoutingMemoryStore> {
  return openStoreAt(databaseUrl, {
    sqlite: (path) => openSqliteRoutingMemory(path, sharedWrite),
    postgres: async (url) => (await import("./postgres-store.ts")).openPostgresRoutingMemory(url),
  });
}
