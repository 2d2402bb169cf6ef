import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { exactMoney, money, parseMoney } from "./money.ts";

describe("amounts of money", () => {
  test("an unknown amount is a dash and not zero", () => {
    expect(money(null)).toBe("–");
    expect(money(undefined)).toBe("–");
  });

  test("the exact text equals the amount that was typed", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_000_000_000_000_000 - 1 }), (nano) => {
        expect(parseMoney(exactMoney(nano).replace(" USD", ""))).toBe(nano);
      }),
    );
  });

  test.each(["", "abc", "-1", "1e3", "1.2.3", "12345678"])("%j is no amount", (text) => {
    expect(parseMoney(text)).toBeUndefined();
  });
});
