import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSqliteWrites } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteMigrations } from "#db/sqlite-migrations.ts";
import { outcomeRecord } from "#learning/outcomes/fixtures.ts";
import { outcomeStoreContract } from "./outcome-store.contract.ts";
import { openSqliteOutcomes, sqliteOutcomes } from "./sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "outcomes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

outcomeStoreContract("SQLite", async () => openSqliteOutcomes(join(folder, `${++files}.db`)));
outcomeStoreContract("SQLite in memory", async () => openSqliteOutcomes(":memory:"));
outcomeStoreContract("SQLite over a shared connection", async () => {
  const path = join(folder, `${++files}.db`);
  const shared = openSqlite(path);
  const store = openSqliteOutcomes(path, async (writes) => runSqliteWrites(shared, writes));
  return { ...store, close: () => store.close().finally(() => shared.close()) };
});

test("SQLite: saving over a shared connection does not invalidate its cached rows", async () => {
  const path = join(folder, `${++files}.db`);
  const shared = openSqlite(path);
  const store = openSqliteOutcomes(path, async (writes) => runSqliteWrites(shared, writes));
  const version = () => shared.query("PRAGMA data_version").get();
  await store.save([outcomeRecord("a", 1)]);
  const before = version();
  await store.save([outcomeRecord("a", 1), outcomeRecord("b", 2)]);
  expect(version()).toEqual(before);
  expect(await store.load(0)).toHaveLength(2);
  await store.close();
  shared.close();
});

test("SQLite: rows that this release would not have written are skipped", async () => {
  const db = openSqlite(":memory:");
  const store = sqliteOutcomes(db);
  await store.save([outcomeRecord("a", 1), outcomeRecord("b", 2), outcomeRecord("c", 3)]);
  db.run("UPDATE routing_outcome SET decision = '{}' WHERE decision_id = 'a'");
  db.run("UPDATE routing_outcome SET signals = 'x' WHERE decision_id = 'b'");
  expect((await store.load(0)).map(({ decisionId }) => decisionId)).toEqual(["c"]);
  await store.close();
});

test("SQLite: retention deletes in the order of saving, so a row saved late stays as long as those before it", async () => {
  const store = openSqliteOutcomes(":memory:");
  const ids = async () => (await store.load(0)).map(({ decisionId }) => decisionId);
  await store.save([outcomeRecord("a", 10), outcomeRecord("b", 30), outcomeRecord("late", 20), outcomeRecord("c", 40)]);
  await store.prune(25, 10);
  expect(await ids()).toEqual(["late", "b", "c"]);
  await store.prune(35, 10);
  expect(await ids()).toEqual(["c"]);
  await store.prune(50, 10);
  expect(await ids()).toEqual([]);
  await store.prune(50, 0);
  await store.save([outcomeRecord("d", 60), outcomeRecord("e", 70)]);
  await store.prune(50, 1);
  expect(await ids()).toEqual(["e"]);
  await store.close();
});

test("SQLite: a database with an index of times is opened, and its outcomes are kept and deleted as others", async () => {
  const path = join(folder, `${++files}.db`);
  const before = openSqlite(
    path,
    sqliteMigrations.filter(({ version }) => version < 120),
  );
  const indexes =
    "SELECT name FROM sqlite_schema WHERE tbl_name IN ('routing_outcome', 'decision_block') AND sql IS NOT NULL AND type = 'index'";
  expect(before.query(indexes).all()).toHaveLength(2);
  const records = [1, 2, 3].map((at) => outcomeRecord(`r${at}`, at));
  await sqliteOutcomes(before).save(records);
  before.close();
  const store = openSqliteOutcomes(path);
  const db = openSqlite(path);
  expect(db.query(indexes).all()).toEqual([]);
  db.close();
  expect(await store.load(0)).toEqual(records);
  await store.prune(2, 10);
  expect(await store.load(0)).toEqual(records.slice(1));
  await store.close();
});
