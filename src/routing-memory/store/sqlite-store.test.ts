import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSqliteWrites } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { routingMemoryStoreContract } from "./routing-memory-store.contract.ts";
import type { MemoryRow } from "./routing-memory-store.ts";
import { openSqliteRoutingMemory } from "./sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "routing-memory-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const fresh = () => join(folder, `${++files}.db`);
const row: MemoryRow = { kind: "task", keyHash: "a", value: "{}", lastSeenMs: 1 };

routingMemoryStoreContract("SQLite", async () => openSqliteRoutingMemory(fresh()));
routingMemoryStoreContract("SQLite in memory", async () => openSqliteRoutingMemory(":memory:"));
routingMemoryStoreContract("SQLite over a shared connection", async () => {
  const path = fresh();
  const shared = openSqlite(path);
  const store = openSqliteRoutingMemory(path, async (writes) => runSqliteWrites(shared, writes));
  return { ...store, close: () => store.close().finally(() => shared.close()) };
});

test("SQLite: saving over a shared connection does not invalidate its cached rows", async () => {
  const path = fresh();
  const shared = openSqlite(path);
  const store = openSqliteRoutingMemory(path, async (writes) => runSqliteWrites(shared, writes));
  const version = () => shared.query("PRAGMA data_version").get();
  await store.save([row]);
  const before = version();
  await store.save([{ ...row, lastSeenMs: 2 }]);
  expect(version()).toEqual(before);
  expect(await store.load("task", ["a"])).toEqual([{ ...row, lastSeenMs: 2 }]);
  await store.close();
  shared.close();
});

test("SQLite: processes on one file have one salt and see each other's rows", async () => {
  const path = fresh();
  const one = openSqliteRoutingMemory(path);
  const other = openSqliteRoutingMemory(path);
  expect(await other.salt()).toBe(await one.salt());
  await one.save([row]);
  expect(await other.load("task", ["a"])).toEqual([row]);
  await one.close();
  await other.close();
});

test("SQLite: a save waits for another writing process without blocking the event loop", async () => {
  const path = fresh();
  const store = openSqliteRoutingMemory(path);
  const writer = openSqlite(path);
  writer.run("BEGIN IMMEDIATE");
  const saving = store.save([row]);
  await Promise.resolve();
  expect(await store.load("task", ["a"])).toEqual([]);
  writer.run("COMMIT");
  await saving;
  expect(await store.load("task", ["a"])).toEqual([row]);
  writer.close();
  await store.close();
});
