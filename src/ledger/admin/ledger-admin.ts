import { existsSync } from "node:fs";
import { PostgresConnection, textLiteral } from "#db/postgres.ts";
import { openSqlite } from "#db/sqlite.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import type { BatchReply, LedgerBatch, LedgerNotice } from "#ledger/rules/operations.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import { asStoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { type AuditReport, audit, type Query } from "./audit.ts";
import { type HoldDialect, type HoldFilter, type HoldTotal, type LedgerHold, readHolds } from "./holds.ts";

/** The books as operators see them: beside running gateways, without being one. */
export interface LedgerAdmin {
  /** Every account with its caps, newest days and largest spenders first; at most `limit`, `more` says how many are left out. */
  accounts(limit: number): Promise<{ readonly accounts: readonly LedgerAccount[]; readonly more: number }>;
  audit(): Promise<AuditReport>;
  /** An operator's own hard cap for an account; null gives it back to the policy. Running gateways obey it at once. */
  setCap(account: string, hardNanoUsd: number | null): Promise<void>;
  /** Money that is held now (and what was charged without proof), with totals of all that the filter lets through. */
  holds(filter: HoldFilter): Promise<{ readonly holds: readonly LedgerHold[]; readonly totals: readonly HoldTotal[] }>;
  /**
   * Closes reservations in an operator's name, by the same rules and under the same locks as a gateway; at most 128 in one
   * call. What has been closed meanwhile is left as it is. Running gateways count with it at once.
   */
  resolve(operator: string, resolutions: readonly Resolution[]): Promise<readonly LedgerNotice[]>;
  today(): Promise<UtcDay>;
  close(): Promise<void>;
}

export interface LedgerAccount {
  readonly id: string;
  readonly spent: number;
  readonly held: number;
  readonly overrun: number;
  /** The hard cap that the last admission was measured against; null before the first. */
  readonly hard: number | null;
  readonly ownHard: number | null;
}

/** Opens the books of a database URL. Rejects when they cannot be reached or belong to a newer release. */
export async function openLedgerAdmin(databaseUrl: string): Promise<LedgerAdmin> {
  if (databaseUrl === "sqlite::memory:")
    throw new Error("an in-memory database ends with its gateway: there is nothing to open");
  if (databaseUrl.startsWith("sqlite:")) {
    const path = databaseUrl.slice("sqlite:".length);
    if (!existsSync(path)) throw new Error(`there is no database ${path}: no gateway has kept its ledger there yet`);
    const db = openSqlite(path);
    const query: Query = async (sql) => db.query<Record<string, unknown>, []>(sql).all();
    return ledgerAdminOver({
      query,
      begin: "BEGIN",
      end: "COMMIT",
      now: async () => Date.now(),
      dialect: {
        newestReason: "(SELECT e.reason FROM ledger_entry e WHERE e.seq = r.last_entry)",
        text: (value) => `'${value.replaceAll("'", "''")}'`,
      },
      async setCap(account, cap) {
        db.run(
          "INSERT INTO account (id, own_hard) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET own_hard = excluded.own_hard",
          [account, cap],
        );
      },
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
  const connection = new PostgresConnection(databaseUrl, 60_000);
  const query: Query = async (sql) => (await connection.run(sql))[0] ?? [];
  await query("SELECT id FROM account LIMIT 1").catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  const now = async () => Number((await query("SELECT extract(epoch FROM now()) * 1000 AS now_ms"))[0]?.["now_ms"]);
  return ledgerAdminOver({
    query,
    // One snapshot for all checks: a balance taken while money moves would not balance.
    begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    end: "COMMIT",
    now,
    dialect: {
      newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.reservation_id = r.id
          ORDER BY CASE e.event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 ELSE 2 END DESC, e.at_ms DESC LIMIT 1)`,
      text: textLiteral,
    },
    async setCap(account, cap) {
      await query(
        `INSERT INTO account (id, own_hard) VALUES (${textLiteral(account)}, ${cap ?? "NULL"})
         ON CONFLICT (id) DO UPDATE SET own_hard = excluded.own_hard`,
      );
    },
    async commit(batch) {
      const store = await PostgresStore.open(databaseUrl);
      try {
        return await store.commit(batch);
      } finally {
        await store.close();
      }
    },
    close: () => connection.close(),
  });
}

/** What differs from store to store. */
interface AdminStore extends Pick<LedgerAdmin, "setCap" | "close"> {
  readonly query: Query;
  readonly begin: string;
  readonly end: string;
  readonly now: () => Promise<number>;
  readonly dialect: HoldDialect;
  readonly commit: (batch: LedgerBatch) => Promise<BatchReply>;
}

/** Operations in one transaction of an operator: a gateway must not wait long for it. */
const maxOperatorBatch = 128;

function ledgerAdminOver(store: AdminStore): LedgerAdmin {
  const { query, now } = store;
  return {
    setCap: store.setCap,
    close: store.close,
    holds: async (filter) => readHolds(query, store.dialect, filter, await now()),
    async resolve(operator, resolutions) {
      if (resolutions.length > maxOperatorBatch) throw new RangeError(`at most ${maxOperatorBatch} at once`);
      const operations = resolutions.map((resolution) => ({ kind: "resolve", resolution }) as const);
      const batch: LedgerBatch = { node: { id: `operator/${operator}`, epoch: 0 }, operations };
      for (let attempt = 1; ; attempt++) {
        try {
          return (await store.commit(batch)).notices;
        } catch (error) {
          // A busy store, or a lost reply: the same batch again changes nothing twice.
          if (attempt === 5 || asStoreFailure(error).kind !== "transient") throw error;
        }
      }
    },
    today: async () => utcDayOf(await now()),
    async audit() {
      await query(store.begin);
      try {
        return await audit(query, await now());
      } finally {
        await query(store.end);
      }
    },
    async accounts(limit) {
      const rows = await query(
        `SELECT id, spent, held, overrun, hard, own_hard FROM account
         ORDER BY CASE WHEN id LIKE 'day/%' THEN 0 ELSE 1 END, CASE WHEN id LIKE 'day/%' THEN id END DESC,
           spent + held DESC, id LIMIT ${Math.floor(limit) + 1}`,
      );
      const total = Number((await query("SELECT count(*) AS count FROM account"))[0]?.["count"]);
      const accounts = rows.slice(0, limit).map((row) => ({
        id: String(row["id"]),
        spent: Number(row["spent"]),
        held: Number(row["held"]),
        overrun: Number(row["overrun"]),
        hard: row["hard"] === null ? null : Number(row["hard"]),
        ownHard: row["own_hard"] === null ? null : Number(row["own_hard"]),
      }));
      return { accounts, more: Math.max(0, total - accounts.length) };
    },
  };
}
