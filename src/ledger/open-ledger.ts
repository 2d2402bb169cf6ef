import { databaseLocationOf } from "#db/database-url.ts";
import { requireCurrentSchema } from "#db/schema-version.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { BatchedLedger } from "./batched-ledger.ts";
import type { BillingLookups, Ledger, SharedConnection } from "./ledger.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";
import type { LedgerContext, LedgerStore } from "./store.ts";

export type { LedgerEvent } from "./store.ts";

export interface OpenLedgerOptions extends Partial<Omit<LedgerContext, "clock">> {
  /** Names this process in the ledger; an earlier process with the same name counts as dead. */
  readonly nodeId: string;
  readonly clock: Clock;
  /** `records.retention_days` of the policy, asked before each run; 30 when absent. */
  readonly retentionDays?: () => number;
  /** `budget.expect_ledger` of the policy: whether the store should have been used before; false when absent. */
  readonly expectExisting?: () => boolean;
  /** How long a database that cannot be reached yet is waited for, in milliseconds; 0 (default): not at all. */
  readonly waitMs?: number;
  /** Refuses a schema that is not up to date instead of bringing it there; false when absent. */
  readonly requireMigrated?: boolean;
}

/** Pause between two tries to reach the database while the gateway starts. */
const retryPauseMs = 500;

/**
 * The ledger that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the schema up to
 * date. Rejects when the URL is none of these, the store cannot be reached in time, or its schema is newer than this
 * program.
 */
export async function openLedger(
  databaseUrl: string,
  options: OpenLedgerOptions,
): Promise<Ledger & BillingLookups & SharedConnection> {
  const store = await openStoreInTime(databaseUrl, options);
  try {
    return await BatchedLedger.open(store, options.nodeId, {
      timers: processTimers,
      random: Math.random,
      log: () => {},
      ...options,
      retentionMs: () => (options.retentionDays?.() ?? 30) * 86_400_000,
      // A sync to disk or a round trip costs more than a tick of the event loop, in which many requests may arrive.
      defer: setImmediate,
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Waits for a database that starts together with its gateways; one that refuses the connection is not tried again. */
async function openStoreInTime(databaseUrl: string, options: OpenLedgerOptions): Promise<LedgerStore> {
  const { clock, log = () => {}, waitMs = 0 } = options;
  const beganMs = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      const store = await openStore(databaseUrl, options);
      if (attempt > 1) log({ kind: "store_available", unavailableMs: clock.monotonic() - beganMs });
      return store;
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      const leftMs = beganMs + waitMs - clock.monotonic();
      if (leftMs <= 0) throw error;
      const { mayBecomeAvailable } = await import("#db/postgres.ts");
      if (!mayBecomeAvailable(cause)) throw error;
      if (attempt === 1) log({ kind: "store_awaited", message: messageOf(cause), withinMs: waitMs });
      // The process's own timer: it keeps the process alive, and nothing else does yet.
      await new Promise((resolve) => setTimeout(resolve, Math.min(retryPauseMs, leftMs)));
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function openStore(url: string, { clock, requireMigrated = false }: OpenLedgerOptions): Promise<LedgerStore> {
  const location = databaseLocationOf(url);
  try {
    if (requireMigrated) await requireCurrentSchema(location);
    if (location.kind === "sqlite") return await openSqliteStore(location.path, clock);
    // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
    const { PostgresStore } = await import("./postgres/postgres-store.ts");
    return await PostgresStore.open(location.url);
  } catch (error) {
    const where = location.kind === "sqlite" ? location.path : "at DATABASE_URL";
    throw new Error(`cannot open the budget store ${where}: ${messageOf(error)}`, { cause: error });
  }
}

export const processTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
