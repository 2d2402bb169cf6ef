import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyUsageStoreContract } from "#ledger/reconcile/key-usage-store.contract.ts";
import { openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { utcDayOf } from "#platform/time.ts";
import { runCommand } from "../harness/command-line.ts";
import { eventually, start, type TestGateway, upstreamKey } from "../harness/gateway.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "reconcile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newDatabase = () => `sqlite:${join(folder, `${++files}.db`)}`;
const policy = { upstream: { key_usage: "on" } };

const reconcile = (args: readonly string[], env: Record<string, string>) =>
  runCommand(["budgets", "reconcile", ...args], { cwd: folder, env: { UPSTREAM_API_KEY: upstreamKey, ...env } });

const metric = async (gateway: TestGateway, line: RegExp) =>
  Number(line.exec(await (await gateway.get("/metrics")).text())?.[1] ?? Number.NaN);

describe("the ledger's day against the aggregator's count", () => {
  test("is equal after real calls, also if hosts charge the operator's own account", async () => {
    for (const ownAccount of [false, true]) {
      const database = newDatabase();
      await using gateway = await start({ policy, ownAccount, env: { DATABASE_URL: database } });
      for (let i = 0; i < 3; i++) expect((await gateway.chat()).status).toBe(200);
      const { spent } = await gateway.ledger();
      expect(spent).toBeGreaterThan(0);
      const { code, json } = await reconcile(["--json"], {
        DATABASE_URL: database,
        UPSTREAM_BASE_URL: gateway.upstream.url,
      });
      expect([code, json()]).toMatchObject([
        0,
        { ok: true, ledger_nano_usd: spent, aggregator_nano_usd: spent, difference_nano_usd: 0, held_nano_usd: 0 },
      ]);
    }
  });

  test("shows what others spend with the same key, with exit code 1", async () => {
    const database = newDatabase();
    await using gateway = await start({ policy, env: { DATABASE_URL: database } });
    await gateway.chat();
    await gateway.ledger();
    gateway.upstream.spendElsewhere(2_500_000_000);
    const { code, out } = await reconcile([], { DATABASE_URL: database, UPSTREAM_BASE_URL: gateway.upstream.url });
    expect(code).toBe(1);
    expect(out).toMatch(/difference +\$2\.50\n/);
    expect(out).toContain("also by others who use it");
  });

  test("is read by a running gateway, exposed as metrics, and stored for later days", async () => {
    const database = newDatabase();
    await using gateway = await start({ policy, env: { DATABASE_URL: database } });
    const aggregator = /smart_gateway_reconcile_usd\{side="aggregator"\} (\S+)/;
    await eventually(async () => !Number.isNaN(await metric(gateway, aggregator)));
    expect(await metric(gateway, /smart_gateway_reconcile_usd\{side="ledger"\} (\S+)/)).toBe(0);
    expect(await metric(gateway, /^smart_gateway_reconcile_read_seconds (\S+)/m)).toBeGreaterThan(1e9);
    // The simulator's key has no limit.
    expect(await (await gateway.get("/metrics")).text()).not.toMatch(/^smart_gateway_key_limit_remaining_usd /m);
    const day = utcDayOf(Date.now());
    await eventually(async () => {
      const store = await openKeyUsageStore(database);
      const stored = await store.load(gateway.upstream.url, day);
      await store.close();
      return stored?.keys === 1;
    });
  });
});

describeOnPostgres("the aggregator's counts", (postgres) => {
  keyUsageStoreContract("PostgreSQL", async () => {
    const store = await openKeyUsageStore(postgres.url);
    await postgres.run("TRUNCATE key_usage");
    return store;
  });
});
