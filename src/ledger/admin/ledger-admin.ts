import type { StoreDatabase } from "#db/store-database.ts";
import type { Caps } from "#domain/money/money.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { emptyAccount, readAccount } from "#ledger/rules/accounts.ts";
import type { BatchReply, LedgerBatch, LedgerNotice } from "#ledger/rules/operations.ts";
import type { AccountRow } from "#ledger/rules/rows.ts";
import { accountColumns } from "#ledger/shared-sql.ts";
import { asStoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { type AuditReport, audit, type Query } from "./audit.ts";
import { type HoldFilter, readHolds } from "./holds.ts";

export type { LedgerNotice } from "#ledger/rules/operations.ts";

/** The ledger as operators use it: beside running gateways, without being one of them. */
export type LedgerAdmin = ReturnType<typeof ledgerAdminOver>;

/** What differs from store to store. */
interface AdminStore {
  readonly database: StoreDatabase;
  /** Begins a transaction that reads one state of all tables. */
  readonly begin: string;
  /** SQL of the store's clock, in milliseconds since the epoch. */
  readonly now: string;
  /** SQL of the reason of the newest entry of reservation `r`. */
  readonly newestReason: string;
  readonly commit: (batch: LedgerBatch) => Promise<BatchReply>;
}

/** Operations in one transaction of an operator: a gateway must not wait long for it. */
const maxOperatorBatch = 128;

export function ledgerAdminOver(store: AdminStore) {
  const { database } = store;
  const query: Query = async (sql, parameters = []) => (await database.read([sql, ...parameters]))[0] ?? [];
  const now = async () => Number((await query(`SELECT ${store.now} AS now_ms`))[0]?.["now_ms"]);
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
    holds: async (filter: HoldFilter) => readHolds(query, store.newestReason, filter, await now()),
    /**
     * Closes reservations in an operator's name, by the same rules and under the same locks as a gateway; at most 128 in one
     * call. What was closed meanwhile is left as it is. Running gateways see the change at once.
     */
    async resolve(operator: string, resolutions: readonly Resolution[]): Promise<readonly LedgerNotice[]> {
      if (resolutions.length > maxOperatorBatch) throw new RangeError(`at most ${maxOperatorBatch} at once`);
      const batch: LedgerBatch = { node: { id: `operator/${operator}`, epoch: 0 }, operations: resolutions };
      for (let attempt = 1; ; attempt++) {
        try {
          return (await store.commit(batch)).notices;
        } catch (error) {
          // A busy store, or a lost reply: the same batch again changes nothing twice.
          if (attempt === 5 || asStoreFailure(error).kind !== "transient") throw error;
        }
      }
    },
    today: async (): Promise<UtcDay> => utcDayOf(await now()),
    async audit(): Promise<AuditReport> {
      await query(store.begin);
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

/**
 * The hard cap that an account is held to: an operator's own, else the policy's as given, in nano-USD. An account of a day that is
 * over keeps the one that it ended with; null where none is known.
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
