import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { KeyUsageReading, KeyUsageStore } from "./key-usage-store.ts";

const noon = Date.parse("2026-11-22T12:00:00Z");
const reading = (over: Partial<KeyUsageReading> = {}): KeyUsageReading => ({
  source: "https://a/o'clock",
  day: "2026-11-22",
  keyDigest: "0123456789ab",
  spent: 7_000_000_000_000,
  readMs: noon,
  ...over,
});

/** The requirements on every store of the aggregator's counts. `open` returns an empty store. */
export function keyUsageStoreContract(name: string, open: () => Promise<KeyUsageStore>): void {
  describe(`${name}: a store of the aggregator's counts`, () => {
    let store: KeyUsageStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const load = (day = "2026-11-22") => store.load(reading().source, day);

    test("has no count for a day without readings", async () => {
      expect(await load()).toBeUndefined();
    });

    test("keeps the newest reading of a day, in whichever order they arrive", async () => {
      await store.save(reading());
      await store.save(reading({ spent: 9, readMs: noon + 1 }));
      await store.save(reading({ spent: 8, readMs: noon }));
      expect(await load()).toEqual({ spent: 9, readMs: noon + 1, keys: 1 });
    });

    test("adds up the keys of a day, and keeps days and aggregators apart", async () => {
      await store.save(reading());
      await store.save(reading({ keyDigest: "another", spent: 1, readMs: noon - 5 }));
      await store.save(reading({ source: "https://b", spent: 100 }));
      await store.save(reading({ day: "2026-11-21", spent: 100 }));
      expect(await load()).toEqual({ spent: 7_000_000_000_001, readMs: noon - 5, keys: 2 });
    });

    test("deletes days of more than 400 days ago", async () => {
      await store.save(reading({ day: "2025-10-01" }));
      await store.save(reading({ day: "2025-12-01" }));
      await store.save(reading());
      expect(await load("2025-10-01")).toBeUndefined();
      expect(await load("2025-12-01")).toBeDefined();
    });
  });
}
