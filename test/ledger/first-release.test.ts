import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Migration, postgresMigrations, sqliteMigrations } from "#db/migrations.ts";
import { migratePostgres } from "#db/postgres.ts";
import { openSqlite } from "#db/sqlite.ts";
import { openHealthStore } from "#health/store/health-store.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

/** Release 1.0.0 has these two migrations. */
const released = (migrations: readonly Migration[]) => migrations.filter(({ version }) => version <= 10);

/** Rows as 1.0.0 wrote them: one settled call, one under way, one charged without proof, and a model that was out of service. */
const rows = (yes: "1" | "true") => `
  INSERT INTO account (id, held, spent, hard, own_hard) VALUES
    ('goal/app/goal', 70, 145, 5000, NULL), ('day/2026-08-24', 70, 145, 9000, 8000);
  INSERT INTO reservation VALUES
    ('a.1', 'a', 1, 'goal/app/goal', 'day/2026-08-24', 50, 45, 'usage', 'SETTLED', 'pro', 'n', 1, ${yes}, 5, 500, 6),
    ('b.1', 'b', 1, 'goal/app/goal', 'day/2026-08-24', 70, NULL, NULL, 'HELD', 'pro', 'n', 1, ${yes}, 7, 9000000000000, NULL),
    ('c.1', 'c', 1, 'goal/app/goal', 'day/2026-08-24', 100, NULL, NULL, 'EXPIRED_CHARGED', 'pro', 'n', 1, ${yes}, 8, 9, 10);
  INSERT INTO ledger_entry VALUES
    ('a.1', 'admitted', 50, 0, 0, 'dispatched', 'n', 5), ('a.1', 'settled', -50, 45, 0, 'usage', 'n', 6),
    ('b.1', 'admitted', 70, 0, 0, 'dispatched', 'n', 7),
    ('c.1', 'admitted', 100, 0, 0, 'dispatched', 'n', 8), ('c.1', 'expired_charged', -100, 100, 0, 'deadline', 'n', 10);
  INSERT INTO model_health VALUES ('pro', 3, 'UNHEALTHY', 40, '5 failures in a row',
    '{"lastVerdictMs":40,"garbageInARow":0,"notFound":0,"tripsAtMs":[40],"quarantines":0,"limitedUntilMs":0,"retryAtMs":70,"failedProbes":1}', 41, 'n');
  INSERT INTO model_override VALUES ('flash', ${yes}, 0, 30, 'ada');`;

async function expectKept(url: string): Promise<void> {
  const admin = await openLedgerAdmin(url);
  const health = await openHealthStore(url);
  expect(await admin.audit()).toMatchObject({ accounts: 2, reservations: 3, open: 1, entries: 5, findings: [] });
  expect(await admin.named(["day/2026-08-24"])).toMatchObject([{ held: 70, spent: 145, unproven: 100, ownHard: 8000 }]);
  const { holds } = await admin.holds({ limit: 9, charged: true });
  expect(holds.map(({ id, state, amount }) => [id, state, amount])).toEqual([
    ["c.1", "charged", 100],
    ["b.1", "orphaned", 70],
  ]);
  // What was held is settled by today's rules.
  const closed = await admin.resolve("ada", [{ id: "b.1", kind: "released", reason: "never billed" }]);
  expect(closed).toMatchObject([{ id: "b.1", state: "RELEASED", hold: 70 }]);
  expect(await admin.named(["goal/app/goal"])).toMatchObject([{ held: 0, spent: 145 }]);
  expect((await admin.audit()).findings).toEqual([]);
  const { rows, overrides } = await health.load();
  expect(rows).toMatchObject([{ model: "pro", health: { state: "UNHEALTHY", detail: { retryAtMs: 70 } } }]);
  expect(overrides).toMatchObject([{ model: "flash", disabled: true, changedBy: "ada" }]);
  await admin.close();
  await health.close();
}

describe("a database of release 1.0.0 keeps ledger, holds and health", () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-first-release-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("in an SQLite file", async () => {
    const path = join(folder, "gateway.db");
    const db = openSqlite(path, released(sqliteMigrations));
    db.run(rows("1"));
    db.close();
    await expectKept(`sqlite:${path}`);
  });

  describeOnPostgres("a database of release 1.0.0", (postgres) => {
    test("in PostgreSQL", async () => {
      await migratePostgres(postgres.url, released(postgresMigrations));
      // The row that it locked to migrate.
      await postgres.run(`INSERT INTO schema_migration (version, name) VALUES (0, 'lock'); ${rows("true")}`);
      await migratePostgres(postgres.url);
      await expectKept(postgres.url);
    });

    test("is not migrated while a gateway of 1.0.0 runs on it, which goes on; afterwards that can admit nothing", async () => {
      const url = await postgres.server.createDatabase();
      await migratePostgres(url, released(postgresMigrations));
      await postgres.run("INSERT INTO node SELECT 'old', 1, floor(extract(epoch FROM now()) * 1000)", url);
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
