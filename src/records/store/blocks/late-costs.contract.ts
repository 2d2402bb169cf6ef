import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { SqlValue } from "#db/sql-writes.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { RecordStore } from "#records/store/record-store.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";

/** The last migration of the release before costs were kept by decision. */
export const beforeLateCosts = 120;

/** Databases that begin with the schema of an earlier release. */
export interface EarlierDatabase {
  /** Runs one statement of that release for each row, as it did. */
  write(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<void>;
  /** Brings the schema up to date. */
  open(): Promise<SqlConnection>;
}

const inserted = "INSERT INTO decision_cost (seq, block, decision_id, delta_nano_usd, cost_state) VALUES (?)";
const corrected = `${inserted} ON CONFLICT (seq) DO UPDATE
  SET delta_nano_usd = decision_cost.delta_nano_usd + excluded.delta_nano_usd, cost_state = excluded.cost_state`;

/** The requirements on costs that the release before this one has written, and still writes while a cluster is updated. */
export function lateCostsContract(name: string, begin: () => Promise<EarlierDatabase>): void {
  describe(`${name}: late costs of an earlier release`, () => {
    const startMs = Date.UTC(2026, 5, 1, 12);
    const record = (n: number) => aDecisionRecord(n, { recorded_ms: startMs + n * 1_000 });
    const cost = record(1).cost_nano_usd;
    let earlier: EarlierDatabase;
    let sql: SqlConnection;
    let store: RecordStore;
    beforeEach(async () => {
      earlier = await begin();
      const block = record(1).seq;
      await earlier.write(inserted, [
        [record(1).seq, block, "d1", 500, "known"],
        [record(2).seq, block, "d2", 0, "unknown"],
      ]);
      sql = await earlier.open();
      store = await RecordStore.open(sql);
      await store.append([1, 2, 3, 4].map(record));
    });
    afterEach(() => store.close());

    const costs = async () =>
      (await store.query({}, { limit: 9 })).records.map(({ cost_nano_usd }) => cost_nano_usd).toReversed();
    const unknown = async () =>
      (await store.query({ costState: ["unknown"] }, { limit: 9 })).records.map(({ decision_id }) => decision_id);

    test("are those of their records after the upgrade", async () => {
      expect(await costs()).toEqual([cost + 500, ...[2, 3, 4].map((n) => record(n).cost_nano_usd)]);
      expect(await unknown()).toEqual(["d2"]);
      expect(await store.openCosts("", 1)).toMatchObject({ next: "d2" });
    });

    test("are read as a running gateway of that release goes on to write them, and corrected further", async () => {
      const block = record(1).seq;
      await sql.write([{ sql: inserted, rows: [[record(3).seq, block, "d3", 0, "unknown"]] }]);
      expect(await unknown()).toEqual(["d3", "d2"]);
      await sql.write([{ sql: corrected, rows: [[record(2).seq, block, "d2", 70, "known"]] }]);
      await sql.write([{ sql: corrected, rows: [[record(1).seq, block, "d1", -100, "estimated"]] }]);
      await sql.write([{ sql: corrected, rows: [[record(4).seq, block, "d4", 9, "known"]] }]);
      expect(await unknown()).toEqual(["d3"]);
      const [own] = record(3).attempts;
      await store.correct({ decisionId: "d3", attempt: own!.number, costNanoUsd: 1, state: "known" }, startMs);
      await store.correct({ decisionId: "d4", attempt: own!.number, costNanoUsd: 2, state: "known" }, startMs);
      expect(await unknown()).toEqual([]);
      const delta = (n: number, to: number) => to - (record(n).attempts[0]!.cost_nano_usd ?? 0);
      expect(await costs()).toEqual([
        cost + 400,
        record(2).cost_nano_usd + 70,
        record(3).cost_nano_usd + delta(3, 1),
        record(4).cost_nano_usd + 9 + delta(4, 2),
      ]);
    });

    test("are deleted with their records, also by that release", async () => {
      await sql.write([{ sql: "DELETE FROM decision_cost WHERE block IN (?)", rows: [[record(1).seq]] }]);
      expect(await unknown()).toEqual(["d2"]);
      while ((await store.prune(0, 0, 50)) > 0);
      await store.pruneSums(startMs + 3 * 3_600_000, startMs + 3 * 3_600_000);
      for (const table of ["decision_cost", "decision_late_cost"]) {
        expect(await sql.read(`SELECT * FROM ${table}`)).toEqual([]);
      }
    });
  });
}
