import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { loadPolicy } from "#config/load-policy.ts";
import type { Settings } from "#config/settings.ts";
import {
  type DatabaseLocation,
  databaseUrlForms,
  defaultDatabaseUrl,
  inMemoryPath,
  parseDatabaseUrl,
} from "#db/database-url.ts";
import { PostgresConnection, sqlStateOf } from "#db/postgres.ts";
import { postgresDatabase, sqliteDatabase } from "#db/store-database.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import { isMissingSchema } from "#ledger/postgres/connection.ts";
import { emptyPriceBook, type PriceBook } from "#models/price-book/price-book.ts";
import { priceBookStore } from "#models/price-book/price-book-store.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { isEnabled, priceSourceOf } from "#upstream/aggregator.ts";
import { badUsage, CommandFailure, exitCodes } from "./output.ts";

/**
 * Runs a command's work on the database that DATABASE_URL names, also while gateways use it. Problems end the command behind
 * `failed`: with 2 where the URL names no database of a gateway, with 1 where the database does not answer or the work fails. No
 * database is created: a mistyped path would look like a gateway that has done nothing.
 */
export async function withDatabase<T>(
  failed: string,
  work: (url: string, location: DatabaseLocation) => T | Promise<T>,
): Promise<T> {
  const url = process.env["DATABASE_URL"] || defaultDatabaseUrl;
  const location = parseDatabaseUrl(url);
  if (location === undefined) throw badUsage(`DATABASE_URL ${databaseUrlForms}`);
  if (location.kind === "sqlite" && location.path === inMemoryPath) {
    throw badUsage("DATABASE_URL is an in-memory database, which ends with its gateway: no other process can open it.");
  }
  if (location.kind === "sqlite" && !existsSync(location.path)) {
    throw badUsage(
      `There is no database at ${location.path} yet. Run the command where the gateway runs, or set DATABASE_URL as it does; a gateway makes it when it starts.`,
    );
  }
  try {
    return await work(url, location);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    // A server that knows no such database, or no gateway's tables in it, is what a missing file is.
    const code = isMissingSchema(sqlStateOf(error)) ? exitCodes.badUsage : exitCodes.failed;
    // Never the URL: it may carry a password.
    throw new CommandFailure(code, `${failed}: ${error instanceof Error ? error.message : "unknown error"}`);
  }
}

/** `withDatabase` for work on one part of the database, which is opened for it and closed after it. */
export function withStore<S extends { close(): Promise<void> }, T>(
  failed: string,
  open: (url: string) => Promise<S>,
  work: (store: S) => Promise<T>,
): Promise<T> {
  return withDatabase(failed, async (url) => {
    const store = await open(url);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  });
}

export function withLedger<T>(work: (admin: LedgerAdmin) => Promise<T>): Promise<T> {
  return withStore("The budget store could not be read", openLedgerAdmin, work);
}

export function withRecords<T>(work: (store: RecordStore) => Promise<T>): Promise<T> {
  return withStore("The decision records could not be read", openRecordStore, work);
}

/**
 * The prices that gateways on this database have read from the aggregator's list; none where the policy has switched the price book
 * off or is invalid. Only reads: changes and creates nothing.
 */
export async function storedPrices({ upstream, databaseUrl, policyPath }: Settings): Promise<PriceBook> {
  const loaded = loadPolicy(policyPath);
  const baseUrl = upstream.kind === "demo" ? undefined : upstream.baseUrl;
  const location = parseDatabaseUrl(databaseUrl);
  if (loaded.kind === "invalid" || !isEnabled(loaded.policy.upstream.price_book, baseUrl)) return emptyPriceBook;
  if (location === undefined || (location.kind === "sqlite" && !existsSync(location.path))) return emptyPriceBook;
  try {
    const database =
      location.kind === "sqlite"
        ? sqliteDatabase(new Database(location.path, { readonly: true, strict: true }))
        : postgresDatabase(new PostgresConnection(location.url, 3_000));
    const store = priceBookStore(database);
    return await store.load(priceSourceOf(upstream)).finally(() => store.close());
  } catch {
    return emptyPriceBook; // whatever is wrong with the database has a check of its own (`doctor`)
  }
}
