import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteDatabase } from "#db/store-database.ts";
import { initialHealth } from "#health/state-machine/model-health.ts";
import { healthStoreContract } from "./health-store.contract.ts";
import { openHealthStore, sqlHealthStore, toStored } from "./health-store.ts";

const folder = mkdtempSync(join(tmpdir(), "health-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const fresh = () => join(folder, `${++files}.db`);

healthStoreContract("SQLite", () => openHealthStore(`sqlite:${fresh()}`));
healthStoreContract("SQLite in memory", () => openHealthStore("sqlite::memory:"));

const change = { model: "flash", health: toStored(initialHealth(1)), updatedMs: 1, updatedBy: "a" };

test("SQLite: another process, and a later one, can read what one process wrote", async () => {
  const path = fresh();
  const gateway = await openHealthStore(`sqlite:${path}`);
  const command = await openHealthStore(`sqlite:${path}`);
  await command.override({ model: "flash", action: "disable", atMs: 5, by: "ada" });
  expect((await gateway.load()).overrides[0]).toMatchObject({ model: "flash", disabled: true });
  await gateway.save([change]);
  await gateway.close();
  await command.close();
  const later = await openHealthStore(`sqlite:${path}`);
  expect((await later.load()).rows.map(({ model }) => model)).toEqual(["flash"]);
  await later.close();
});

test("SQLite: a row that this release cannot read is left out, and can be overwritten", async () => {
  const db = openSqlite(":memory:");
  const store = sqlHealthStore(sqliteDatabase(db));
  await store.save([change]);
  db.run("UPDATE model_health SET detail = '{}'");
  expect((await store.load()).rows).toEqual([]);
  db.run("UPDATE model_health SET detail = 'nonsense'");
  expect((await store.load()).rows).toEqual([]);
  await store.save([change]);
  expect((await store.load()).rows).toMatchObject([change]);
  await store.close();
});
