import { databaseLocationOf } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import type { RoutingMemoryStore } from "./routing-memory-store.ts";
import { openSqliteRoutingMemory } from "./sqlite-store.ts";

/**
 * The store of routing memory that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. `sharedWrite` writes over the ledger's connection to the same SQLite file. Rejects when the URL is none of
 * these or the database cannot be reached.
 */
export async function openRoutingMemoryStore(
  databaseUrl: string,
  sharedWrite?: WriteTransaction,
): Promise<RoutingMemoryStore> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return openSqliteRoutingMemory(location.path, sharedWrite);
  // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
  const { openPostgresRoutingMemory } = await import("./postgres-store.ts");
  return openPostgresRoutingMemory(location.url);
}
