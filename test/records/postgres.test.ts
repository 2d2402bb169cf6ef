import { afterAll, beforeAll, describe, test } from "bun:test";
import { PostgresConnection } from "#db/postgres.ts";
import { openRecordStore } from "#records/open-record-store.ts";
import { postgresRecords } from "#records/store/postgres-connection.ts";
import { recordStoreContract } from "#records/store/record-store.contract.ts";
import { rowRecordsContract } from "#records/store/rows/row-records.contract.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";

const missing = postgresMissing();
if (missing !== undefined) {
  test.skip(`decision records in PostgreSQL are not tested here: ${missing}`, () => {});
} else {
  describe("on a server of its own", () => {
    let server: TestPostgres;
    let url: string;
    beforeAll(async () => {
      server = await startPostgres({ fsync: "off" });
      url = await server.createDatabase();
    });
    afterAll(() => server.remove());

    async function empty(): Promise<void> {
      const admin = new PostgresConnection(url, 5_000);
      await admin.run(
        `TRUNCATE decision_record, decision_block, decision_block_head, decision_cost, decision_correction, decision_sum,
           decision_goal_sum, decision_goal_day_sum, decision_config;
         UPDATE decision_store SET records = 0, bytes = 0`,
      );
      await admin.close();
    }

    recordStoreContract("PostgreSQL", async () => {
      const store = await openRecordStore(url);
      await empty();
      return store;
    });
    rowRecordsContract("PostgreSQL", async () => {
      const connection = await postgresRecords(url);
      await empty();
      return connection;
    });
  });
}
