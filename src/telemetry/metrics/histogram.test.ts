import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Histogram as LibraryHistogram, Registry } from "prom-client";
import { textOf } from "./exposition.ts";
import { Histogram } from "./histogram.ts";

const help = "How long.";
const options = { name: "seconds", labelNames: ["model", "kind"], buckets: [0.1, 1, 10] };

describe("a histogram", () => {
  test("prints the same text as the library for the same observations", async () => {
    const label = fc.constantFrom("a", "b", "c");
    const observation = fc.tuple(fc.constantFrom(0, 0.05, 0.1, 0.11, 1, 5, 10, 1_000), label, label);
    await fc.assert(
      fc.asyncProperty(fc.array(observation, { maxLength: 40 }), async (observations) => {
        const theirs = new Registry();
        const own = new Histogram(options);
        const library = new LibraryHistogram({ ...options, help, registers: [theirs] });
        for (const [value, model, kind] of observations) {
          own.observe(value, model, kind);
          library.labels(model, kind).observe(value);
        }
        const sorted = (text: string) => text.trim().split("\n").sort();
        const { name } = options;
        const ours = await textOf([{ name, help, type: "histogram", aggregator: "sum", values: own.samples() }]);
        expect(sorted(ours)).toEqual(sorted(await theirs.metrics()));
      }),
    );
  });

  test("ignores values that are not numbers", () => {
    const histogram = new Histogram({ ...options, labelNames: [] });
    for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY]) histogram.observe(value);
    expect(histogram.samples()).toEqual([]);
  });
});
