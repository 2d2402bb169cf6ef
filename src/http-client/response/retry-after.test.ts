import { expect, test } from "bun:test";
import { retryAfterMs } from "./retry-after.ts";

const now = Date.UTC(1994, 10, 6, 8, 49, 7);

test("seconds", () => {
  expect(retryAfterMs("120", now)).toBe(120_000);
  expect(retryAfterMs(" 0 ", now)).toBe(0);
  expect(retryAfterMs("86400", now)).toBe(86_400_000);
  expect(retryAfterMs("1.5", now)).toBe(1_500);
});

test("a date, in each of the three spellings of HTTP", () => {
  expect(retryAfterMs("Sun, 06 Nov 1994 08:49:37 GMT", now)).toBe(30_000);
  expect(retryAfterMs("Sunday, 06-Nov-94 08:49:37 GMT", now)).toBe(30_000);
  expect(retryAfterMs("Sun Nov  6 08:49:37 1994", now)).toBe(30_000);
});
