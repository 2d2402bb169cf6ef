import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteDatabase } from "#db/store-database.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { priceBookStoreContract } from "./price-book-store.contract.ts";
import { openPriceBookStore, priceBookStore } from "./price-book-store.ts";

const folder = mkdtempSync(join(tmpdir(), "prices-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const fresh = () => join(folder, `${++files}.db`);
const one = 1 as NanoUsdPerMTok;
const entry = { price: { input: one, cachedInput: one, output: one }, atMs: 5 };

priceBookStoreContract("SQLite", () => openPriceBookStore(`sqlite:${fresh()}`));

test("SQLite: a later process reads what one process wrote", async () => {
  const path = fresh();
  const first = await openPriceBookStore(`sqlite:${path}`);
  await first.save("s", new Map([["m", entry]]));
  await first.close();
  const later = await openPriceBookStore(`sqlite:${path}`);
  expect((await later.load("s")).get("m")).toEqual(entry);
  await later.close();
});

test.each(["", "{}", "null", '{"form":2,"price":{"input":1,"cachedInput":1,"output":1}}'])(
  "SQLite: an entry that this release would not have written (%p) is left out, and the next list replaces it",
  async (text) => {
    const db = openSqlite(":memory:");
    const store = priceBookStore(sqliteDatabase(db));
    db.run("INSERT INTO price_book VALUES ('s', 'm', ?, 1)", [text]);
    await store.save("s", new Map([["good", entry]]));
    expect([...(await store.load("s")).keys()]).toEqual(["good"]);
    await store.save("s", new Map([["m", entry]]));
    expect((await store.load("s")).get("m")).toEqual(entry);
    await store.close();
  },
);
