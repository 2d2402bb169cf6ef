import { expect, test } from "bun:test";
import { openSqlite } from "#db/sqlite.ts";
import { newTask } from "#pipeline/assess/task/task-memory.ts";
import { manualTime } from "#platform/manual-time.ts";
import { SharedMemory } from "./shared-memory.ts";
import { sharedConversationMemory, sharedTaskMemory } from "./shared-parts.ts";
import type { MemoryRow, RoutingMemoryStore } from "./store/routing-memory-store.ts";
import { sqliteRoutingMemory } from "./store/sqlite-store.ts";

const limits = { remembered: 100, remembered_ms: 60_000 };
const secretKey = "session-of-ada\ntask-7";

/** Several processes on one store; `close` of one leaves the store to the others. */
function world() {
  const db = openSqlite(":memory:");
  const base = sqliteRoutingMemory(db);
  const time = manualTime();
  let failing = false;
  const node = (shared = true) => {
    const store: RoutingMemoryStore = {
      ...base,
      load: (keys) => (failing ? Promise.reject(new Error("away")) : base.load(keys)),
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
  return { db, time, node, rows, fail };
}

test("a conversation that one process has routed is known to the next, but not to the request that finds it missing", async () => {
  const { node, time } = world();
  const one = node();
  one.conversations.remember("k", { model: "pro", atMs: time.clock.now() }, time.clock.now());
  await one.memory.close();
  const other = node();
  expect(other.conversations.recall("k", time.clock.now())).toBeUndefined();
  await other.memory.sync();
  expect(other.conversations.recall("k", time.clock.now())?.model).toBe("pro");
});

test("a request routed before the store has answered does not replace the model that has the context cached", async () => {
  const { node, time } = world();
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

test("nor does a request that the store's answer has overtaken; the one after it does", async () => {
  const { node, time } = world();
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

test("a process that shares its store learns that another has moved a conversation; one that does not, does not ask", async () => {
  const { node, time } = world();
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

test("what two processes have counted of a task is joined", async () => {
  const { node, time } = world();
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

test("the store holds no key, only salted hashes, different in every store", async () => {
  const hashes = await Promise.all(
    [world(), world()].map(async ({ node, time, rows }) => {
      const one = node();
      one.conversations.remember(secretKey, { model: "pro", atMs: time.clock.now() }, time.clock.now());
      await one.memory.sync();
      expect(JSON.stringify(rows())).not.toMatch(/ada|task-7/);
      return (rows()[0] as unknown as { key_hash: string }).key_hash;
    }),
  );
  expect(hashes[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(hashes[0]).not.toBe(hashes[1]!);
});

test("what is older than the policy remembers is neither taken over nor kept", async () => {
  const { node, time, rows } = world();
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

test("changes are saved in a batch a quarter of a second later, again after a failure, and the store's absence is told once", async () => {
  const { node, time, rows, fail } = world();
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
    const { node, time, db } = world();
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
