import { describe, expect, test } from "bun:test";
import type { Model, Price } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { driftBetween, emptyPriceBook, type PriceBook, updatedBook, withPriceBook } from "./price-book.ts";
import { type PriceBookEvent, PriceBookReader } from "./price-book-reader.ts";
import type { PriceBookStore } from "./price-book-store.ts";
import type { Listing } from "./price-list.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price = (input: number, output: number): Price => ({
  input: perMTok(input),
  cachedInput: perMTok(input),
  output: perMTok(output),
});
const flashId = "deepseek/deepseek-v4-flash";

function shipped() {
  const loaded = loadRegistry(undefined);
  if (loaded.kind === "invalid") throw new Error("the shipped registry is invalid");
  return loaded.registry;
}

/** The shipped registry with a changed flash model. */
function registryWith(change: Partial<Model>) {
  const registry = shipped();
  const flash = { ...(registry.models.get("vendor_v4_flash") as Model), ...change };
  const models = new Map(registry.models).set("vendor_v4_flash", flash);
  return { models, byRole: { ...registry.byRole, worker: flash } };
}

const bookOf = (input: number, output: number, atMs = 5): PriceBook =>
  new Map([[flashId, { price: price(input, output), atMs }]]);

describe("a registry with the price book", () => {
  test("has the book's price and its source, by whichever key the model is found", () => {
    const registry = withPriceBook(shipped(), bookOf(7, 9));
    expect(registry.models.get("vendor_v4_flash")).toMatchObject({
      price: { input: 7, output: 9 },
      priceSource: { kind: "price_book", atMs: 5 },
    });
    expect(registry.byRole.worker).toBe(registry.models.get("vendor_v4_flash") as Model);
  });
  test("amends the book's price by the parts that the file states", () => {
    const own = registryWith({ statedPrice: { output: perMTok(4) } });
    expect(withPriceBook(own, bookOf(7, 9)).models.get("vendor_v4_flash")).toMatchObject({
      price: { input: 7, output: 4 },
      priceSource: { kind: "price_book" },
    });
  });
  test("has a version that names its prices: the same for the same prices, whenever they were read", () => {
    const versions = [emptyPriceBook, bookOf(7, 9), bookOf(7, 9, 999), bookOf(7, 10)].map(
      (book) => withPriceBook(shipped(), book).priceVersion ?? "",
    );
    expect(versions[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(versions[2]).toBe(versions[1] as string);
    expect(new Set(versions).size).toBe(3);
  });
});

describe("a change of price", () => {
  test.each([
    [100, 150, false],
    [100, 151, true],
    [150, 100, false],
    [151, 100, true],
    [0, 1, true],
    [0, 0, false],
  ])("from %p to %p is an alarm: %p", (before, after, loud) => {
    expect(driftBetween(price(before, 1), price(after, 1)) !== undefined).toBe(loud);
    expect(driftBetween(price(1, before), price(1, after)) !== undefined).toBe(loud);
  });
});

describe("ids in a list", () => {
  const model = shipped().models.get("vendor_v4_flash") as Model;
  const day = 86_400_000;
  const now = Date.parse("2026-11-22T00:00:00Z");
  const listing = { price: model.price, canonical: "a/one" };
  const driftsOf = (listed: Map<string, Listing>, book: PriceBook = emptyPriceBook, models = [model]) =>
    updatedBook(book, listed, models, now).drifts.map(({ reason, detail }) => `${reason}: ${detail}`);

  test("that expire within a month are reported, later ones not yet", () => {
    const expiring = (inDays: number) => driftsOf(new Map([[flashId, { ...listing, expiresMs: now + inDays * day }]]));
    expect(expiring(29)).toEqual([`expires: ${flashId} may be removed from 2026-12-21 on`]);
    expect(expiring(-1)).toHaveLength(1);
    expect(expiring(31)).toEqual([]);
  });

  test("that refer to another model than before are reported once", () => {
    const first = updatedBook(emptyPriceBook, new Map([[flashId, listing]]), [model], now);
    expect(first.drifts).toEqual([]);
    const moved = new Map([[flashId, { ...listing, canonical: "a/two" }]]);
    expect(driftsOf(moved, first.book)).toEqual([`repointed: ${flashId} stands for a/two now, and stood for a/one`]);
    expect(driftsOf(moved, updatedBook(first.book, moved, [model], now).book)).toEqual([]);
  });
});

const list = (prompt: string, ids = [flashId]) => ({
  data: ids.map((id) => ({ id, pricing: { prompt, completion: "0.00000028" } })),
});
type Reply = { kind: "ok"; list: ReturnType<typeof list> } | { kind: "failed"; detail: string };

/** A reader over a scripted list and a store in memory; an undefined reply never arrives. */
function setUp(
  given: {
    replies?: (Reply | Promise<Reply> | undefined)[];
    kept?: PriceBook;
    store?: Partial<PriceBookStore>;
    opens?: boolean;
  } = {},
) {
  const time = manualTime();
  const replies = [...(given.replies ?? [])];
  const books: PriceBook[] = [];
  const events: PriceBookEvent[] = [];
  const saved: PriceBook[] = [];
  const state = { enabled: true, asked: 0, models: [...shipped().models.values()] };
  const reader = new PriceBookReader({
    source: "s",
    enabled: () => state.enabled,
    models: () => state.models,
    readList: () => {
      state.asked += 1;
      const reply = replies.shift();
      return reply === undefined ? new Promise(() => {}) : Promise.resolve(reply);
    },
    openStore: async () => {
      if (given.opens === false) throw new Error("no store");
      return {
        load: async () => given.kept ?? emptyPriceBook,
        save: async (_: string, book: PriceBook) => void saved.push(book),
        close: async () => undefined,
        ...given.store,
      };
    },
    clock: time.clock,
    timers: time.timers,
    random: () => 0.5,
    onChange: (book) => void books.push(book),
    onEvent: (event) => void events.push(event),
  });
  return { time, reader, books, events, saved, state, input: () => books.at(-1)?.get(flashId)?.price.input as number };
}
const ok = (prompt: string): Reply => ({ kind: "ok", list: list(prompt) });

describe("the reader of the price book", () => {
  test("reads the list once a day", async () => {
    const { reader, time, state } = setUp({ replies: [ok("0.00000014"), ok("0.00000014"), ok("0.00000014")] });
    await reader.start();
    await time.advanceAsync(0.94 * 86_400_000);
    expect(state.asked).toBe(1);
    await time.advanceAsync(0.02 * 86_400_000);
    expect(state.asked).toBe(2);
    await time.advanceAsync(86_400_000);
    expect(state.asked).toBe(3);
  });
  test("reads the list again when prices seem to have changed, at most every quarter of an hour", async () => {
    const { reader, time, state } = setUp({ replies: [ok("0.00000014"), ok("0.00000014"), ok("0.00000014")] });
    await reader.start();
    for (let i = 0; i < 5; i++) reader.suspect();
    await time.advanceAsync(899_999);
    expect(state.asked).toBe(1);
    await time.advanceAsync(1);
    expect(state.asked).toBe(2);
    await time.advanceAsync(3_600_000);
    expect(state.asked).toBe(2);
    reader.suspect();
    await time.advanceAsync(0);
    expect(state.asked).toBe(3);
  });
});
