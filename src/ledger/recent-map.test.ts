import { expect, test } from "bun:test";
import { RecentMap } from "./recent-map.ts";

test("the latest entries are kept, and at most twice as many in total", () => {
  const map = new RecentMap<number, number>(100);
  for (let key = 0; key < 1_000; key++) {
    map.set(key, key * 2);
    for (let back = 0; back < Math.min(100, key + 1); back++) expect(map.get(key - back)).toBe((key - back) * 2);
    expect(map.has(key - 200)).toBe(false);
  }
});

test("an entry that was set again has its newest value and a new age", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 1);
  map.set("a", 2);
  map.set("c", 1);
  expect(map.get("a")).toBe(2);
  map.set("a", 3);
  map.set("d", 1);
  expect(map.get("a")).toBe(3);
});

test("a deleted entry is absent, however old it was", () => {
  const map = new RecentMap<string, number>(1);
  map.set("a", 1);
  map.set("b", 1);
  map.delete("a");
  map.delete("b");
  expect([map.has("a"), map.has("b")]).toEqual([false, false]);
});
