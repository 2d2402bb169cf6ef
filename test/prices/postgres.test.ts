import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PostgresConnection } from "#db/postgres.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { openPriceBookStore } from "#models/price-book/open-price-book-store.ts";
import { priceBookStoreContract } from "#models/price-book/price-book-store.contract.ts";
import type { PriceBookStore } from "#models/price-book/price-book-store.ts";
import { shippedModels, start } from "../harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";

const missing = postgresMissing();
if (missing !== undefined) {
  test.skip(`the price book in PostgreSQL is not tested here: ${missing}`, () => {});
} else {
  let server: TestPostgres;
  let url: string;

  describe("on a server of its own", () => {
    beforeAll(async () => {
      server = await startPostgres({ fsync: "off" });
      url = await server.createDatabase();
    }, 60_000);
    afterAll(() => server.remove());

    async function emptyStore(): Promise<PriceBookStore> {
      const store = await openPriceBookStore(url);
      const admin = new PostgresConnection(url, 5_000);
      await admin.run("TRUNCATE price_book");
      await admin.close();
      return store;
    }
    priceBookStoreContract("PostgreSQL", emptyStore);

    test("prices read by one node are there for the next, and ledger entries name their version", async () => {
      const database = await server.createDatabase();
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
      await first.books();
      await first.stop();
      const kept = await openPriceBookStore(database);
      expect((await kept.load(base)).get("deepseek/deepseek-v4-flash")?.price.output as number).toBe(560_000_000);
      await kept.close();
      const admin = new PostgresConnection(database, 5_000);
      const [rows = []] = await admin.run("SELECT reason FROM ledger_entry WHERE event = 'admitted'");
      await admin.close();
      expect(rows.map((row) => String(row["reason"]))).toEqual([`dispatched, prices ${priceVersion}`]);
    }, 30_000);
  });
}
