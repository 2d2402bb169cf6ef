import { databaseLocationOf } from "#db/database-url.ts";
import type { HealthStore } from "./health-store.ts";
import { openSqliteHealthStore } from "./sqlite-store.ts";

/**
 * The health store that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the schema up to
 * date. Rejects when the URL is none of these, the store cannot be reached, or its schema is newer than this program.
 */
export async function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return openSqliteHealthStore(location.path);
  // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
  const { openPostgresHealthStore } = await import("./postgres-store.ts");
  return openPostgresHealthStore(location.url);
}
