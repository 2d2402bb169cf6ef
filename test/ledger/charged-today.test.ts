import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { eventually, start } from "../harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";

const name = "smart_gateway_charged_without_proof_day_usd";

async function chargedUsd(gateway: { get(path: string): Promise<Response> }): Promise<number | undefined> {
  const text = await (await gateway.get("/metrics")).text();
  const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

function suite(store: string, database: () => Promise<string>): void {
  test(`the gauge of charges without proof follows the ledger, and has its value right after a restart: ${store}`, async () => {
    const url = await database();
    const policy = { upstream: { generation_lookup: "off" as const } };
    const options = { policy, env: { DATABASE_URL: url } };
    let spent = 0;
    {
      await using gateway = await start(options);
      await eventually(async () => (await chargedUsd(gateway)) === 0);
      gateway.upstream.follow(() => streams({ events: [chunk({ content: "hi" })], end: "silence" }));
      const leaving = new AbortController();
      const reply = await gateway.chat({ stream: true, max_tokens: 10_000 }, {}, { signal: leaving.signal });
      expect(reply.status).toBe(200);
      leaving.abort();
      ({ spent } = await gateway.ledger(({ held, spent: charged }) => held === 0 && charged > 0));
      await eventually(async () => (await chargedUsd(gateway)) === spent / 1e9);
      const { days } = await (await gateway.get("/dashboard/api/budgets")).json();
      expect(days[0]).toMatchObject({ spent_nano_usd: spent, unproven_nano_usd: spent });
      const { saved } = await (await gateway.get("/dashboard/api/summary")).json();
      expect(saved.saved_nano_usd).toBeGreaterThanOrEqual(0);
    }
    await using gateway = await start(options);
    await eventually(async () => (await chargedUsd(gateway)) === spent / 1e9);
    const admin = await openLedgerAdmin(url);
    try {
      const { holds } = await admin.holds({ limit: 9, charged: true });
      const day = dayAccountOf(await admin.today());
      expect((await admin.named([day]))[0]?.unproven).toBe(spent);
      await admin.resolve(
        "ann",
        holds.map(({ id }) => ({ id, kind: "released", reason: "invoice", source: "operator" })),
      );
      expect((await admin.named([day]))[0]?.unproven).toBe(0);
    } finally {
      await admin.close();
    }
  });
}

describe("money charged without proof today", () => {
  let folder: string;
  let server: TestPostgres | undefined;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-charged-"));
    if (postgresMissing() === undefined) server = await startPostgres();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await server?.remove();
  });

  suite("SQLite", async () => `sqlite:${join(folder, "gateway.db")}`);
  if (postgresMissing() === undefined) suite("PostgreSQL", async () => (await server?.createDatabase()) ?? "");
});
