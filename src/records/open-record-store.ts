import { openStoreAt } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import { RecordStore } from "./store/record-store.ts";
import type { SqlConnection } from "./store/sql-connection.ts";
import { sqliteRecords } from "./store/sqlite-connection.ts";

/**
 * The store of decision records in the database that a URL names. `sharedWrite` writes over the ledger's connection to the same
 * SQLite file. Rejects when the database cannot be reached.
 */
export async function openRecordStore(databaseUrl: string, sharedWrite?: WriteTransaction): Promise<RecordStore> {
  const sql = await openStoreAt<SqlConnection>(databaseUrl, {
    sqlite: (path) => sqliteRecords(path, sharedWrite),
    postgres: async (url) => (await import("./store/postgres-connection.ts")).postgresRecords(url),
  });
  try {
    return await RecordStore.open(sql);
  } catch (error) {
    await sql.close();
    throw error;
  }
}
