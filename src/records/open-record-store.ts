import { databaseLocationOf } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import { RecordStore } from "./store/record-store.ts";
import type { SqlConnection } from "./store/sql-connection.ts";
import { sqliteRecords } from "./store/sqlite-connection.ts";

/**
 * The store of decision records in the database that a URL names. `sharedWrite` writes over the ledger's connection to the same
 * SQLite file. Rejects when the database cannot be reached.
 */
export async function openRecordStore(databaseUrl: string, sharedWrite?: WriteTransaction): Promise<RecordStore> {
  const location = databaseLocationOf(databaseUrl);
  const sql = await (location.kind === "sqlite"
    ? sqliteRecords(location.path, sharedWrite)
    : openPostgres(location.url));
  try {
    return await RecordStore.open(sql);
  } catch (error) {
    await sql.close();
    throw error;
  }
}

/** Loaded where it is used: a gateway on SQLite never needs it, and modules take memory. */
async function openPostgres(url: string): Promise<SqlConnection> {
  const { postgresRecords } = await import("./store/postgres-connection.ts");
  return postgresRecords(url);
}
