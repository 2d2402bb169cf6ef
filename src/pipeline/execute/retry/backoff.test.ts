import { expect, test } from "bun:test";
import fc from "fast-check";
import { backoffMs } from "./backoff.ts";

const rules = { baseMs: 100, maxMs: 2_000 };

test("the longest wait doubles from the base up to the limit", () => {
  const longest = [0, 1, 2, 3, 4, 5, 60, 5_000].map((k) => backoffMs(k, rules, () => 0.999_999));
  expect(longest).toEqual([99, 199, 399, 799, 1_599, 1_999, 1_999, 1_999]);
});

test("the wait is between zero and the longest, in proportion to the random number", () => {
  expect(backoffMs(3, rules, () => 0)).toBe(0);
  expect(backoffMs(3, rules, () => 0.5)).toBe(400);
});

test("the wait is finite and within its limit, whatever the rules", () => {
  fc.assert(
    fc.property(
      fc.nat(10_000),
      fc.nat(86_400_000),
      fc.nat(86_400_000),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (k, baseMs, maxMs, jitter) => {
        const ms = backoffMs(k, { baseMs, maxMs }, () => jitter);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(maxMs);
      },
    ),
  );
});
