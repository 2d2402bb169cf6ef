import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRecordStore } from "#records/open-record-store.ts";
import { recordStoreContract } from "./record-store.contract.ts";
import { recordCondition } from "./rows/row-condition.ts";

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
