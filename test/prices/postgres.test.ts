import { expect, test } from "bun:test";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { priceBookStoreContract } from "#models/price-book/price-book-store.contract.ts";
import type { PriceBookStore } from "#models/price-book/price-book-store.ts";
import { openPriceBookStore } from "#models/price-book/price-book-store.ts";
import { shippedModels, start } from "../harness/gateway.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

describeOnPostgres("the price book", (postgres) => {
  async function emptyStore(): Promise<PriceBookStore> {
    const store = await openPriceBookStore(postgres.url);
    await postgres.run("TRUNCATE price_book");
    return store;
  }
  priceBookStoreContract("PostgreSQL", emptyStore);

  test("prices read by one node are available to the next, and ledger entries name their version", async () => {
    const database = await postgres.server.createDatabase();
    const double = shippedModels.map((model) => ({
      ...model,
      price: { ...model.price, output: (2 * model.price.output) as NanoUsdPerMTok },
    }));
    const env = { DATABASE_URL: database };
    const on = { upstream: { price_book: "on" } };
    const first = await start({ env, policy: on, upstreamModels: () => double });
    const { priceVersion } = first.gateway.ports.config().registry;
    const base = first.upstream.url;
    expect((await first.chat()).status).toBe(200);
    await first.ledger();
    await first.stop();
    const kept = await openPriceBookStore(database);
    expect((await kept.load(base)).get("deepseek/deepseek-v4-flash")?.price.output as number).toBe(560_000_000);
    await kept.close();
    const rows = await postgres.run("SELECT reason FROM ledger_entry WHERE event = 'admitted'", database);
    expect(rows.map((row) => String(row["reason"]))).toEqual([`dispatched, prices ${priceVersion}`]);
  });
});
