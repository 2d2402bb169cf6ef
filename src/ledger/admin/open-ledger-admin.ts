import { existsSync } from "node:fs";
import { databaseLocationOf, inMemoryPath } from "#db/database-url.ts";
import { openSqlite } from "#db/sqlite.ts";
import { openLargeStore, postgresDatabase, type StoreDatabase, sqliteDatabase } from "#db/store-database.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import { type LedgerAdmin, ledgerAdminOver } from "./ledger-admin.ts";

/** An audit of a large ledger takes a while. */
const answerLimitMs = 60_000;

/**
 * Opens the ledger of a database URL. Rejects when it cannot be reached or was written by a newer release. `threaded`: for a
 * process that serves requests meanwhile; an SQLite file is read in a thread of its own.
 */
export async function openLedgerAdmin(databaseUrl: string, threaded = false): Promise<LedgerAdmin> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  const { path } = location;
  if (path === inMemoryPath) {
    throw new Error("an in-memory database ends with its gateway: there is nothing to open");
  }
  if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
  const own = sqliteDatabase(openSqlite(path));
  if (!threaded) return overSqlite(own, path);
  const large = await openLargeStore(databaseUrl, (statements) => own.write(...statements));
  return overSqlite({ ...large, close: async () => void (await Promise.all([large.close(), own.close()])) }, path);
}

/** Its modules are loaded where they are used: a gateway on SQLite never needs them, and modules take memory. */
async function openPostgres(url: string): Promise<LedgerAdmin> {
  const { PostgresConnection } = await import("#db/postgres.ts");
  const { PostgresStore } = await import("#ledger/postgres/postgres-store.ts");
  const database = postgresDatabase(new PostgresConnection(url, answerLimitMs));
  await database.read(["SELECT id FROM account LIMIT 1"]).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  return ledgerAdminOver({
    database,
    // One snapshot for all checks: a balance taken while money moves would not balance.
    begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    now: "extract(epoch FROM now()) * 1000",
    newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.reservation_id = r.id
      ORDER BY CASE e.event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 ELSE 2 END DESC, e.at_ms DESC LIMIT 1)`,
    async commit(batch) {
      const store = await PostgresStore.open(url);
      try {
        return await store.commit(batch);
      } finally {
        await store.close();
      }
    },
  });
}

function overSqlite(database: StoreDatabase, path: string): LedgerAdmin {
  return ledgerAdminOver({
    database,
    begin: "BEGIN",
    now: "unixepoch('subsec') * 1000",
    // Of two entries in one batch the later one names that batch as the one before.
    newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.seq = r.last_entry AND e.reservation_id = r.id
      ORDER BY e.previous IS NOT e.seq LIMIT 1)`,
    // A connection of its own, under the write lock.
    async commit(batch) {
      const engine = new SqliteEngine(path);
      try {
        return engine.commit(batch, Date.now());
      } finally {
        engine.close();
      }
    },
  });
}
