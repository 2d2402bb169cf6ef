import { openPostgresRoutingMemory } from "./postgres-store.ts";
import type { RoutingMemoryStore } from "./routing-memory-store.ts";
import { openSqliteRoutingMemory } from "./sqlite-store.ts";

/**
 * The store of routing memory that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the
 * schema up to date. Rejects when the URL is none of these or the database cannot be reached.
 */
export async function openRoutingMemoryStore(databaseUrl: string): Promise<RoutingMemoryStore> {
  if (databaseUrl.startsWith("sqlite:")) return openSqliteRoutingMemory(databaseUrl.slice("sqlite:".length));
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) return openPostgresRoutingMemory(databaseUrl);
  throw new Error("DATABASE_URL must begin with sqlite: or postgres://");
}
