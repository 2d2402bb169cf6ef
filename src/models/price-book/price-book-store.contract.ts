import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "#domain/money/money.ts";
import type { BookEntry } from "./price-book.ts";
import { entriesKeptMs, type PriceBookStore } from "./price-book-store.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price = (input: number): Price => ({ input: perMTok(input), cachedInput: perMTok(1), output: perMTok(2) });
const entry = (input: number, atMs: number): BookEntry => ({ price: price(input), atMs });

/** The requirements on every store of the price book. `open` returns an empty store. */
export function priceBookStoreContract(name: string, open: () => Promise<PriceBookStore>): void {
  describe(`${name}: a store of the price book`, () => {
    let store: PriceBookStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    test("returns every price as it was saved, with its time", async () => {
      const whole: BookEntry = {
        price: {
          ...price(7),
          cacheWrite: perMTok(9),
          request: nanoUsd(5),
          bands: [
            { fromInputTokens: 200_000, rates: { input: perMTok(8) } },
            { window: { fromMinute: 990, toMinute: 30 }, rates: { output: perMTok(1), request: nanoUsd(0) } },
          ],
        },
        atMs: 1_800_000_000_000,
        canonical: "o'brien/model-20260801",
      };
      const book = new Map([
        ["o'brien/model", whole],
        ["b/plain", entry(100_000_000_000_000, 1_800_000_000_001)],
      ]);
      await store.save("https://a", book);
      const kept = await store.load("https://a");
      expect([...kept].toSorted()).toEqual([...book].toSorted());
    });

    test("keeps the lists of several aggregators apart", async () => {
      await store.save("https://a", new Map([["m", entry(1, 10)]]));
      await store.save("https://b", new Map([["m", entry(2, 10)]]));
      expect((await store.load("https://a")).get("m")).toEqual(entry(1, 10));
      expect((await store.load("https://b")).get("m")).toEqual(entry(2, 10));
    });

    test("does not let an older reading replace a newer one", async () => {
      await store.save("s", new Map([["m", entry(1, 20)]]));
      await store.save("s", new Map([["m", entry(2, 10)]]));
      expect((await store.load("s")).get("m")).toEqual(entry(1, 20));
      await store.save("s", new Map([["m", entry(3, 20)]]));
      expect((await store.load("s")).get("m")).toEqual(entry(3, 20));
    });

    test("deletes prices that no list has named for long, of that aggregator only", async () => {
      const now = entriesKeptMs + 100;
      await store.save("other", new Map([["old", entry(1, 50)]]));
      await store.save("s", new Map([["old", entry(1, 50)]]));
      await store.save(
        "s",
        new Map([
          ["m", entry(1, now)],
          ["lately", entry(1, 150)],
        ]),
      );
      expect([...(await store.load("s")).keys()].toSorted()).toEqual(["lately", "m"]);
      expect((await store.load("other")).size).toBe(1);
      expect((await store.load("unknown")).size).toBe(0);
    });
  });
}
