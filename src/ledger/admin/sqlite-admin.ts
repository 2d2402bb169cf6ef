import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { openSqlite } from "#db/sqlite.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import type { Query } from "./audit.ts";
import { type LedgerAdmin, ledgerAdminOver } from "./ledger-admin.ts";

/** The ledger in an SQLite file. Throws when there is no such file. */
export function openSqliteAdmin(path: string): LedgerAdmin {
  if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
  return sqliteAdmin(openSqlite(path), path);
}

/** The same for reading only: the schema is not brought up to date, and nothing is written. Undefined without such a file. */
export function openSqliteReader(path: string): LedgerAdmin | undefined {
  return existsSync(path) ? sqliteAdmin(new Database(path, { readonly: true, strict: true }), path) : undefined;
}

function sqliteAdmin(db: Database, path: string): LedgerAdmin {
  const query: Query = async (sql, parameters = []) =>
    db.query<Record<string, unknown>, (string | number | null)[]>(sql.replace(/\$(?=\d)/g, "?")).all(...parameters);
  return ledgerAdminOver({
    query,
    begin: "BEGIN",
    end: "COMMIT",
    now: async () => Date.now(),
    dialect: { newestReason: "(SELECT e.reason FROM ledger_entry e WHERE e.seq = r.last_entry)" },
    // A connection of its own under the write lock: a gateway sees that the file was changed and reads it again.
    async commit(batch) {
      const engine = new SqliteEngine(path);
      try {
        return engine.commit(batch, Date.now());
      } finally {
        engine.close();
      }
    },
    close: async () => db.close(),
  });
}
