import { expect, test } from "bun:test";
import { isDeepStrictEqual } from "node:util";
import type { Json } from "#domain/chat.ts";
import { knownMemberOf, lazyMember, setKnownMember } from "./known-members.ts";

const all: readonly Json[] = [{ type: "function", function: { name: "f" } }, "x", null];

/** A known array, and how often it was parsed. */
function member() {
  const counts = { parsed: 0 };
  const identity = {};
  const parse = () => {
    counts.parsed++;
    return structuredClone([...all]);
  };
  return { value: lazyMember(identity, parse), identity, counts };
}

test("a known array behaves like any other", () => {
  const reads: ((value: Json[]) => unknown)[] = [
    (value) => JSON.stringify({ value }),
    (value) => value.map((item) => typeof item),
    (value) => [...value.entries()],
    (value) => Object.entries(value),
    (value) => Object.keys(value),
    (value) => Object.getOwnPropertyDescriptor(value, "1"),
    (value) => Object.getOwnPropertyDescriptor(value, "length"),
    (value) => [...value],
    (value) => value.slice(1, 3),
    (value) => value.at(-2),
    (value) => Array.isArray(value) && value.length,
    (value) => 2 in value && !(3 in value),
    (value) => value[7],
    (value) => structuredClone([...value]),
    (value) => isDeepStrictEqual([...value], all),
  ];
  for (const read of reads) expect(read(member().value)).toEqual(read([...all]));
});

test("a known array is parsed once, when it is first looked at", () => {
  const { value, identity, counts } = member();
  const copy = { ...{ tools: value } };
  expect(knownMemberOf(copy.tools)).toBe(identity);
  expect(Array.isArray(copy.tools)).toBe(true);
  expect(counts.parsed).toBe(0);
  expect(copy.tools).toHaveLength(3);
  expect(copy.tools[0]).toBe(value[0] ?? null);
  expect(counts.parsed).toBe(1);
});

test("only what was said to be known is", () => {
  const value: Json[] = [];
  const identity = {};
  expect([knownMemberOf(value), knownMemberOf(undefined), knownMemberOf("x"), knownMemberOf(null)]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  setKnownMember(value, identity);
  expect(knownMemberOf(value)).toBe(identity);
  expect(knownMemberOf([...value])).toBeUndefined();
});
