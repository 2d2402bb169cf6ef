import { openStoreAt } from "#db/database-url.ts";
import type { KeyUsageStore } from "./key-usage-store.ts";
import { openSqliteKeyUsage } from "./sqlite-key-usage.ts";

/** The store of the aggregator's counts in a database. Rejects when the database cannot be reached. */
export function openKeyUsageStore(databaseUrl: string): Promise<KeyUsageStore> {
  return openStoreAt(databaseUrl, {
    sqlite: openSqliteKeyUsage,
    postgres: async (url) => (await import("./postgres-key-usage.ts")).openPostgresKeyUsage(url),
  });
}
