import { openStoreAt } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import type { OutcomeStore } from "./outcome-store.ts";
import { openSqliteOutcomes } from "./sqlite-store.ts";

/**
 * The store of outcome records that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. `sharedWrite` writes over the ledger's connection to the same SQLite file. Rejects when the URL is none of
 * these or the database cannot be reached.
 */
export function openOutcomeStore(databaseUrl: string, sharedWrite?: WriteTransaction): Promise<OutcomeStore> {
  return openStoreAt(databaseUrl, {
    sqlite: (path) => openSqliteOutcomes(path, sharedWrite),
    postgres: async (url) => (await import("./postgres-store.ts")).openPostgresOutcomes(url),
  });
}
