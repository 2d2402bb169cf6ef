import { existsSync } from "node:fs";
import { databaseLocationOf, inMemoryPath } from "#db/database-url.ts";
import { openSqlite } from "#db/sqlite.ts";
import { openLargeStore, postgresDatabase, type StoreDatabase, sqliteDatabase } from "#db/store-database.ts";
import type { Caps } from "#domain/money/money.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { emptyAccount, readAccount } from "#ledger/rules/accounts.ts";
import type { BatchReply, LedgerBatch, LedgerNotice } from "#ledger/rules/operations.ts";
import type { AccountRow } from "#ledger/rules/rows.ts";
import { accountColumns } from "#ledger/shared-sql.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import { asStoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { type AuditReport, audit, type Query } from "./audit.ts";
import { type HoldFilter, readHolds } from "./holds.ts";

/** The ledger as operators use it: beside running gateways, without being one of them. */
export type LedgerAdmin = Awaited<ReturnType<typeof openLedgerAdmin>>;

/** An audit of a large ledger takes a while. */
const answerLimitMs = 60_000;
/** Operations in one transaction of an operator: a gateway must not wait long for it. */
const maxOperatorBatch = 128;

/**
 * `begin`: a transaction that reads one state of all tables, as a balance taken while money moves would not balance.
 * `now`: the store's clock, in milliseconds since the epoch. `newestReason`: of the newest entry of reservation `r`.
 */
const dialects = {
  sqlite: {
    begin: "BEGIN",
    now: "unixepoch('subsec') * 1000",
    // Of two entries in one batch the later one names that batch as the one before.
    newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.seq = r.last_entry AND e.reservation_id = r.id
      ORDER BY e.previous IS NOT e.seq LIMIT 1)`,
  },
  postgres: {
    begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    now: "extract(epoch FROM now()) * 1000",
    newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.reservation_id = r.id
      ORDER BY CASE e.event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 ELSE 2 END DESC, e.at_ms DESC LIMIT 1)`,
  },
} as const;

/**
 * Opens the ledger of a database URL. Rejects when it cannot be reached or was written by a newer release. `threaded`:
 * for a process that serves requests meanwhile; an SQLite file is read in a thread of its own.
 */
export async function openLedgerAdmin(databaseUrl: string, threaded = false) {
  const { database, commit } = await openStore(databaseUrl, threaded);
  const { begin, now: nowSql, newestReason } = dialects[database.kind];
  const query: Query = async (sql, parameters = []) => (await database.read([sql, ...parameters]))[0] ?? [];
  const now = async () => Number((await query(`SELECT ${nowSql} AS now_ms`))[0]?.["now_ms"]);
  return {
    /** An operator's own hard cap for an account; null removes it, and the policy's cap counts. Running gateways obey it at once. */
    async setCap(account: string, cap: number | null): Promise<void> {
      await database.write([
        "INSERT INTO account (id, own_hard) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET own_hard = excluded.own_hard",
        account,
        cap,
      ]);
    },
    close: (): Promise<void> => database.close(),
    /** Money that is held now (and what was charged without proof), with totals of all that the filter lets through. */
    holds: async (filter: HoldFilter) => readHolds(query, newestReason, filter, await now()),
    /**
     * Closes reservations in an operator's name, by the same rules and under the same locks as a gateway; at most 128
     * in one call. What was closed meanwhile is left as it is. Running gateways see the change at once.
     */
    async resolve(operator: string, resolutions: readonly Resolution[]): Promise<readonly LedgerNotice[]> {
      if (resolutions.length > maxOperatorBatch) throw new RangeError(`at most ${maxOperatorBatch} at once`);
      const batch: LedgerBatch = { node: { id: `operator/${operator}`, epoch: 0 }, operations: resolutions };
      for (let attempt = 1; ; attempt++) {
        try {
          return (await commit(batch)).notices;
        } catch (error) {
          // A busy store, or a lost reply: the same batch again changes nothing twice.
          if (attempt === 5 || asStoreFailure(error).kind !== "transient") throw error;
        }
      }
    },
    today: async (): Promise<UtcDay> => utcDayOf(await now()),
    async audit(): Promise<AuditReport> {
      await query(begin);
      try {
        return await audit(query, await now());
      } finally {
        await query("COMMIT");
      }
    },
    /** These accounts; one that nothing was ever spent or held in is empty. */
    async named(ids: readonly string[]): Promise<readonly AccountRow[]> {
      const among = ids.map(() => "?").join(", ") || "NULL";
      const rows = await query(`SELECT ${accountColumns} FROM account_total WHERE id IN (${among})`, ids);
      const found = new Map(rows.map((row) => [String(row["id"]), readAccount(row)]));
      return ids.map((id) => found.get(id) ?? emptyAccount(id));
    },
    /** Every account with its caps, newest days and largest spenders first; at most `limit`, `more` says how many are left out. */
    async accounts(limit: number): Promise<{ readonly accounts: readonly AccountRow[]; readonly more: number }> {
      const rows = await query(
        `SELECT ${accountColumns} FROM account_total
         ORDER BY CASE WHEN id LIKE 'day/%' THEN 0 ELSE 1 END, CASE WHEN id LIKE 'day/%' THEN id END DESC,
           spent + held DESC, id LIMIT ?`,
        [Math.floor(limit) + 1],
      );
      const total = Number((await query("SELECT count(*) AS count FROM account"))[0]?.["count"]);
      const accounts = rows.slice(0, limit).map(readAccount);
      return { accounts, more: Math.max(0, total - accounts.length) };
    },
  };
}

interface AdminStore {
  readonly database: StoreDatabase;
  readonly commit: (batch: LedgerBatch) => Promise<BatchReply>;
}

async function openStore(databaseUrl: string, threaded: boolean): Promise<AdminStore> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  const { path } = location;
  if (path === inMemoryPath) {
    throw new Error("an in-memory database ends with its gateway: there is nothing to open");
  }
  if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
  // A connection of its own, under the write lock.
  const commit = async (batch: LedgerBatch) => {
    const engine = new SqliteEngine(path);
    try {
      return engine.commit(batch, Date.now());
    } finally {
      engine.close();
    }
  };
  const own = sqliteDatabase(openSqlite(path));
  if (!threaded) return { database: own, commit };
  const large = await openLargeStore(databaseUrl, (statements) => own.write(...statements));
  const close = async () => void (await Promise.all([large.close(), own.close()]));
  return { database: { ...large, close }, commit };
}

/** Its modules are loaded where they are used: a gateway on SQLite never needs them, and modules take memory. */
async function openPostgres(url: string): Promise<AdminStore> {
  const { PostgresConnection } = await import("#db/postgres.ts");
  const { PostgresStore } = await import("#ledger/postgres/postgres-store.ts");
  const database = postgresDatabase(new PostgresConnection(url, answerLimitMs));
  await database.read(["SELECT id FROM account LIMIT 1"]).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const commit = async (batch: LedgerBatch) => {
    const store = await PostgresStore.open(url);
    try {
      return await store.commit(batch);
    } finally {
      await store.close();
    }
  };
  return { database, commit };
}

/**
 * The hard cap that an account is held to: an operator's own, else the policy's as given, in nano-USD. An account of a
 * day that is over keeps the one that it ended with; null where none is known.
 */
export function hardCapOf({ id, hard, ownHard }: AccountRow, caps: Caps, today: string): number | null {
  if (ownHard !== null) return ownHard;
  // The cap of a key stands in the file of keys, which only the gateway has: the one of its last request.
  if (isOfPastDay(id, today) || id.startsWith("key/")) return hard;
  return id.startsWith("day/") ? caps.dayHard : caps.goalHard;
}

/** Days before today, and what requests without a goal, or with a capped key, spent on them. */
export function isOfPastDay(id: string, today: string): boolean {
  const day = /^(?:day|goal\/adhoc|key\/.+)\/(\d{4}-\d{2}-\d{2})$/.exec(id)?.[1];
  return day !== undefined && day < today;
}
