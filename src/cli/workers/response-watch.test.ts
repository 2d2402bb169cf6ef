import { expect, test } from "bun:test";
import { ResponseWatch } from "./response-watch.ts";

const [one, other] = [{ pid: 1 }, { pid: 2 }];

test("a worker counts as hanging after two queries in a row without an answer", () => {
  const watch = new ResponseWatch<object>();
  expect(watch.asking([one, other])).toEqual([]);
  watch.answered(other);
  expect(watch.asking([one, other])).toEqual([]);
  watch.answered(other);
  expect(watch.asking([one, other])).toEqual([one]);
});

test("a late answer to any query shows that the worker does not hang", () => {
  const watch = new ResponseWatch<object>();
  for (let round = 0; round < 5; round++) {
    expect(watch.asking([one])).toEqual([]);
    expect(watch.asking([one])).toEqual([]);
    watch.answered(one);
  }
});

test("a worker that was not queried, because it ended or has not started, is forgotten", () => {
  const watch = new ResponseWatch<object>();
  watch.asking([one]);
  watch.asking([one]);
  watch.asking([other]);
  expect(watch.asking([one, other])).toEqual([]);
});
