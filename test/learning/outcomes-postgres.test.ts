import { afterAll, beforeAll, describe, test } from "bun:test";
import { PostgresConnection } from "#db/postgres.ts";
import { openOutcomeStore } from "#learning/outcomes/store/open-outcome-store.ts";
import { outcomeStoreContract } from "#learning/outcomes/store/outcome-store.contract.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";

const missing = postgresMissing();
if (missing !== undefined) {
  test.skip(`outcome records in PostgreSQL are not tested here: ${missing}`, () => {});
} else {
  describe("on a server of its own", () => {
    let server: TestPostgres;
    let url: string;
    beforeAll(async () => {
      server = await startPostgres({ fsync: "off" });
      url = await server.createDatabase();
    }, 60_000);
    afterAll(() => server.remove());

    outcomeStoreContract("PostgreSQL", async () => {
      const store = await openOutcomeStore(url);
      const admin = new PostgresConnection(url, 5_000);
      await admin.run("TRUNCATE routing_outcome");
      await admin.close();
      return store;
    });
  });
}
