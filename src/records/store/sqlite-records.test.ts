import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aDecisionRecord } from "#records/fixtures.ts";
import { openRecordStore } from "#records/open-record-store.ts";
import { recordStoreContract } from "./record-store.contract.ts";
import { RecordStore } from "./record-store.ts";
import { recordCondition } from "./rows/row-condition.ts";
import { seqPerMs } from "./seq.ts";
import { sqliteRecords } from "./sqlite-connection.ts";

const folder = mkdtempSync(join(tmpdir(), "records-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

recordStoreContract("SQLite", () => openRecordStore(`sqlite:${join(folder, `${++files}.db`)}`));
recordStoreContract("SQLite in memory", () => openRecordStore("sqlite::memory:"));

test("on rows of earlier releases, no selective filter reads all rows", async () => {
  const path = join(folder, "plans.db");
  await (await openRecordStore(`sqlite:${path}`)).close();
  const db = new Database(path, { readonly: true });
  const rare = [
    { goal: "s1/refactor" },
    { session: "s1" },
    { task: "t1" },
    { requestId: "r1" },
    { cause: ["attempts_exhausted"] },
    { model: ["vendor_emergency"] },
    { tier: ["free"] },
    { kind: ["AUTH"] },
    { alias: ["smart-router-pro"] },
    { action: ["STOP_FOR_HUMAN", "SCOUT"] },
    { outcome: ["failed", "broken_stream"] },
    { status: ["5xx"] },
    { status: ["403", "429"] },
    { refusedBy: ["upstream"] },
    { errorClass: ["timeout"] },
    { costState: ["unknown"] },
  ];
  for (const filter of rare) {
    const { sql, values } = recordCondition({ ...filter, fromMs: 1, toMs: 2_000_000_000_000 }, undefined);
    const plan = db
      .query<{ detail: string }, (string | number)[]>(
        `EXPLAIN QUERY PLAN SELECT r.seq FROM decision_record r WHERE ${sql} ORDER BY r.seq DESC LIMIT 101`,
      )
      .all(...values);
    expect([filter, plan[0]?.detail]).toEqual([
      filter,
      expect.stringMatching(/SEARCH r USING (COVERING )?INDEX decision_record_/),
    ]);
  }
  db.close();
});

test("a decision is searched near the time that its id tells, and everywhere if it is not there", async () => {
  const sql = await sqliteRecords(":memory:");
  const searched: number[] = [];
  const store = await RecordStore.open({
    ...sql,
    search(search) {
      searched.push(search.to - search.from);
      return sql.search(search);
    },
  });
  const madeMs = Date.UTC(2026, 5, 1, 12);
  const [near, long] = [Bun.randomUUIDv7("hex", madeMs), Bun.randomUUIDv7("hex", madeMs)];
  await store.append([
    aDecisionRecord(1, { decision_id: near, recorded_ms: madeMs + 60_000 }),
    aDecisionRecord(2, { decision_id: long, recorded_ms: madeMs + 5 * 3_600_000 }),
  ]);
  expect((await store.get(near))?.decision_id).toBe(near);
  expect(searched).toEqual([3 * 3_600_000 * seqPerMs]);
  expect((await store.get(long))?.decision_id).toBe(long);
  expect(await store.get(Bun.randomUUIDv7("hex", madeMs))).toBeUndefined();
  await store.close();
});
