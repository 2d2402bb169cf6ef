import { databaseLocationOf } from "#db/database-url.ts";
import type { KeyUsageStore } from "./key-usage-store.ts";
import { openSqliteKeyUsage } from "./sqlite-key-usage.ts";

/** The store of the aggregator's counts in a database. Rejects when the database cannot be reached. */
export async function openKeyUsageStore(databaseUrl: string): Promise<KeyUsageStore> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return openSqliteKeyUsage(location.path);
  // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
  const { openPostgresKeyUsage } = await import("./postgres-key-usage.ts");
  return openPostgresKeyUsage(location.url);
}
