import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import type { Policy } from "#config/policy.ts";
import type { Settings } from "#config/settings.ts";
import { PostgresConnection } from "#db/postgres.ts";
import { postgresDatabase, sqliteDatabase } from "#db/store-database.ts";
import type { PriceBook } from "#models/price-book/price-book.ts";
import { type PriceBookStore, priceBookStore } from "#models/price-book/price-book-store.ts";
import { isEnabled, priceSourceOf } from "#upstream/aggregator.ts";

export type StoredPrices =
  /** The policy has switched the price book off. */
  | { readonly kind: "off" }
  /** There is no database yet, it has no price book, or it does not answer. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "stored"; readonly book: PriceBook };

/** The prices that gateways on this database have read from the aggregator's list. Only reads: changes and creates nothing. */
export async function storedPrices(
  { upstream, databaseUrl }: Pick<Settings, "upstream" | "databaseUrl">,
  { upstream: rules }: Pick<Policy, "upstream">,
): Promise<StoredPrices> {
  if (!isEnabled(rules.price_book, upstream.kind === "demo" ? undefined : upstream.baseUrl)) return { kind: "off" };
  let store: PriceBookStore | undefined;
  try {
    store = openPriceBook(databaseUrl);
    return store === undefined
      ? { kind: "unavailable" }
      : { kind: "stored", book: await store.load(priceSourceOf(upstream)) };
  } catch {
    // Whatever is wrong with the database has a check of its own (`doctor`).
    return { kind: "unavailable" };
  } finally {
    await store?.close();
  }
}

function openPriceBook(databaseUrl: string): PriceBookStore | undefined {
  if (!databaseUrl.startsWith("sqlite:"))
    return priceBookStore(postgresDatabase(new PostgresConnection(databaseUrl, 3_000)));
  const path = databaseUrl.slice("sqlite:".length);
  return existsSync(path)
    ? priceBookStore(sqliteDatabase(new Database(path, { readonly: true, strict: true })))
    : undefined;
}
