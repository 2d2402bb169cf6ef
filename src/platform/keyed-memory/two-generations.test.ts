import { expect, test } from "bun:test";
import type { TextTag } from "./text-tags.ts";
import { TwoGenerations } from "./two-generations.ts";

const tag = (index: number) => `tag ${index}` as TextTag; // any text will do here

test("never exceeds its bound, however much is stored", () => {
  const memory = new TwoGenerations<number[]>(20_000, ({ length }) => 8 * length);
  for (let index = 0; index < 2_000; index++) {
    memory.set(tag(index), Array(index % 300).fill(0));
    expect(memory.bytes).toBeLessThanOrEqual(20_000);
  }
  expect(memory.get(tag(1_999))).toHaveLength(199);
  expect(memory.get(tag(0))).toBeUndefined();
});

test("keeps entries that are used repeatedly", () => {
  const memory = new TwoGenerations<number>(4_000, () => 0);
  memory.set(tag(-1), 7);
  for (let index = 0; index < 500; index++) {
    memory.set(tag(index), index);
    expect(memory.get(tag(-1))).toBe(7);
  }
});

test("does not drop all entries for one value that is too large", () => {
  const memory = new TwoGenerations<number>(4_000, (bytes) => bytes);
  memory.set(tag(1), 100);
  memory.set(tag(2), 5_000);
  expect(memory.get(tag(2))).toBeUndefined();
  expect(memory.get(tag(1))).toBe(100);
});
