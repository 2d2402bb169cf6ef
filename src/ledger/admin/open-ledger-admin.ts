import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { databaseLocationOf, inMemoryPath } from "#db/database-url.ts";
import { openSqlite } from "#db/sqlite.ts";
import { openThread } from "#db/store-database.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import type { Query } from "./audit.ts";
import { type LedgerAdmin, ledgerAdminOver } from "./ledger-admin.ts";

/** An audit of a large ledger takes a while. */
const answerLimitMs = 60_000;

/**
 * Opens the ledger of a database URL. Rejects when it cannot be reached or was written by a newer release. `threaded`: for a
 * process that serves requests meanwhile; what it reads from an SQLite file is read in a thread of its own.
 */
export async function openLedgerAdmin(databaseUrl: string, threaded = false): Promise<LedgerAdmin> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  const { path } = location;
  if (path === inMemoryPath) {
    throw new Error("an in-memory database ends with its gateway: there is nothing to open");
  }
  if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
  return overSqlite(openSqlite(path), path, threaded ? await openThread(path, "look") : undefined);
}

export type LedgerReader = Pick<LedgerAdmin, "holds" | "account" | "today" | "close">;

/** Opens it for reading only, as it is; undefined where there is none. Rejects when it cannot be reached. */
export async function openLedgerReader(databaseUrl: string): Promise<LedgerReader | undefined> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  const { path } = location;
  if (path === inMemoryPath || !existsSync(path)) return undefined;
  return overSqlite(new Database(path, { readonly: true, strict: true }), path);
}

/** Its modules are loaded where they are used: a gateway on SQLite never needs them, and modules take memory. */
async function openPostgres(url: string): Promise<LedgerAdmin> {
  const { statementWith, PostgresConnection } = await import("#db/postgres.ts");
  const { PostgresStore } = await import("#ledger/postgres/postgres-store.ts");
  const connection = new PostgresConnection(url, answerLimitMs);
  const query: Query = async (sql, parameters = []) => (await connection.run(statementWith(sql, parameters)))[0] ?? [];
  await query("SELECT id FROM account LIMIT 1").catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  return ledgerAdminOver({
    query,
    // One snapshot for all checks: a balance taken while money moves would not balance.
    begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    now: async () => Number((await query("SELECT extract(epoch FROM now()) * 1000 AS now_ms"))[0]?.["now_ms"]),
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
    close: () => connection.close(),
  });
}

type Reader = Awaited<ReturnType<typeof openThread>>;

function overSqlite(db: Database, path: string, reader?: Reader): LedgerAdmin {
  const query: Query = async (sql, parameters = []) =>
    db.query<Record<string, unknown>, (string | number | null)[]>(sql).all(...parameters);
  return ledgerAdminOver({
    query,
    ...(reader && {
      async read(sql, values = []) {
        const [rows = []] = await reader.call<Awaited<ReturnType<Query>>[]>({
          call: "read",
          statements: [[sql, ...values]],
        });
        return rows;
      },
    }),
    begin: "BEGIN",
    now: async () => Date.now(),
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
    async close() {
      reader?.terminate("the ledger is closed");
      db.close();
    },
  });
}
