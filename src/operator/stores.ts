import { existsSync } from "node:fs";
import type { Settings } from "#config/settings.ts";
import { type DatabaseLocation, databaseLocationOf, inMemoryPath } from "#db/database-url.ts";
import { sqlStateOf } from "#db/postgres.ts";
import { openHealthStore } from "#health/store/health-store.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { isMissingSchema } from "#ledger/postgres/connection.ts";
import { openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { openOperatorActions } from "./audit.ts";
import { openCallerKeys } from "./caller-keys.ts";
import { isDefect, OperatorProblem } from "./problem.ts";

/**
 * What operators use of a database, beside running gateways; each part is opened by its first use. `threaded`: for a
 * process that serves requests meanwhile.
 */
export function openStores(databaseUrl: string, threaded = false) {
  const all: { close(): Promise<void> }[] = [];
  const lazy = <Store extends { close(): Promise<void> }>(open: (url: string) => Promise<Store>) => {
    const store = new LazyStore(() => open(databaseUrl));
    all.push(store);
    return () => store.opened();
  };
  return {
    admin: lazy((url) => openLedgerAdmin(url, threaded)),
    actions: lazy(openOperatorActions),
    keys: lazy(openCallerKeys),
    records: lazy(openRecordStore),
    health: lazy(openHealthStore),
    usage: lazy(openKeyUsageStore),
    async close(): Promise<void> {
      await Promise.all(all.map((store) => store.close()));
    },
  };
}
export type OperatorStores = ReturnType<typeof openStores>;

/**
 * Runs a command's work on the database of the settings, also while gateways use it. Problems end it behind `failed`:
 * `invalid` where the URL names no database of a gateway, else `unavailable`. No database is created: a mistyped path
 * would look like a gateway that has done nothing.
 */
export async function withDatabase<T>(
  { databaseUrl }: Pick<Settings, "databaseUrl">,
  failed: string,
  work: (stores: OperatorStores, location: DatabaseLocation) => T | Promise<T>,
): Promise<T> {
  const location = databaseLocationOf(databaseUrl);
  const problem = location.kind === "sqlite" ? missingFile(location.path) : undefined;
  if (problem !== undefined) throw new OperatorProblem("invalid", problem);
  const stores = openStores(databaseUrl);
  try {
    return await work(stores, location);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof OperatorProblem || isDefect(error)) throw error;
    // A server that knows no such database, or no gateway's tables in it, is what a missing file is.
    const kind = isMissingSchema(sqlStateOf(error)) ? "invalid" : "unavailable";
    // Never the URL: it may carry a password.
    throw new OperatorProblem(kind, `${failed}: ${error.message}`, "store_unavailable");
  } finally {
    await stores.close();
  }
}

function missingFile(path: string): string | undefined {
  if (path === inMemoryPath)
    return "DATABASE_URL is an in-memory database, which ends with its gateway: no other process can open it.";
  if (existsSync(path)) return undefined;
  const where = "Run the command where the gateway runs, or set DATABASE_URL as it does";
  return `There is no database at ${path} yet. ${where}; a gateway makes it when it starts.`;
}
