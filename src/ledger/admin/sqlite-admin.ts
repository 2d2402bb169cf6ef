import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { openSqlite } from "#db/sqlite.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import type { Query } from "./audit.ts";
import { type LedgerAdmin, ledgerAdminOver } from "./ledger-admin.ts";
import { SqliteReader } from "./sqlite-reader.ts";

/** The same, for a process that must not wait: what it reads is read in a thread of its own. Rejects when there is no such file. */
export async function openThreadedSqliteAdmin(path: string): Promise<LedgerAdmin> {
  const reader = await SqliteReader.open(path);
  return openSqliteAdmin(path, reader);
}

/** The ledger in an SQLite file. Throws when there is no such file. */
export function openSqliteAdmin(path: string, reader?: SqliteReader): LedgerAdmin {
  if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
  return sqliteAdmin(openSqlite(path), path, reader);
}

/** The same for reading only: the schema is not brought up to date, and nothing is written. Undefined without such a file. */
export function openSqliteReader(path: string): LedgerAdmin | undefined {
  return existsSync(path) ? sqliteAdmin(new Database(path, { readonly: true, strict: true }), path) : undefined;
}

/** Of two entries in one batch the later one names that batch as the one before. */
const newestReason = `(SELECT e.reason FROM ledger_entry e WHERE e.seq = r.last_entry AND e.reservation_id = r.id
  ORDER BY e.previous IS NOT e.seq LIMIT 1)`;

function sqliteAdmin(db: Database, path: string, reader?: SqliteReader): LedgerAdmin {
  const query: Query = async (sql, parameters = []) =>
    db.query<Record<string, unknown>, (string | number | null)[]>(numbered(sql)).all(...parameters);
  return ledgerAdminOver({
    query,
    ...(reader === undefined ? {} : { read: (sql, parameters = []) => reader.read(numbered(sql), parameters) }),
    begin: "BEGIN",
    end: "COMMIT",
    now: async () => Date.now(),
    dialect: { newestReason },
    // A connection of its own under the write lock: a gateway sees that the file was changed and reads it again.
    async commit(batch) {
      const engine = new SqliteEngine(path);
      try {
        return engine.commit(batch, Date.now());
      } finally {
        engine.close();
      }
    },
    async close() {
      reader?.close();
      db.close();
    },
  });
}

/** SQLite writes numbered parameters with question marks. */
function numbered(sql: string): string {
  return sql.replace(/\$(?=\d)/g, "?");
}
