import { expect, test } from "bun:test";
import { openSqlite } from "#db/sqlite.ts";
import { newTask } from "#pipeline/assess/task/task-memory.ts";
import { manualTime } from "#platform/manual-time.ts";
import { SharedMemory } from "./shared-memory.ts";
import { sharedConversationMemory, sharedTaskMemory } from "./shared-parts.ts";
import type { MemoryRow, RoutingMemoryStore } from "./store/routing-memory-store.ts";
import { sqliteRoutingMemory } from "./store/sqlite-store.ts";

const limits = { remembered: 100, remembered_ms: 60_000 };
const secretKey = "session-of-yoko\ntask-7";

/** Several processes on one store; `close` of one does not close the store for the others. */
function setUp() {
  const db = openSqlite(":memory:");
  const base = sqliteRoutingMemory(db);
  const time = manualTime();
  let failing = false;
  let lookedUp = 0;
  const node = (shared = true) => {
    const store: RoutingMemoryStore = {
      ...base,
      load: (kind, keyHashes) => {
        lookedUp += keyHashes.length;
        return failing ? Promise.reject(new Error("away")) : base.load(kind, keyHashes);
      },
      save: (rows) => (failing ? Promise.reject(new Error("away")) : base.save(rows)),
      close: async () => {},
    };
    const events: string[] = [];
    const memory = new SharedMemory({
      openStore: async () => store,
      shared,
      clock: time.clock,
      timers: time.timers,
      onStore: (state) => void events.push(state),
    });
    return {
      memory,
      events,
      conversations: sharedConversationMemory(memory, time.clock, () => limits),
      tasks: sharedTaskMemory(memory, time.clock, () => limits),
    };
  };
  const rows = () => db.query<MemoryRow, []>("SELECT * FROM routing_memory").all();
  const fail = (on: boolean) => {
    failing = on;
  };
  return { db, time, node, rows, fail, lookedUp: () => lookedUp };
}

test("a conversation that one process has routed is known to the next, but not to the request that triggers the look-up", async () => {
  const { node, time } = setUp();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.close();
  const other = node();
  expect(other.conversations.recall("k", time.clock.now())).toBeUndefined();
  await other.memory.sync();
  expect(other.conversations.recall("k", time.clock.now())?.model).toBe("pro");
});

test("a request routed before the store has answered does not replace the model that has the context cached", async () => {
  const { node, time } = setUp();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.sync();
  const other = node();
  const receivedMs = time.clock.now();
  other.conversations.recall("k", receivedMs);
  time.advance(10);
  other.conversations.remember("k", { model: "flash", atMs: time.clock.now() }, time.clock.now());
  await other.memory.sync();
  expect(other.conversations.recall("k", time.clock.now())?.model).toBe("pro");
  const third = node();
  third.conversations.recall("k", time.clock.now());
  await third.memory.sync();
  expect(third.conversations.recall("k", time.clock.now())?.model).toBe("pro");
});

test("nor does a request that is routed during the look-up; the one after it does", async () => {
  const { node, time } = setUp();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.sync();
  const other = node();
  const receivedMs = time.clock.now();
  other.conversations.recall("k", receivedMs);
  await other.memory.sync();
  time.advance(10);
  other.conversations.remember("k", { model: "flash", atMs: time.clock.now() }, receivedMs);
  expect(other.conversations.recall("k", time.clock.now())?.model).toBe("pro");
  other.conversations.remember("k", { model: "flash", atMs: time.clock.now() }, time.clock.now());
  expect(other.conversations.recall("k", time.clock.now())?.model).toBe("flash");
});

test("a process that shares its store learns that another has moved a conversation; one that does not share it does not ask", async () => {
  const { node, time } = setUp();
  const [one, other, alone] = [node(), node(), node(false)];
  for (const { conversations } of [one, other, alone])
    conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.sync();
  time.advance(10_000);
  other.conversations.remember("k", { model: "flash", atMs: time.clock.now() }, time.clock.now());
  await other.memory.sync();
  for (const { conversations } of [one, alone]) conversations.recall("k", time.clock.now());
  await one.memory.sync();
  await alone.memory.sync();
  expect(one.conversations.recall("k", time.clock.now())?.model).toBe("flash");
  expect(alone.conversations.recall("k", time.clock.now())?.model).toBe("pro");
});

test("the counts of two processes for one task are merged", async () => {
  const { node, time } = setUp();
  const now = time.clock.now();
  const [one, other] = [node(), node()];
  one.tasks.remember("t", { ...newTask, attempts: 3, flashAttempts: 2, filesTouched: 1, lastRole: "worker" }, now);
  await one.memory.sync();
  other.tasks.recall("t", now);
  other.tasks.remember("t", { ...newTask, attempts: 1, filesTouched: 4 }, now);
  await other.memory.sync();
  expect(other.tasks.recall("t", now)).toMatchObject({
    attempts: 3,
    flashAttempts: 2,
    filesTouched: 4,
    lastRole: "worker",
  });
});

test("the store contains no key, only salted hashes, different in every store", async () => {
  const hashes = await Promise.all(
    [setUp(), setUp()].map(async ({ node, time, rows }) => {
      const one = node();
      one.conversations.remember(secretKey, { model: "pro", atMs: time.clock.now() }, time.clock.now());
      await one.memory.sync();
      expect(JSON.stringify(rows())).not.toMatch(/yoko|task-7/);
      return (rows()[0] as unknown as { key_hash: string }).key_hash;
    }),
  );
  expect(hashes[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(hashes[0]).not.toBe(hashes[1]!);
});

test("rows older than the policy remembers are neither adopted nor kept", async () => {
  const { node, time, rows } = setUp();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.sync();
  time.advance(limits.remembered_ms + 1);
  const other = node();
  other.conversations.recall("k", time.clock.now());
  await other.memory.sync();
  expect(other.conversations.recall("k", time.clock.now())).toBeUndefined();
  expect(rows()).toEqual([]);
});

test("a single process looks up only rows that an earlier one may have written, as long as they are valid", async () => {
  const { node, time, lookedUp } = setUp();
  const first = node(false);
  first.conversations.recall("k", time.clock.now());
  await first.memory.sync();
  // The request that opened the store could not know yet that it is empty.
  expect(lookedUp()).toBe(1);
  first.conversations.recall("new", time.clock.now());
  first.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await first.memory.sync();
  expect(lookedUp()).toBe(1);
  const second = node(false);
  for (const key of ["other", "k"]) {
    second.conversations.recall(key, time.clock.now());
    await second.memory.sync();
  }
  expect(second.conversations.recall("k", time.clock.now())?.model).toBe("pro");
  expect(lookedUp()).toBe(3);
  // The first process may still answer its last streams.
  time.advance(180_000 + limits.remembered_ms);
  second.conversations.recall("last", time.clock.now());
  time.advance(1);
  second.conversations.recall("too late", time.clock.now());
  await second.memory.sync();
  expect(lookedUp()).toBe(4);
});

test("a look-up does not cause an early save", async () => {
  const { node, time, rows, lookedUp } = setUp();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  one.conversations.recall("unknown", time.clock.now());
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(lookedUp()).toBe(1);
  expect(rows()).toEqual([]);
  await time.advanceAsync(1_000);
  expect(rows()).toHaveLength(1);
});

test("a thousand changes are saved at once", async () => {
  const { node, time, rows } = setUp();
  const one = node();
  for (let n = 0; n < 1_000; n++)
    one.conversations.remember(`k${n}`, { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await time.advanceAsync(0);
  // As many as are remembered at most.
  expect(rows()).toHaveLength(100);
});

test("a single process saves a conversation that stays on its model only occasionally", async () => {
  const { node, time, rows } = setUp();
  const one = node(false);
  const savedBefore = async (model: string) => {
    one.conversations.remember("k", { model, atMs: time.clock.now() }, time.clock.now());
    await one.memory.sync();
    return time.clock.now() - (rows()[0] as unknown as { heard_ms: number }).heard_ms;
  };
  expect(await savedBefore("pro")).toBe(0);
  time.advance(limits.remembered_ms / 8 - 1);
  expect(await savedBefore("pro")).toBe(limits.remembered_ms / 8 - 1);
  expect(await savedBefore("flash")).toBe(0);
  time.advance(limits.remembered_ms / 8);
  expect(await savedBefore("flash")).toBe(0);
});

test("changes are saved in a batch a second later, again after a failure, and an outage of the store is reported once", async () => {
  const { node, time, rows, fail } = setUp();
  const one = node();
  for (let n = 0; n < 450; n++)
    one.conversations.remember(`k${n % 90}`, { model: "pro", atMs: time.clock.now() }, time.clock.now());
  expect(rows()).toEqual([]);
  fail(true);
  for (let n = 0; n < 4; n++) await one.memory.sync();
  expect(one.events).toEqual(["unavailable"]);
  fail(false);
  time.advance(3_000);
  await one.memory.sync();
  expect(one.events).toEqual(["unavailable", "available"]);
  expect(rows()).toHaveLength(90);
});

test.each(["", "{}", "[]", '{"model":7}', '{"model":"pro","new":1}'])(
  "a row that this release would not have written (%p) is ignored",
  async (value) => {
    const { node, time, db } = setUp();
    const one = node();
    one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
    await one.memory.sync();
    db.run("UPDATE routing_memory SET value = ?", [value]);
    const other = node();
    other.conversations.recall("k", time.clock.now());
    await other.memory.sync();
    expect(other.conversations.recall("k", time.clock.now())).toBeUndefined();
  },
);
