import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { openSqliteStore } from "#ledger/sqlite/sqlite-store.ts";
import { nodeOptions } from "#ledger/testing/ledger.contract.ts";
import { completes } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { call, eventually, postChat, startUpstream } from "../harness/gateway.ts";
import { postgresMissing, startPostgres } from "../harness/postgres.ts";
import { type GatewayProcess, serve, startServing } from "../harness/process.ts";

describe("a gateway process and its ledger", () => {
  test("a deleted database: 503 with the reason, unhealthy, alive, and one line in the log", async () => {
    await using gateway = await serve();
    const database = join(gateway.directory, "data", "gateway.db");
    expect(statSync(database).mode & 0o777).toBe(0o600);
    expect((await postChat(gateway.url)).status).toBe(200);
    expect(gateway.output()).toContain('"event":"ledger_created"');
    rmSync(database);
    // The next heartbeat is at most six seconds away.
    await eventually(async () => (await call(`${gateway.url}/healthz`)).status === 503);
    const refused = await postChat(gateway.url);
    expect(refused.status).toBe(503);
    expect((await refused.json()).detail).toContain("deleted, replaced or emptied");
    expect((await call(`${gateway.url}/livez`)).status).toBe(200);
    await eventually(() => gateway.output().includes('"event":"ledger_failed"'));
    expect(gateway.output().split('"event":"ledger_failed"')).toHaveLength(2);
    expect(gateway.output()).toContain('"remedy":"store_lost"');
  });

  test("after a kill and a restart today's spend is shown before any request", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-killed-"));
    const env = { DATABASE_URL: `sqlite:${join(folder, "gateway.db")}`, NODE_ID: "one" };
    const spent = async (gateway: GatewayProcess) => {
      const text = await (await call(`${gateway.url}/metrics`)).text();
      const part = (name: string) =>
        Number(new RegExp(`smart_gateway_budget_day_usd\\{part="${name}"\\} (\\S+)`).exec(text)?.[1]);
      return part("spent") + part("held");
    };
    let before = 0;
    {
      await using gateway = await serve(env);
      expect(await spent(gateway)).toBe(0);
      expect((await postChat(gateway.url)).status).toBe(200);
      await eventually(async () => {
        before = await spent(gateway);
        return before > 0;
      });
      gateway.signal("SIGKILL");
      await gateway.exited();
    }
    await using again = await serve(env);
    expect(await spent(again)).toBeGreaterThan(0);
    expect(await spent(again)).toBeLessThanOrEqual(before);
    expect(again.output()).not.toContain("ledger_created");
    rmSync(folder, { recursive: true });
  });

  describe("ended behind an answer whose cost is not written yet", () => {
    const reservations = (path: string) => {
      const db = new Database(path, { readonly: true });
      const rows = db.query<{ state: string; hold: number; actual: number | null }, []>(
        "SELECT state, hold, actual FROM reservation ORDER BY seq",
      );
      try {
        return rows.all();
      } finally {
        db.close();
      }
    };

    test("by SIGTERM: the cost is written before it ends", async () => {
      const simulator = await startUpstream();
      const folder = mkdtempSync(join(tmpdir(), "smart-gateway-ended-"));
      const path = join(folder, "gateway.db");
      for (let run = 0; run < 3; run++) {
        await using gateway = await serve({ DATABASE_URL: `sqlite:${path}`, UPSTREAM_BASE_URL: simulator.url });
        const reply = await postChat(gateway.url);
        gateway.signal("SIGTERM");
        expect(reply.status).toBe(200);
        expect(await gateway.exited()).toBe(0);
      }
      const rows = reservations(path);
      expect(rows.map(({ state }) => state)).toEqual(["SETTLED", "SETTLED", "SETTLED"]);
      expect(rows.reduce((sum, { actual }) => sum + (actual ?? 0), 0)).toBe(simulator.billedNanoUsd());
      await simulator.stop();
      rmSync(folder, { recursive: true });
    }, 60_000);

    test("by SIGKILL: its hold stays, and is charged when it expires", async () => {
      const simulator = await startUpstream();
      const folder = mkdtempSync(join(tmpdir(), "smart-gateway-ended-"));
      const path = join(folder, "gateway.db");
      const env = { DATABASE_URL: `sqlite:${path}`, UPSTREAM_BASE_URL: simulator.url, NODE_ID: "one" };
      const gate = Promise.withResolvers<void>();
      {
        await using gateway = await serve(env);
        simulator.next(after(gate.promise, completes()));
        const answer = postChat(gateway.url);
        await eventually(() => simulator.received() === 1);
        // From here on the gateway cannot write: whenever it is killed, the cost is not in the ledger.
        const lock = new Database(path);
        lock.run("PRAGMA busy_timeout = 10000"); // a heartbeat may hold the write lock
        lock.run("BEGIN IMMEDIATE");
        gate.resolve();
        expect((await answer).status).toBe(200);
        gateway.signal("SIGKILL");
        await gateway.exited();
        lock.run("ROLLBACK");
        lock.close();
      }
      const billed = simulator.billedNanoUsd();
      expect(billed).toBeGreaterThan(0);
      const [left] = reservations(path);
      expect(left).toMatchObject({ state: "HELD", actual: null });
      expect(left?.hold).toBeGreaterThanOrEqual(billed);
      {
        await using again = await serve(env);
        await eventually(() => reservations(path)[0]?.state === "UNRESOLVED", again.output);
        again.signal("SIGTERM");
        expect(await again.exited()).toBe(0);
      }
      const clock = { now: () => Date.now() + 3_600_000, monotonic: () => performance.now() };
      const later = await BatchedLedger.open(await openSqliteStore(path, clock), "sweeper", nodeOptions(clock));
      await later.jobs.sweep();
      await later.close(1_000);
      // Of the day of the hold, which by the later clock may be yesterday.
      const db = new Database(path, { readonly: true });
      expect(db.query("SELECT spent, held FROM account WHERE id LIKE 'day/%'").all()).toEqual([
        { spent: left?.hold, held: 0 },
      ]);
      db.close();
      await simulator.stop();
      rmSync(folder, { recursive: true });
    }, 60_000);
  });

  test.skipIf(postgresMissing() !== undefined)(
    "started before its PostgreSQL it says that it waits, and serves once that is there",
    async () => {
      const server = await startPostgres({ fsync: "off" });
      try {
        const url = await server.createDatabase();
        await server.stop();
        const { output, listening } = startServing({ DATABASE_URL: url });
        await eventually(() => output().includes('"event":"ledger_awaited"'), output);
        await server.start();
        await using gateway = await listening;
        expect(gateway.output()).toContain('"event":"ledger_available"');
        expect((await postChat(gateway.url)).status).toBe(200);
      } finally {
        await server.remove();
      }
    },
  );
});
