import { expect, test } from "bun:test";
import { remembered } from "./remembered.ts";

const text = (index: number) => `${index} is the number of this text, which is long enough to be remembered`;

function counting(maxBytes: number) {
  const reads: string[] = [];
  const lengthOf = remembered(
    (read) => {
      reads.push(read);
      return { length: read.length };
    },
    maxBytes,
    () => 40,
  );
  return { reads, lengthOf };
}

test("a text is read once, and others are told from it", () => {
  const { reads, lengthOf } = counting(100_000);
  for (let round = 0; round < 3; round++) {
    expect(lengthOf(text(1))).toEqual({ length: text(1).length });
    expect(lengthOf(text(10))).toEqual({ length: text(10).length });
  }
  expect(reads).toEqual([text(1), text(10)]);
});

test("what is false is remembered too", () => {
  let reads = 0;
  const never = remembered(
    () => {
      reads++;
      return false;
    },
    100_000,
    () => 8,
  );
  expect([never(text(1)), never(text(1))]).toEqual([false, false]);
  expect(reads).toBe(1);
});

test("no more is remembered than there is room for", () => {
  const { reads, lengthOf } = counting(4_000);
  for (let index = 0; index < 100; index++) lengthOf(text(index));
  lengthOf(text(0));
  expect(reads).toHaveLength(101);
});

test("a short text is read each time", () => {
  const { reads, lengthOf } = counting(100_000);
  for (let round = 0; round < 2; round++) expect(lengthOf("hello")).toEqual({ length: 5 });
  expect(reads).toEqual(["hello", "hello"]);
});
