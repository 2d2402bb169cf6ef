import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSqliteWrites } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
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
