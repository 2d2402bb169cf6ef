import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migratePostgres } from "#db/postgres.ts";
import { openHealthStore } from "#health/store/health-store.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

/** A database that a gateway of 1.0.0 wrote: three settled calls, one under way when it was killed, a model that an operator disabled. */
const dump = (kind: "sqlite" | "postgres") =>
  readFileSync(join(import.meta.dir, "fixtures", `release-1.0.0.${kind}.sql`), "utf8");

async function expectKept(url: string): Promise<void> {
  const admin = await openLedgerAdmin(url);
  const health = await openHealthStore(url);
  expect(await admin.audit()).toMatchObject({ accounts: 3, reservations: 4, open: 1, entries: 7, findings: [] });
  const accounts = await admin.named(["day/2026-08-23", "goal/goal-one", "goal/goal-two"]);
  expect(accounts.map(({ held, spent }) => [held, spent])).toEqual([
    [28_594_725, 136_665],
    [28_594_725, 119_445],
    [0, 17_220],
  ]);
  const [hold] = (await admin.holds({ limit: 9, charged: true })).holds;
  expect(hold).toMatchObject({ state: "orphaned", amount: 28_594_725 });
  // What was held is settled by today's rules.
  const closed = await admin.resolve("ada", [{ id: hold?.id ?? "", kind: "released", reason: "never billed" }]);
  expect(closed).toMatchObject([{ id: hold?.id, state: "RELEASED", hold: 28_594_725 }]);
  expect(await admin.named(["goal/goal-one"])).toMatchObject([{ held: 0, spent: 119_445 }]);
  expect((await admin.audit()).findings).toEqual([]);
  const { rows, overrides } = await health.load();
  expect(rows.map(({ model, health }) => [model, health.state]).toSorted()).toEqual([
    ["vendor_emergency", "HEALTHY"],
    ["vendor_free_scout", "HEALTHY"],
    ["vendor_v4_flash", "DISABLED"],
    ["vendor_v4_pro", "HEALTHY"],
  ]);
  expect(overrides).toMatchObject([
    { model: "vendor_v4_flash", disabled: true, changedBy: expect.stringContaining("@vm") },
  ]);
  await admin.close();
  await health.close();
}

describe("a database of release 1.0.0 keeps ledger, holds and health", () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-first-release-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("in an SQLite file", async () => {
    const path = join(folder, "gateway.db");
    const db = new Database(path);
    db.run(dump("sqlite"));
    db.close();
    await expectKept(`sqlite:${path}`);
  });

  describeOnPostgres("a database of release 1.0.0", (postgres) => {
    test("in PostgreSQL", async () => {
      await postgres.run(dump("postgres"));
      await migratePostgres(postgres.url);
      await expectKept(postgres.url);
    });

    test("is not migrated while a gateway of 1.0.0 runs on it, which goes on; afterwards that can admit nothing", async () => {
      const url = await postgres.server.createDatabase();
      await postgres.run(dump("postgres"), url);
      await postgres.run("UPDATE node SET id = 'old', heartbeat_ms = floor(extract(epoch FROM now()) * 1000)", url);
      const admit = (id: string) =>
        postgres.run(
          `INSERT INTO reservation (id, request_id, attempt, goal_account, day_account, hold, state, model, node_id, node_epoch,
             dispatched, created_ms, expires_ms) VALUES ('${id}', '${id}', 1, 'goal', 'day', 9, 'HELD', 'pro', 'old', 1, true, 1, 2)`,
          url,
        );
      await expect(migratePostgres(url)).rejects.toThrow("gateways of an earlier release run on the database (old)");
      await admit("before");
      await postgres.run("UPDATE node SET heartbeat_ms = heartbeat_ms - 15000", url);
      await migratePostgres(url);
      await expect(admit("after")).rejects.toThrow("request_id");
    });
  });
});
