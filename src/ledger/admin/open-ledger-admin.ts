import { databaseLocationOf, inMemoryPath } from "#db/database-url.ts";
import type { LedgerAdmin } from "./ledger-admin.ts";
import { openSqliteAdmin, openSqliteReader, openThreadedSqliteAdmin } from "./sqlite-admin.ts";

/**
 * Opens the ledger of a database URL. Rejects when it cannot be reached or was written by a newer release. `threaded`: for a
 * process that serves requests meanwhile.
 */
export async function openLedgerAdmin(databaseUrl: string, threaded = false): Promise<LedgerAdmin> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  if (location.path === inMemoryPath) {
    throw new Error("an in-memory database ends with its gateway: there is nothing to open");
  }
  return threaded ? openThreadedSqliteAdmin(location.path) : openSqliteAdmin(location.path);
}

export type LedgerReader = Pick<LedgerAdmin, "holds" | "account" | "today" | "close">;

/** Opens it for reading only, as it is; undefined where there is none. Rejects when it cannot be reached. */
export async function openLedgerReader(databaseUrl: string): Promise<LedgerReader | undefined> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") return openPostgres(location.url);
  return location.path === inMemoryPath ? undefined : openSqliteReader(location.path);
}

/** Loaded where it is used: a gateway on SQLite never needs it, and modules take memory. */
async function openPostgres(url: string): Promise<LedgerAdmin> {
  const { openPostgresAdmin } = await import("./postgres-admin.ts");
  return openPostgresAdmin(url);
}
