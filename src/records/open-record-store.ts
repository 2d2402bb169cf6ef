import { openStoreAt } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/sql-writes.ts";
import { ThreadCalls } from "#platform/threads/thread-calls.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { RecordStore } from "./store/record-store.ts";
import type { SqlConnection, SqlRow } from "./store/sql-connection.ts";
import type { RecordsRequest } from "./store/sqlite-worker.ts";

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

/**
 * The records in an SQLite file, read in a thread of their own. With `sharedWrite` they are written over the ledger's connection:
 * SQLite has one writer at a time, and a second connection would make the ledger wait and read its rows anew. Rejects when the
 * file cannot be opened.
 */
async function sqliteRecords(path: string, sharedWrite?: WriteTransaction): Promise<SqlConnection> {
  const worker = new Worker(new URL("./store/sqlite-worker.ts", import.meta.url), { name: "records" });
  const thread = new ThreadCalls<RecordsRequest>(worker);
  try {
    await thread.call({ call: "open", path, readOnly: sharedWrite !== undefined });
  } catch (error) {
    thread.terminate(closed);
    throw error;
  }
  return {
    kind: "sqlite",
    read: (sql, values = []) => thread.call<readonly SqlRow[]>({ call: "read", sql, values }),
    search: (search) => thread.call<readonly DecisionRecord[]>({ call: "search", search }),
    write: sharedWrite ?? ((writes) => thread.call({ call: "write", writes })),
    async close() {
      await thread.call({ call: "close" }).catch(() => {}); // A thread that died has closed it.
      thread.terminate(closed);
    },
  };
}

const closed = "the records are closed";
