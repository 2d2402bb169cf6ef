import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { migratePostgres, PostgresConnection } from "#db/postgres.ts";
import { postgresMigrations } from "#db/postgres-migrations.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { openRecordStore } from "#records/open-record-store.ts";
import { beforeLateCosts, lateCostsContract } from "#records/store/blocks/late-costs.contract.ts";
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
        `TRUNCATE decision_record, decision_block, decision_block_head, decision_cost, decision_late_cost, decision_correction, decision_sum,
           decision_goal_sum, decision_goal_day_sum, decision_config;
         UPDATE decision_store SET records = 0, bytes = 0`,
      );
      await admin.close();
    }

    /** A whole block, each record of another goal. */
    const goalsOf = (from: number) =>
      Array.from({ length: 128 }, (_, n) => aDecisionRecord(from + n, { goal: `team/goal-${from + n}` }));

    recordStoreContract("PostgreSQL", async () => {
      const store = await openRecordStore(url);
      await empty();
      return store;
    });
    test("the terms of heads are searched as they are stored, also those that an earlier release has written", async () => {
      const store = await openRecordStore(url);
      await empty();
      const admin = new PostgresConnection(url, 5_000);
      const compressed = `SELECT COUNT(*) AS heads, COUNT(*) FILTER (WHERE pg_column_size(terms) < octet_length(terms)) AS compressed
         FROM decision_block_head`;
      // As the server stores rows by default, which the earlier release did.
      await admin.run("ALTER TABLE decision_block_head RESET (toast_tuple_target)");
      await store.append(goalsOf(0));
      expect((await admin.run(compressed))[0]).toEqual([{ heads: "1", compressed: "1" }]);
      const migration = postgresMigrations.find(({ name }) => name === "terms-uncompressed");
      await admin.run(migration?.sql ?? "");
      await store.append(goalsOf(128));
      expect((await admin.run(compressed))[0]).toEqual([{ heads: "2", compressed: "0" }]);
      for (const goal of ["team/goal-7", "team/goal-135"]) {
        expect((await store.query({ goal }, { limit: 9 })).records.map((record) => record.goal)).toEqual([goal]);
      }
      await admin.close();
      await store.close();
    });
    lateCostsContract("PostgreSQL", async () => {
      const own = await server.createDatabase();
      await migratePostgres(
        own,
        postgresMigrations.filter(({ version }) => version <= beforeLateCosts),
      );
      const earlier = new PostgresConnection(own, 5_000);
      return {
        async write(sql, rows) {
          const values = rows.map((row) => `(${row.map((value) => `'${value}'`).join(",")})`);
          await earlier.run(sql.replace("(?)", values.join(",")));
        },
        async open() {
          await earlier.close();
          return postgresRecords(own);
        },
      };
    });
    rowRecordsContract("PostgreSQL", async () => {
      const connection = await postgresRecords(url);
      await empty();
      return connection;
    });
  });
}
