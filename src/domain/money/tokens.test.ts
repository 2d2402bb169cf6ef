import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json, JsonObject } from "#domain/chat.ts";
import type { Price } from "#domain/model.ts";
import { type NanoUsdPerMTok, nanoUsd } from "./money.ts";
import { costOf, inputBoundOf } from "./tokens.ts";

const perMTok = (value: number) => value as NanoUsdPerMTok; // test prices are written by hand
const price: Price = { input: perMTok(140_000_000), cachedInput: perMTok(2_800_000), output: perMTok(280_000_000) };

describe("what tokens cost", () => {
  test("is rounded up once, for the whole attempt", () => {
    const cheap: Price = { input: perMTok(1), cachedInput: perMTok(1), output: perMTok(1) };
    expect(costOf({ input: 1, cachedInput: 0, output: 1, reasoning: 0 }, cheap)).toBe(nanoUsd(1));
    expect(costOf({ input: 0, cachedInput: 0, output: 0, reasoning: 0 }, cheap)).toBe(nanoUsd(0));
    expect(costOf({ input: 1_000_000, cachedInput: 0, output: 1, reasoning: 0 }, cheap)).toBe(nanoUsd(2));
  });

  test("counts cached input at its own price, and at most as much as there is input", () => {
    expect(costOf({ input: 1_000, cachedInput: 400, output: 0, reasoning: 0 }, price)).toBe(nanoUsd(84_000 + 1_120));
    expect(costOf({ input: 1_000, cachedInput: 5_000, output: 0, reasoning: 0 }, price)).toBe(nanoUsd(2_800));
  });

  test("is exact where floats would lose units", () => {
    const highest: Price = { input: perMTok(99_999_999_999), cachedInput: perMTok(0), output: perMTok(0) };
    const usage = { input: 999_999_937, cachedInput: 0, output: 0, reasoning: 0 };
    expect(costOf(usage, highest)).toBe(nanoUsd(Number((999_999_937n * 99_999_999_999n + 999_999n) / 1_000_000n)));
  });
});

/** UTF-8 bytes of every string in a body, keys included: all text that a tokenizer could read. */
function textBytes(value: Json): number {
  if (typeof value === "string") return new TextEncoder().encode(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textBytes(item), 0);
  if (value === null || typeof value !== "object") return 0;
  return Object.entries(value).reduce((sum, [key, item]) => sum + textBytes(key) + textBytes(item), 0);
}

describe("the bound on input tokens", () => {
  test("is at least the bytes of all text sent, plus 8 per message and 64", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(
        fc.array(fc.record({ role: fc.constant("user"), content: text })),
        fc.jsonValue(),
        (messages, tools) => {
          const body = { messages, tools } as JsonObject; // fast-check's JSON type has other names for the same values
          expect(inputBoundOf(body)).toBeGreaterThanOrEqual(textBytes(body) + 8 * messages.length + 64);
        },
      ),
    );
  });
});
