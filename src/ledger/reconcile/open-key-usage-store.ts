import { databaseLocationOf } from "#db/database-url.ts";
import type { KeyUsageStore } from "./key-usage-store.ts";
import { openPostgresKeyUsage } from "./postgres-key-usage.ts";
import { openSqliteKeyUsage } from "./sqlite-key-usage.ts";

/** The store of the aggregator's counts in a database. Rejects when the database cannot be reached. */
export async function openKeyUsageStore(databaseUrl: string): Promise<KeyUsageStore> {
  const location = databaseLocationOf(databaseUrl);
  return location.kind === "sqlite" ? openSqliteKeyUsage(location.path) : openPostgresKeyUsage(location.url);
}
