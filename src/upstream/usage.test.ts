import { describe, expect, test } from "bun:test";
import type { Json } from "#domain/chat.ts";
import { usageReport } from "./usage.ts";

describe("usage", () => {
  test("counts cached and reasoning tokens, in both dialects", () => {
    const details = { prompt_tokens_details: { cached_tokens: 7 }, completion_tokens_details: { reasoning_tokens: 2 } };
    const expected = { usage: { input: 10, cachedInput: 7, output: 5, reasoning: 2 } };
    expect(usageReport({ prompt_tokens: 10, completion_tokens: 5, ...details })).toEqual(expected);
    const other = { prompt_cache_hit_tokens: 7, completion_tokens_details: { reasoning_tokens: 2 } };
    expect(usageReport({ prompt_tokens: 10, completion_tokens: 5, ...other })).toEqual(expected);
  });

  test("counts tokens written to the cache, never more than the uncached input", () => {
    const written = (cache_write_tokens: Json) => ({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens },
    });
    expect(usageReport(written(3)).usage).toEqual({
      input: 10,
      cachedInput: 4,
      cacheWrite: 3,
      output: 5,
      reasoning: 0,
    });
    expect(usageReport(written(60)).usage?.cacheWrite).toBe(6);
    const other = { prompt_tokens: 10, completion_tokens: 5, cache_creation_input_tokens: 3 };
    expect(usageReport(other).usage?.cacheWrite).toBe(3);
    for (const none of [0, -1, "3", null]) expect(usageReport(written(none)).usage).not.toHaveProperty("cacheWrite");
  });

  describe("on the operator's own account with the host (is_byok)", () => {
    const report = (cost: Json, upstream_inference_cost: Json, is_byok: Json = true) =>
      usageReport({ prompt_tokens: 1, completion_tokens: 1, cost, is_byok, cost_details: { upstream_inference_cost } });
    test("costs the aggregator's fee plus what the host charges", () => {
      expect(report(0.05, 1).costNanoUsd).toBe(1_050_000_000);
      expect(report(0, 1).costNanoUsd).toBe(1_000_000_000);
      expect(report("0.05", "1").costNanoUsd).toBe(1_050_000_000);
    });
    test.each<Json>([false, null, "true", 1])("is not taken for granted: with is_byok %p nothing is added", (value) => {
      expect(report(0.05, 1, value).costNanoUsd).toBe(50_000_000);
      expect(report(0.05, -1, value).costNanoUsd).toBe(50_000_000);
    });
    test.each<[Json, boolean | undefined]>([
      [true, true],
      [false, false],
      ["true", undefined],
      [null, undefined],
    ])("is reported as stated: %p", (value, stated) => {
      expect(report(0.05, 1, value).ownAccount).toBe(stated);
    });
    test("has an unknown cost without the host's part, and is computed from the tokens", () => {
      expect(report(0.05, null)).toEqual({
        usage: { input: 1, cachedInput: 0, output: 1, reasoning: 0 },
        ownAccount: true,
      });
    });
    test.each<Json>([-1, "free"])("a host's part of %p says that the report is broken", (value) => {
      expect(report(0.05, value)).toEqual({});
    });
  });

  const costs: [Json, number | undefined][] = [
    [0, 0],
    ["0", 0],
    [0.0014, 1_400_000],
    ["0.0014", 1_400_000],
    ["1.4e-3", 1_400_000],
    [1e-10, 1],
    ["0.0000000010000000000000000001", 2],
    [0.1 + 0.2, 300_000_001],
    [12, 12_000_000_000],
    [-0.1, undefined],
    ["-0.1", undefined],
    ["NaN", undefined],
    ["", undefined],
    [" ", undefined],
    ["free", undefined],
    [null, undefined],
    [true, undefined],
    [[1], undefined],
    // Too large to represent, but still a figure: a comparison with the hold must see it.
    [1e300, Number.MAX_SAFE_INTEGER],
    ["1e300", Number.MAX_SAFE_INTEGER],
    [9_007_200, Number.MAX_SAFE_INTEGER],
    [-1e300, undefined],
  ];
  for (const [cost, expected] of costs) {
    test(`with cost ${JSON.stringify(cost)} costs ${expected ?? "an unknown amount"}`, () => {
      expect(usageReport({ cost }).costNanoUsd).toBe(expected as number);
    });
  }
});
