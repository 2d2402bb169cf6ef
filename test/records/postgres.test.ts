import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PostgresConnection } from "#db/postgres.ts";
import { recordStoreContract } from "#records/store/record-store.contract.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { authorization, eventually, start } from "../harness/gateway.ts";
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
      await admin.run("TRUNCATE decision_block, decision_sum, decision_config");
      await admin.close();
    }

    recordStoreContract("PostgreSQL", async () => {
      const store = await openRecordStore(url);
      await empty();
      return store;
    });
    const isLong = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";
    test.if(isLong)("a reading that takes longer than a connection may be idle is answered", async () => {
      const own = await server.createDatabase();
      const admin = new PostgresConnection(own, 20_000);
      await using gateway = await start({ env: { DATABASE_URL: own }, overrides: { idleSeconds: 1 } });
      // The runtime looks for idle connections every four seconds.
      const locked = admin.run("BEGIN; LOCK TABLE decision_block; SELECT pg_sleep(9); COMMIT");
      const looks = new PostgresConnection(own, 5_000);
      const isLocked = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock'";
      await eventually(async () => (await looks.run(isLocked))[0]?.length !== 0);
      const reply = await gateway.get("/v1/route/decisions/unknown", authorization);
      expect(reply.status).toBe(404);
      await locked;
      for (const connection of [admin, looks]) await connection.close();
    });
    test("a gateway on a server that takes no writes says why, and writes what waited when it does again", async () => {
      const own = await server.createDatabase();
      const name = new URL(own).pathname.slice(1);
      const admin = new PostgresConnection(server.url, 5_000);
      await using gateway = await start({ env: { DATABASE_URL: own } });
      const answered: string[] = [];
      const ask = async () => {
        const reply = await gateway.chat();
        await reply.text();
        if (reply.status === 200) answered.push(reply.headers.get("x-request-id") ?? "");
        return reply.status;
      };
      const { records } = gateway.gateway;
      expect(await ask()).toBe(200);
      await eventually(async () => (await records.size()).rows === 1);
      await admin.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await admin.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
      expect(await ask()).toBe(503);
      const details = () =>
        gateway.log.flatMap(({ event, fields }) =>
          event === "records_store_changed" ? [String(fields["detail"])] : [],
        );
      // The first message may meet the ended connection; the next is five seconds later.
      await eventually(() => details().length > 0);
      if (!details()[0]?.startsWith("25006: ")) expect(details()[0]).toMatch(/^57P01: |^ERR_POSTGRES_CONNECTION/);
      await admin.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
      await eventually(async () => (await ask()) === 200);
      await eventually(() => records.status().ok && records.status().queued === 0);
      expect(records.status().dropped).toBe(0);
      const recorded = (await records.query({ outcome: ["answered"] }, { limit: 100 })).records;
      expect(recorded.map(({ request_id }) => request_id).toSorted()).toEqual(answered.toSorted());
      await admin.close();
    }, 60_000);
  });
}
