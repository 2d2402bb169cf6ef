import { expect, test } from "bun:test";
import { type CachedValue, MessageCache } from "./message-cache.ts";

const found = { kind: "messages", role: "user", values: 3, isExact: true, hasRawNumbers: false, writesCache: false };
const rangeOf = (text: string): [Uint8Array, number, number] => {
  const bytes = Buffer.from(`[${text}]`);
  return [bytes, 1, bytes.length - 1];
};
const add = (cache: MessageCache, text: string) =>
  cache.add(...rangeOf(text), { ...found, memos: [text.length] } as CachedValue);
const find = (cache: MessageCache, text: string) => cache.find("messages", ...rangeOf(text))?.memos[0];

test("finds a value by its bytes alone, wherever they stand, and only as what it was", () => {
  const cache = new MessageCache(1_000_000);
  expect(find(cache, "abc")).toBeUndefined();
  add(cache, "abc");
  expect(find(cache, "abc")).toBe(3);
  expect(cache.find("messages", Buffer.from("xxabcxx"), 2, 5)?.values).toBe(3);
  expect(cache.find("tools", ...rangeOf("abc"))).toBeUndefined();
  for (const other of ["ab", "abcd", "abC", "", "\0abc"]) expect(find(cache, other)).toBeUndefined();
  expect(cache.counts).toEqual({ hits: 2, misses: 1 });
});

test("stays within its bound, and keeps what is used", () => {
  const maxBytes = 512 * 20;
  const cache = new MessageCache(maxBytes);
  for (let index = 0; index < 500; index++) {
    add(cache, `new ${index}`);
    if (index === 0) add(cache, "used");
    expect(find(cache, "used")).toBe(4);
    expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
  }
  expect(find(cache, "new 499")).toBe(7);
  expect(find(cache, "new 1")).toBeUndefined();
});

test("knows which messages followed another last, in up to four conversations", () => {
  const cache = new MessageCache(1_000_000);
  const known = add(cache, "abc");
  expect([cache.lengthsBehind(undefined), cache.lengthsBehind(known)]).toEqual([[], []]);
  for (const length of [17, 18, 17, 19, 20, 21]) cache.noteLengthBehind(known, length);
  expect(cache.lengthsBehind(cache.find("messages", ...rangeOf("abc")))).toEqual([21, 20, 19, 18]);
});

test("the keys of both hashes count", () => {
  for (let bit = 0n; bit < 64n; bit++)
    expect(Bun.hash.rapidhash("a text", 1n ^ (1n << bit))).not.toBe(Bun.hash.rapidhash("a text", 1n));
  // The runtime takes 32 bits here.
  for (let bit = 0n; bit < 32n; bit++)
    expect(Bun.hash.xxHash3("a text", 1n ^ (1n << bit))).not.toBe(Bun.hash.xxHash3("a text", 1n));
});
