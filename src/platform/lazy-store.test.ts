import { describe, expect, test } from "bun:test";
import { LazyStore } from "./lazy-store.ts";

function setUp(openings: ("ok" | "fails")[]) {
  const counts = { opened: 0, closed: 0 };
  const store = new LazyStore(async () => {
    counts.opened++;
    if (openings.shift() === "fails") throw new Error("no database");
    return { name: "store", close: async () => void counts.closed++ };
  });
  return { store, counts };
}

describe("a lazy store", () => {
  test("is opened again by the call after a failed opening", async () => {
    const { store, counts } = setUp(["fails", "ok"]);
    await expect(store.opened()).rejects.toThrow("no database");
    expect((await store.opened()).name).toBe("store");
    expect(counts.opened).toBe(2);
  });

  test("is closed after an opening in progress, and is not opened afterwards", async () => {
    const { store, counts } = setUp(["ok"]);
    void store.opened();
    await store.close();
    expect(counts).toEqual({ opened: 1, closed: 1 });
    await expect(store.opened()).rejects.toThrow("the store is closed");
    expect(counts.opened).toBe(1);
  });
});
