import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualTime } from "#platform/manual-time.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { aDecisionRecord } from "./fixtures.ts";
import { recordStoreContract } from "./store/record-store.contract.ts";
import { openRecordStore, type RecordStore } from "./store/record-store.ts";
import { StoredRecords } from "./stored-records.ts";

const dayMs = 86_400_000;
const opened: StoredRecords[] = [];
afterEach(async () => {
  for (const records of opened.splice(0)) await records.close();
});

function append(records: StoredRecords, all: readonly DecisionRecord[]): void {
  for (const record of all) records.append(record);
}

/** Records over a store in memory that can be unavailable, or lose its answers. */
async function someRecords(rules = { enabled: true, retention_days: 30, max_bytes: 1_000_000_000 }) {
  const time = manualTime();
  const store = await openRecordStore("sqlite::memory:");
  const dropped: number[] = [];
  const states: string[] = [];
  let mode: "up" | "away" | "loses_answers" = "up";
  const base: Pick<RecordStore, keyof RecordStore> = store;
  const batches: number[] = [];
  let onWrite = () => {};
  const write = async (batch: readonly DecisionRecord[]) => {
    if (mode === "away") throw new Error("away");
    batches.push(batch.length);
    onWrite();
    await base.append(batch);
    if (mode === "loses_answers") throw new Error("the answer was lost");
  };
  const wrapped = new Proxy(store, {
    get(target, name) {
      if (name === "append") return write;
      const member = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const records = new StoredRecords({
    openStore: async () => wrapped,
    kind: "sqlite",
    rules: () => rules,
    taskLimits: () => ({ remembered: 100, remembered_ms: 3_600_000 }),
    shared: false,
    clock: time.clock,
    timers: time.timers,
    random: () => 0.5,
    onDrop: (count) => dropped.push(count),
    onStore: (state) => states.push(state),
  });
  opened.push(records);
  const at = (n: number, given: Partial<DecisionRecord> = {}) =>
    aDecisionRecord(n, { recorded_ms: time.clock.now(), ...given });
  const setMode = (to: typeof mode) => {
    mode = to;
  };
  const setOnWrite = (to: () => void) => {
    onWrite = to;
  };
  return { time, store, records, dropped, states, batches, at, setMode, rules, onWrite: setOnWrite };
}

test("records that come while many costs are corrected are written in between", async () => {
  const { records, store, at } = await someRecords();
  let corrected = 0;
  Object.assign(store, {
    async correct(corrections: readonly unknown[]) {
      corrected += corrections.length;
      if (corrected === 100) append(records, [at(1)]);
    },
  });
  for (let n = 0; n < 250; n++) {
    records.correct({ decisionId: `d${n}`, attempt: 1, costNanoUsd: 1, state: "known" });
  }
  await records.save();
  expect([corrected, records.status()]).toEqual([100, expect.objectContaining({ queued: 1, written: 0 })]);
  await records.save();
  expect([corrected, records.status()]).toEqual([200, expect.objectContaining({ queued: 0, written: 1 })]);
  await records.save();
  expect(corrected).toBe(250);
});

test("while the store is unavailable records wait; those above the limit are dropped and counted, and the rest is written later", async () => {
  const { records, dropped, states, at, setMode } = await someRecords();
  setMode("away");
  append(records, [at(0)]);
  await records.save();
  expect(records.status()).toMatchObject({ ok: false, queued: 1, dropped: 0 });
  for (let n = 1; n <= 10_005; n++) append(records, [at(n)]);
  expect(records.status().dropped).toBeGreaterThan(0);
  expect(dropped.length).toBe(records.status().dropped);
  setMode("up");
  await records.save();
  const { written, dropped: lost, ok } = records.status();
  expect([written + lost, ok]).toEqual([10_006, true]);
  expect((await records.query({}, { limit: 1 })).records[0]?.decision_id).toBe(`d${written - 1}`);
  expect(states).toEqual(["unavailable", "available"]);
});

test("records that come while a batch is written wait for a whole batch, or for their time", async () => {
  const { time, records, batches, at } = await someRecords();
  let added = 0;
  const add = (count: number) =>
    append(
      records,
      Array.from({ length: count }, () => at(++added)),
    );
  const written = async (count: number) => {
    while (records.status().written < count) await Bun.sleep(1);
  };
  add(128);
  add(20);
  await written(128);
  add(108);
  await written(256);
  add(3);
  time.advance(250);
  await written(259);
  expect(batches).toEqual([128, 128, 3]);
});

test("the store counts as answering as soon as it has taken a batch, while more and more waits", async () => {
  const { records, at, setMode, onWrite } = await someRecords();
  setMode("away");
  append(records, [at(0)]);
  await records.save();
  expect(records.status().ok).toBe(false);
  setMode("up");
  let seen: readonly boolean[] = [];
  onWrite(() => {
    seen = [...seen, records.status().ok];
    if (seen.length < 3)
      append(
        records,
        Array.from({ length: 600 }, (_, n) => at(n)),
      );
  });
  append(
    records,
    Array.from({ length: 600 }, (_, n) => at(n)),
  );
  await records.save();
  expect(seen.slice(0, 2)).toEqual([false, true]);
});

test("records that cannot be written before the end are counted as dropped", async () => {
  const { records, dropped, at, setMode } = await someRecords();
  setMode("away");
  append(records, [at(0), at(1)]);
  await records.save();
  append(records, [at(2)]);
  await records.close();
  expect(records.status()).toMatchObject({ ok: false, queued: 0, written: 0, dropped: 3 });
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

test("a follower receives each record that passes its filter, once, until it stops", async () => {
  const { records, at } = await someRecords();
  const seen: string[] = [];
  const stop = records.subscribe({ tier: ["pro"] }, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  append(records, [at(1), at(2, { tier: "pro" })]);
  await records.save();
  stop();
  append(records, [at(3, { tier: "pro" })]);
  await records.save();
  expect(seen).toEqual(["d2"]);
});

const folder = mkdtempSync(join(tmpdir(), "stored-records-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** Two nodes over one database: followers of `own` receive by polls what `other` writes. */
async function twoNodes() {
  const time = manualTime();
  const url = `sqlite:${join(folder, `${++files}.db`)}`;
  let isAway = false;
  let polls = 0;
  const node = async (random: number) => {
    const store = await openRecordStore(url);
    const wrapped = new Proxy(store, {
      get(target, name) {
        if (name === "follow") {
          const follower = target.follow();
          return () => ({
            read(nowMs: number) {
              polls += 1;
              return isAway ? Promise.reject(new Error("away")) : follower.read(nowMs);
            },
          });
        }
        const member = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const records = new StoredRecords({
      openStore: async () => wrapped,
      kind: "sqlite",
      rules: () => ({ enabled: true, retention_days: 30, max_bytes: 1_000_000_000 }),
      taskLimits: () => ({ remembered: 100, remembered_ms: 3_600_000 }),
      shared: true,
      clock: time.clock,
      timers: time.timers,
      random: () => random,
    });
    opened.push(records);
    return records;
  };
  const [own, other] = [await node(0.25), await node(0.75)];
  let made = 0;
  return {
    time,
    own,
    other,
    polls: () => polls,
    setAway(to: boolean) {
      isAway = to;
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
    /** Lets the next poll happen. Reads are answered in order, so a read sent after it is answered after it. */
    async poll(): Promise<void> {
      await time.advanceAsync(400);
      for (let page = 0; page < 4; page++) await own.query({}, { limit: 1 }).catch(() => undefined);
      await time.advanceAsync(0);
    },
  };
}

test("a follower receives the records of other nodes, once, in order, filtered, until it stops", async () => {
  const { own, write, poll } = await twoNodes();
  const [all, pro]: [string[], string[]] = [[], []];
  const stops = [
    own.subscribe({}, (news) => all.push(...news.map(({ decision_id }) => decision_id))),
    own.subscribe({ tier: ["pro"] }, (news) => pro.push(...news.map(({ decision_id }) => decision_id))),
  ];
  await poll();
  const first = await write(3);
  await poll();
  const second = [...(await write(2, { tier: "pro" })), ...(await write(1))];
  for (let round = 0; round < 8; round++) await poll();
  expect(all).toEqual([...first, ...second]);
  expect(pro).toEqual(second.slice(0, 2));
  for (const stop of stops) stop();
  await write(1, { tier: "pro" });
  await poll();
  expect([all.length, pro.length]).toEqual([6, 2]);
});

test("a follower receives its own node's records too, once", async () => {
  const { time, own, poll, write } = await twoNodes();
  const seen: string[] = [];
  own.subscribe({}, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  await poll();
  append(own, [aDecisionRecord(900, { recorded_ms: time.clock.now() })]);
  await own.save();
  const others = await write(1);
  await poll();
  await poll();
  expect(seen).toEqual(["d900", ...others]);
});

test("a follower receives all records of one moment, also if one read cannot return them all", async () => {
  const { own, write, poll } = await twoNodes();
  const seen: string[] = [];
  own.subscribe({}, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  await poll();
  const written = await write(1_100);
  await poll();
  await poll();
  expect(seen).toEqual(written);
});

test("a follower receives what other nodes wrote during an outage of the store on this node", async () => {
  const { own, write, poll, setAway } = await twoNodes();
  const seen: string[] = [];
  own.subscribe({}, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  await poll();
  setAway(true);
  const written = await write(2);
  for (let round = 0; round < 20; round++) await poll();
  setAway(false);
  await poll();
  expect(seen).toEqual(written);
});

test("what another node wrote late, or by a clock that is behind, is delivered within seconds, once", async () => {
  const { time, own, write, poll } = await twoNodes();
  const seen: string[] = [];
  own.subscribe({}, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  for (let round = 0; round < 40; round++) await poll();
  const late = await write(2, { recorded_ms: time.clock.now() - 12_000 });
  for (let round = 0; round < 10; round++) await poll();
  expect(seen).toEqual(late);
  for (let round = 0; round < 100; round++) await poll();
  expect(seen).toEqual(late);
});

test("a follower does not receive what was written before it subscribed", async () => {
  const { time, own, write, poll } = await twoNodes();
  await write(2, { recorded_ms: time.clock.now() - 12_000 });
  const seen: string[] = [];
  own.subscribe({}, (news) => seen.push(...news.map(({ decision_id }) => decision_id)));
  for (let round = 0; round < 30; round++) await poll();
  expect(seen).toEqual([]);
});

test("there are no polls without followers, and one poll at a time serves all of them", async () => {
  const { time, own, polls } = await twoNodes();
  await own.query({}, { limit: 1 });
  const follow = () => own.subscribe({}, () => {});
  const stop = follow();
  await time.advanceAsync(400); // the poll is in progress
  stop();
  const again = follow();
  for (let reads = 0; reads < 6; reads++) await own.query({}, { limit: 1 });
  const before = polls();
  for (let round = 0; round < 5; round++) {
    await time.advanceAsync(400);
    await own.query({}, { limit: 1 });
    await time.advanceAsync(0);
  }
  expect(polls() - before).toBe(5);
  again();
  await time.advanceAsync(10_000);
  expect(polls() - before).toBe(5);
});

test("records of one moment have distinct numbers, in their order", async () => {
  const { records, at } = await someRecords();
  append(
    records,
    Array.from({ length: 300 }, (_, n) => at(n)),
  );
  await records.save();
  const ids = (await records.query({}, { limit: 300 })).records.map(({ decision_id }) => decision_id);
  expect(ids).toEqual(Array.from({ length: 300 }, (_, n) => `d${299 - n}`));
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
  const { time, store, records, at } = await someRecords();
  const begunMs = time.clock.now();
  append(
    records,
    Array.from({ length: 600 }, (_, n) => at(n)),
  );
  await records.save();
  time.advance(31 * dayMs);
  append(records, [at(1_000)]);
  for (let round = 0; round < 4; round++) await records.save();
  expect((await store.size()).rows).toBe(1);
  expect((await records.summary({ fromMs: begunMs, toMs: begunMs + dayMs })).requests).toBe(600);
});

test("records beyond the size limit are deleted, the oldest first, however fast new ones arrive", async () => {
  const { time, store, records, at } = await someRecords({ enabled: true, retention_days: 30, max_bytes: 200_000 });
  for (let n = 0; n < 3_000; n++) {
    if (n % 100 === 0) time.advance(2_000);
    append(records, [at(n)]);
    if (n % 100 === 99) await records.save();
  }
  for (let round = 0; round < 20; round++) {
    time.advance(61_000);
    await records.save();
  }
  expect((await store.size()).bytes).toBeLessThanOrEqual(200_000);
  expect((await records.query({}, { limit: 1 })).records[0]?.decision_id).toBe("d2999");
});

test("records pass the size limit by what is written in two seconds, not longer", async () => {
  const maxBytes = 200_000;
  const { time, store, records, at } = await someRecords({ enabled: true, retention_days: 30, max_bytes: maxBytes });
  const sizes: number[] = [];
  for (let batch = 0; batch < 50; batch++) {
    append(
      records,
      Array.from({ length: 500 }, (_, n) => at(batch * 500 + n)),
    );
    await records.save();
    sizes.push((await store.size()).bytes);
    time.advance(1_000);
  }
  const perBatch = sizes[0] ?? 0;
  const peak = Math.max(...sizes);
  expect(peak).toBeGreaterThan(maxBytes - perBatch);
  expect(peak).toBeLessThan(maxBytes + 3 * perBatch);
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
  records.correct({ decisionId: "d1", attempt: 2, costNanoUsd: 9_000_000, state: "estimated" });
  await records.save();
  expect(await records.get("d1")).toMatchObject({ cost_nano_usd: 9_000_000, cost_state: "estimated" });
  const now = time.clock.now();
  expect((await records.summary({ fromMs: now - 60_000, toMs: now + 60_000 })).cost_nano_usd).toBe(9_000_000);
});

test("lists are ordered by the time at which requests ended, although some are handed over later", async () => {
  const { records, time, at } = await someRecords();
  const nowMs = time.clock.now();
  const ends = [9, 2, 5, 7].map((ms) => nowMs + ms);
  for (const [n, recorded_ms] of ends.entries()) append(records, [at(n, { recorded_ms })]);
  await records.save();
  const listed = (await records.query({}, { limit: 10 })).records.map(({ recorded_ms }) => recorded_ms);
  expect(listed).toEqual(ends.toSorted((a, b) => b - a));
});

recordStoreContract("SQLite", () => openRecordStore("sqlite::memory:"));
