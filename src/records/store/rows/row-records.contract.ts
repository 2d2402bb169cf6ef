import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import type { RecordFilter, RecordPage } from "#records/records.ts";
import { matchesFilter } from "#records/store/filter-sql.ts";
import { RecordStore } from "#records/store/record-store.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";
import { writeRows } from "./fixtures.ts";

/** The requirements on records that earlier releases have left. `open` returns a connection to an empty database. */
export function rowRecordsContract(name: string, open: () => Promise<SqlConnection>): void {
  describe(`${name}: records of earlier releases beside those of this one`, () => {
    const startMs = Date.UTC(2026, 5, 1, 12);
    let sql: SqlConnection;
    let store: RecordStore;
    beforeEach(async () => {
      sql = await open();
      store = await RecordStore.open(sql);
    });
    afterEach(() => store.close());

    const record = (n: number, given: Partial<DecisionRecord> = {}) =>
      aDecisionRecord(n, { recorded_ms: startMs + n * 60_000, ...given });
    const someRecords = () =>
      Array.from({ length: 90 }, (_, n) =>
        record(n, {
          request_id: `r${n % 30}`,
          goal: n % 2 === 0 ? "adhoc" : "s1/refactor",
          tier: n % 3 === 0 ? "pro" : "flash",
          alias: n % 7 === 0 ? "smart-router-pro" : "smart-router",
          rule: n % 5 === 0 ? "tool_depth, same_error_count" : null,
          status: n % 9 === 0 ? 403 : 200,
          outcome: n % 9 === 0 ? "refused" : "answered",
          refused_by: n % 9 === 0 ? "gateway" : null,
        }),
      );

    /** Batches of ten, alternately in the old and the new form, as both releases write while a cluster is updated. */
    async function writeBoth(records: readonly DecisionRecord[]): Promise<void> {
      for (let at = 0; at < records.length; at += 10) {
        const batch = records.slice(at, at + 10);
        await ((at / 10) % 2 === 0 ? writeRows(sql, batch) : store.append(batch));
      }
    }

    test("are found with them, by page, by filter, by id, and in exports", async () => {
      const all = someRecords();
      await writeBoth(all);
      const filters: RecordFilter[] = [
        {},
        { goal: "s1/refactor" },
        { requestId: "r7" },
        { rule: "tool_depth" },
        { tier: ["pro"], status: ["4xx"] },
        { alias: ["smart-router-pro"] },
        { fromMs: startMs + 7 * 60_000, toMs: startMs + 33 * 60_000 },
      ];
      for (const filter of filters) {
        const expected = all.filter((each) => matchesFilter(each, filter));
        const found: DecisionRecord[] = [];
        for (let before: number | undefined; ; ) {
          const page: RecordPage = await store.query(filter, { limit: 7, ...(before === undefined ? {} : { before }) });
          found.push(...page.records);
          before = page.records.at(-1)?.seq;
          if (!page.more) break;
        }
        expect([filter, found]).toEqual([filter, expected.toReversed()]);
        const exported = (await Array.fromAsync(store.export(filter))).flat();
        expect([filter, exported]).toEqual([filter, expected]);
      }
      expect((await store.get("d5"))?.seq).toBe(all[5]!.seq);
      expect((await store.get("d15"))?.seq).toBe(all[15]!.seq);
      expect((await store.get("r5"))?.decision_id).toBe("d65");
      expect((await store.summary({ fromMs: startMs, toMs: startMs + 7_200_000 }, {}, startMs)).oldest_record_ms).toBe(
        startMs,
      );
    });

    test("get a cost that the ledger learns later", async () => {
      const [attempt] = record(1).attempts;
      const attempts = [{ ...attempt!, cost_nano_usd: null, cost_source: null }];
      const open = (n: number) => record(n, { cost_nano_usd: 0, cost_state: "unknown", attempts });
      await writeRows(sql, [open(1)]);
      await store.append([open(2), open(3)]);
      expect(await store.openCosts("", 2)).toMatchObject({ next: "d2" });
      expect(await store.openCosts("d2", 2)).toMatchObject({ next: "" });
      const unknown = async () =>
        (await store.query({ costState: ["unknown"] }, { limit: 9 })).records.map(({ decision_id }) => decision_id);
      expect(await unknown()).toEqual(["d3", "d2", "d1"]);
      for (const decisionId of ["d1", "d2"]) {
        const correction = { decisionId, attempt: attempt!.number, costNanoUsd: 555, state: "known" } as const;
        expect(await store.correct(correction, startMs)).toBe(true);
        expect(await store.correct(correction, startMs)).toBe(false);
        expect(await store.get(decisionId)).toMatchObject({ cost_nano_usd: 555, cost_state: "known" });
      }
      expect(await unknown()).toEqual(["d3"]);
      const known = await store.query({ costState: ["known"] }, { limit: 9 });
      expect(known.records.map(({ cost_nano_usd }) => cost_nano_usd)).toEqual([555, 555]);
      // A cost may be corrected again, also downwards.
      const again = { decisionId: "d2", attempt: attempt!.number, costNanoUsd: 55, state: "known" } as const;
      expect(await store.correct(again, startMs)).toBe(true);
      expect((await store.query({}, { limit: 9 })).records.map(({ cost_nano_usd }) => cost_nano_usd)).toEqual([
        0, 55, 555,
      ]);
    });

    test("are deleted by age and by size, and counted", async () => {
      const all = someRecords();
      await writeBoth(all);
      expect((await store.size()).rows).toBe(90);
      while ((await store.prune(startMs + 45 * 60_000, Number.MAX_SAFE_INTEGER, 10)) > 0);
      // A block of this release is deleted when all of its records are old enough.
      const left = (await store.query({}, { limit: 100 })).records.map(({ decision_id }) => decision_id);
      expect(left).toEqual(
        all
          .filter((_, n) => n >= 45 || Math.floor(n / 10) % 2 === 1)
          .map(({ decision_id }) => decision_id)
          .toReversed(),
      );
      expect((await store.size()).rows).toBe(left.length);
      while ((await store.prune(0, 0, 10)) > 0);
      expect(await store.size()).toEqual({ rows: 0, bytes: 0 });
      expect((await store.query({}, { limit: 9 })).records).toEqual([]);
    });
  });
}
