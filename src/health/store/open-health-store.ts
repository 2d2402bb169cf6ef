import { openStoreAt } from "#db/database-url.ts";
import type { HealthStore } from "./health-store.ts";
import { openSqliteHealthStore } from "./sqlite-store.ts";

/**
 * The health store that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the schema up to
 * date. Rejects when the URL is none of these, the store cannot be reached, or its schema is newer than this program.
 */
export function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  return openStoreAt(databaseUrl, {
    sqlite: openSqliteHealthStore,
    postgres: async (url) => (await import("./postgres-store.ts")).openPostgresHealthStore(url),
  });
}
