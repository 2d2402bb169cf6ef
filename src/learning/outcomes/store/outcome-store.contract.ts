import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { outcomeRecord } from "#learning/outcomes/fixtures.ts";
import { noSignals } from "#learning/outcomes/outcomes.ts";
import type { OutcomeStore } from "./outcome-store.ts";

/** The requirements on every store of outcome records. `open` returns an empty store. */
export function outcomeStoreContract(name: string, open: () => Promise<OutcomeStore>): void {
  describe(`${name}: a store of outcome records`, () => {
    let store: OutcomeStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const ids = async (fromMs = 0) => (await store.load(fromMs)).map(({ decisionId }) => decisionId);

    test("returns records from a given time on, the oldest first", async () => {
      const [a, b, c] = [outcomeRecord("a", 10), outcomeRecord("b", 30), outcomeRecord("c", 20, { retryOf: "a" })];
      await store.save([a, b, c]);
      expect(await store.load(0)).toEqual([a, c, b]);
      expect(await ids(20)).toEqual(["c", "b"]);
    });

    test("replaces the signals of a record, but neither its decision nor the caller's report", async () => {
      const record = outcomeRecord("a", 10);
      await store.save([record]);
      expect(await store.recordOutcome("a", "failed", 0.25)).toBe(true);
      const signals = { ...noSignals, escalated: true };
      await store.save([{ ...outcomeRecord("a", 99, { tier: "pro" }), signals }]);
      expect(await store.load(0)).toEqual([{ ...record, signals, outcome: "failed", outcomeScore: 0.25 }]);
    });

    test("keeps the last report on a decision, and says if there is no such decision", async () => {
      await store.save([outcomeRecord("a", 10)]);
      await store.recordOutcome("a", "failed", 0.5);
      expect(await store.recordOutcome("a", "solved", undefined)).toBe(true);
      expect((await store.load(0))[0]).toEqual({ ...outcomeRecord("a", 10), outcome: "solved" });
      expect(await store.recordOutcome("o'b", "solved", undefined)).toBe(false);
    });

    test("deletes old rows, and the oldest above the limit", async () => {
      await store.save([1, 2, 3, 4].map((at) => outcomeRecord(`r${at}`, at)));
      await store.prune(2, 10);
      expect(await ids()).toEqual(["r2", "r3", "r4"]);
      await store.prune(0, 2);
      expect(await ids()).toEqual(["r3", "r4"]);
    });
  });
}
