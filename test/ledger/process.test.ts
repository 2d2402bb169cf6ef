import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorization, call, eventually } from "../harness/gateway.ts";
import { postgresMissing, startPostgres } from "../harness/postgres.ts";
import { type GatewayProcess, serve, startServing } from "../harness/process.ts";

const ask = (gateway: GatewayProcess) =>
  call(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json" },
    body: JSON.stringify({ model: "smart-router", messages: [{ role: "user", content: "hello" }] }),
  });

describe("a gateway process and its ledger", () => {
  test("a deleted database: 503 with the reason, unhealthy, alive, and one line in the log", async () => {
    await using gateway = await serve();
    const database = join(gateway.directory, "data", "gateway.db");
    expect(statSync(database).mode & 0o777).toBe(0o600);
    expect((await ask(gateway)).status).toBe(200);
    expect(gateway.output()).toContain('"event":"ledger_created"');
    rmSync(database);
    // The next heartbeat is at most six seconds away.
    await eventually(async () => (await call(`${gateway.url}/healthz`)).status === 503);
    const refused = await ask(gateway);
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
      expect((await ask(gateway)).status).toBe(200);
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
        expect((await ask(gateway)).status).toBe(200);
      } finally {
        await server.remove();
      }
    },
  );
});
