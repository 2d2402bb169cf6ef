import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLargeStore, type StoreDatabase } from "#db/store-database.ts";
import { type ManualTime, manualTime } from "#platform/testing/manual-time.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { aDecisionRecord } from "./fixtures.ts";
import type { RecordFilter } from "./records.ts";
import { recordStoreContract } from "./store/record-store.contract.ts";
import { openRecordStore } from "./store/record-store.ts";
import { StoredRecords } from "./stored-records.ts";

const dayMs = 86_400_000;
const opened: StoredRecords[] = [];
afterEach(async () => {
  for (const records of opened.splice(0)) await records.close();
});

function append(records: StoredRecords, all: readonly DecisionRecord[]): void {
  for (const record of all) records.add(() => record);
}

/** The records of one process over a database. */
function recordsOver(database: StoreDatabase, time: ManualTime, random = 0.5) {
  const events = { dropped: [] as number[], states: [] as string[] };
  const records = new StoredRecords({
    openDatabase: async () => database,
    kind: "sqlite",
    rules: () => ({ enabled: true, retention_days: 30, max_bytes: 1_000_000_000 }),
    taskLimits: () => ({ remembered: 100, remembered_ms: 3_600_000 }),
    clock: time.clock,
    timers: time.timers,
    random: () => random,
    onDrop: (count) => events.dropped.push(count),
    onStore: (state) => events.states.push(state),
  });
  opened.push(records);
  return { records, ...events };
}

/** Records over a database in memory that can be unavailable, or lose its answers. */
async function someRecords() {
  const time = manualTime();
  const database = await openLargeStore("sqlite::memory:");
  let mode: "up" | "unavailable" | "loses_answers" = "up";
  const unreliable: StoreDatabase = {
    ...database,
    async write(...statements) {
      if (mode === "unavailable") throw new Error("unavailable");
      const answer = await database.write(...statements);
      if (mode === "loses_answers") throw new Error("the answer was lost");
      return answer;
    },
  };
  return {
    time,
    database,
    ...recordsOver(unreliable, time),
    at: (n: number, given: Partial<DecisionRecord> = {}) =>
      aDecisionRecord(n, { recorded_ms: time.clock.now(), ...given }),
    setMode(to: typeof mode) {
      mode = to;
    },
  };
}

test("while the store is unavailable records wait; those above the limit are dropped and counted, and the rest is written later", async () => {
  const { records, dropped, states, at, setMode } = await someRecords();
  setMode("unavailable");
  append(records, [at(0)]);
  await records.save();
  expect(records.status()).toMatchObject({ ok: false, queued: 1, dropped: 0 });
  for (let n = 1; n <= 10_005; n++) append(records, [at(n)]);
  expect(records.status().dropped).toBeGreaterThan(0);
  expect(dropped.length).toBe(records.status().dropped);
  setMode("up");
  await records.save();
  const { dropped: lost, ok } = records.status();
  const { rows } = await records.size();
  expect([rows + lost, ok]).toEqual([10_006, true]);
  expect((await records.query({}, { limit: 1 })).records[0]?.decision_id).toBe(`d${rows - 1}`);
  expect(states).toEqual(["unavailable", "available"]);
});

test("records that cannot be written before the end are counted as dropped", async () => {
  const { records, dropped, at, setMode } = await someRecords();
  setMode("unavailable");
  append(records, [at(0), at(1)]);
  await records.save();
  append(records, [at(2)]);
  await records.close();
  expect(records.status()).toMatchObject({ ok: false, queued: 0, dropped: 3 });
  expect(dropped).toEqual([3]);
});

test("a batch whose answer was lost is neither written nor counted twice", async () => {
  const { time, records, at, setMode } = await someRecords();
  setMode("loses_answers");
  append(records, [at(1), at(2)]);
  await records.save();
  setMode("up");
  append(records, [at(3)]);
  await records.save();
  await records.save();
  const now = time.clock.now();
  const summary = await records.summary({ fromMs: now - 60_000, toMs: now + 60_000 });
  expect(summary.requests).toBe(3);
  expect((await records.query({}, { limit: 9 })).records).toHaveLength(3);
});

test("a record that cannot be made is dropped alone, and reported", async () => {
  const { records, dropped, states, at } = await someRecords();
  append(records, [at(1)]);
  records.add(() => {
    throw new Error("a defect");
  });
  append(records, [at(2)]);
  await records.save();
  expect((await records.query({}, { limit: 9 })).records).toHaveLength(2);
  expect([dropped, states, records.status().queued]).toEqual([[1], [], 0]);
});

const folder = mkdtempSync(join(tmpdir(), "stored-records-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** Two nodes over one database, which can be unavailable on the first of them. */
async function twoNodes() {
  const time = manualTime();
  const url = `sqlite:${join(folder, `${++files}.db`)}`;
  let isUnavailable = false;
  const database = await openLargeStore(url);
  const read: StoreDatabase["read"] = (...statements) =>
    isUnavailable ? Promise.reject(new Error("unavailable")) : database.read(...statements);
  const own = recordsOver({ ...database, read }, time, 0.25).records;
  const other = recordsOver(await openLargeStore(url), time, 0.75).records;
  let made = 0;
  return {
    time,
    own,
    setUnavailable(to: boolean) {
      isUnavailable = to;
    },
    /** Writes records of the other node; returns their ids. */
    async write(count: number, given: Partial<DecisionRecord> = {}): Promise<string[]> {
      const records = Array.from({ length: count }, () =>
        aDecisionRecord(++made, { recorded_ms: time.clock.now(), ...given }),
      );
      append(other, records);
      await other.save();
      return records.map(({ decision_id }) => decision_id);
    },
    /** Lets the next poll happen. */
    async poll(): Promise<void> {
      await time.advanceAsync(0);
      await time.advanceAsync(400);
      await time.advanceAsync(0);
    },
  };
}

/** The ids that a follower of `own` receives. */
async function followed({ own, poll }: Awaited<ReturnType<typeof twoNodes>>, filter: RecordFilter = {}) {
  const seen: string[] = [];
  const stop = own.subscribe(filter, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  await poll();
  return { seen, stop };
}

test("a follower receives the records of all nodes, each once, in order, filtered, until it stops", async () => {
  const nodes = await twoNodes();
  const { time, own, write, poll } = nodes;
  // Of what was written before it began it receives nothing.
  await write(2, { tier: "pro" });
  const [all, pro] = [await followed(nodes), await followed(nodes, { tier: ["pro"] })];
  append(own, [aDecisionRecord(900, { recorded_ms: time.clock.now() })]);
  await own.save();
  await poll();
  const written = ["d900", ...(await write(2, { tier: "pro" })), ...(await write(1))];
  for (let round = 0; round < 8; round++) await poll();
  expect(all.seen).toEqual(written);
  expect(pro.seen).toEqual(written.slice(1, 3));
  for (const { stop } of [all, pro]) stop();
  await write(1, { tier: "pro" });
  await poll();
  expect([all.seen.length, pro.seen.length]).toEqual([4, 2]);
});

test("a follower receives what was written during an outage of the store on this node, late, or by a clock that is behind", async () => {
  const nodes = await twoNodes();
  const { seen } = await followed(nodes);
  nodes.setUnavailable(true);
  const written = await nodes.write(2);
  for (let round = 0; round < 20; round++) await nodes.poll();
  nodes.setUnavailable(false);
  const late = await nodes.write(2, { recorded_ms: nodes.time.clock.now() - 12_000 });
  for (let round = 0; round < 20; round++) await nodes.poll();
  expect(seen).toEqual([...written, ...late]);
});

test("a record that the ledger booked on the day before counts there", async () => {
  const { time, records, at } = await someRecords();
  const midnight = time.clock.now();
  time.advance(5_000);
  append(records, [at(1), at(2, { recorded_ms: midnight - 1 })]);
  await records.save();
  expect((await records.summary({ fromMs: midnight - dayMs, toMs: midnight })).requests).toBe(1);
  expect((await records.summary({ fromMs: midnight, toMs: midnight + dayMs })).requests).toBe(1);
});

test("records older than the retention are deleted in chunks, but not their sums", async () => {
  const { time, records, at } = await someRecords();
  const begunMs = time.clock.now();
  append(
    records,
    Array.from({ length: 600 }, (_, n) => at(n)),
  );
  await records.save();
  time.advance(31 * dayMs);
  append(records, [at(1_000)]);
  for (let round = 0; round < 4; round++) await records.save();
  expect((await records.size()).rows).toBe(1);
  expect((await records.summary({ fromMs: begunMs, toMs: begunMs + dayMs })).requests).toBe(600);
});

test("a cost that the ledger learns later reaches the record, also one that still waits to be written", async () => {
  const { time, records, at } = await someRecords();
  const open = at(1);
  append(records, [
    {
      ...open,
      cost_nano_usd: 0,
      cost_state: "unknown",
      attempts: open.attempts.map((attempt) => ({ ...attempt, cost_nano_usd: null })),
    },
  ]);
  records.addCorrection({ id: "d1.2", charged: 9_000_000, state: "EXPIRED_CHARGED" });
  await records.save();
  expect(await records.get("d1")).toMatchObject({ cost_nano_usd: 9_000_000, cost_state: "estimated" });
  const now = time.clock.now();
  expect((await records.summary({ fromMs: now - 60_000, toMs: now + 60_000 })).cost_nano_usd).toBe(9_000_000);
});

recordStoreContract("SQLite", () => openRecordStore("sqlite::memory:"));

test("tasks named by a flood of requests are deleted with the next records, not an hour later", async () => {
  const { records, database, time, at } = await someRecords();
  append(records, [at(0)]);
  await records.save(); // the first deletion, after which the next is due in an hour
  for (let n = 0; n < 1_500; n++) await records.saveTask(`t${n}`, "{}", time.clock.now() + n);
  append(records, [at(1)]);
  time.advance(3_000);
  await records.save();
  const [rows] = await database.read(["SELECT COUNT(*) AS count FROM task_state"]);
  expect(rows).toEqual([{ count: 100 }]);
});
