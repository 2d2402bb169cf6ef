import { describe, expect, test } from "bun:test";
import type { Json } from "#domain/chat.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { listingsIn } from "./price-list.ts";

const wanted = new Map([
  ["a/paid", { free: false }],
  ["a/free", { free: true }],
]);
const priceOf = (pricing: Json, id = "a/paid") =>
  listingsIn({ data: [{ id, pricing }] }, wanted).get(id)?.price as unknown;
const plain = { prompt: "0.00000014", completion: "0.00000028" };

describe("prices in an aggregator's list", () => {
  test("are dollars per token, converted to whole nano-dollars per million without a float", () => {
    expect(
      priceOf({ ...plain, input_cache_read: "0.000000028", input_cache_write: "0.000000175", request: "0.001" }),
    ).toEqual({
      input: 140_000_000,
      cachedInput: 28_000_000,
      cacheWrite: 175_000_000,
      output: 280_000_000,
      request: 1_000_000,
    });
  });

  const figures: [Json, number | undefined][] = [
    ["0.000000435", 435_000_000],
    ["4.35e-7", 435_000_000],
    [4.35e-7, 435_000_000],
    [" 0.000000435 ", 435_000_000],
    ["0.000000000000001", 1],
    ["0.0000000000000001", 1],
    ["0.0000000000000010000000001", 2],
    ["0.1", 100_000_000_000_000],
    ["0.2", undefined],
    ["1e300", undefined],
    ["-1", undefined],
    [-1, undefined],
    ["", undefined],
    ["free", undefined],
    [null, undefined],
    [{}, undefined],
    ["NaN", undefined],
    ["0x1", undefined],
  ];
  test.each(figures)("a price of %p per token is %p per million, or no price", (prompt, expected) => {
    expect((priceOf({ prompt, completion: "0.00000028" }) as { input: number } | undefined)?.input).toBe(
      expected as number,
    );
  });

  test("charge cached input as input if they do not name it, in every band", () => {
    const overrides = [{ min_prompt_tokens: 200_000, prompt: "0.00000028" }];
    expect(priceOf({ ...plain, overrides })).toMatchObject({
      cachedInput: 140_000_000,
      bands: [{ fromInputTokens: 200_001, rates: { input: 280_000_000, cachedInput: 280_000_000 } }],
    });
  });

  test("may have overrides by prompt length, by hour, and by both", () => {
    const overrides = [
      { utc_start: "16:30", utc_end: "00:30", completion: "0.00000014" },
      { min_prompt_tokens: 200_000, prompt: "0.00000028" },
      { min_prompt_tokens: 9, utc_start: "01:00:00Z", utc_end: "24:00", prompt: "0.000001" },
    ];
    expect(priceOf({ ...plain, input_cache_read: "0", overrides })).toMatchObject({
      bands: [
        { window: { fromMinute: 990, toMinute: 30 }, rates: { output: 140_000_000 } },
        { fromInputTokens: 10, window: { fromMinute: 60, toMinute: 0 }, rates: { input: 1_000_000_000 } },
        { fromInputTokens: 200_001, rates: { input: 280_000_000 } },
      ],
    });
  });

  test.each<[Json, Json, number, number]>([
    [400, 1030, 240, 630],
    [0, 59, 0, 59],
    [2330, 2400, 1_410, 0],
    [1630, "00:30", 990, 30],
  ])("know clock numbers: %p to %p", (utc_start, utc_end, fromMinute, toMinute) => {
    const overrides = [{ utc_start, utc_end, completion: "0.00000014" }];
    expect(priceOf({ ...plain, overrides })).toMatchObject({ bands: [{ window: { fromMinute, toMinute } }] });
  });

  test.each<Json>(jsonLines(import.meta.dir, "fixtures/unreadable-conditions.jsonl"))(
    "always apply an override with an unreadable condition (%p) if its rate is higher",
    (condition) => {
      const higher = { ...(condition as object), prompt: "0.000001", completion: "0.0000001" };
      expect(priceOf({ ...plain, overrides: [higher] })).toMatchObject({ input: 1_000_000_000, output: 280_000_000 });
      expect(priceOf({ ...plain, overrides: [higher] })).not.toHaveProperty("bands");
    },
  );

  test("of zero are rejected for a paid model, and accepted for a free one", () => {
    const nothing = { prompt: "0", completion: "0" };
    expect(priceOf(nothing)).toBeUndefined();
    expect(priceOf(nothing, "a/free")).toMatchObject({ input: 0, output: 0 });
  });
});
