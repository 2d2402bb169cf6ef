import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Histogram as LibraryHistogram, type Metric, Registry } from "prom-client";
import { Histogram } from "./histogram.ts";

const options = { name: "seconds", help: "How long.", labelNames: ["model", "kind"], buckets: [0.1, 1, 10] };

describe("a histogram", () => {
  test("prints the same text as the library for the same observations", async () => {
    const label = fc.constantFrom("a", "b", "c");
    const observation = fc.tuple(fc.constantFrom(0, 0.05, 0.1, 0.11, 1, 5, 10, 1_000), label, label);
    await fc.assert(
      fc.asyncProperty(fc.array(observation, { maxLength: 40 }), async (observations) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const own = new Histogram(options);
        ours.registerMetric(own as unknown as Metric);
        const library = new LibraryHistogram({ ...options, registers: [theirs] });
        for (const [value, model, kind] of observations) {
          own.observe(value, model, kind);
          library.labels(model, kind).observe(value);
        }
        const sorted = (text: string) => text.trim().split("\n").sort();
        expect(sorted(await ours.metrics())).toEqual(sorted(await theirs.metrics()));
      }),
    );
  });

  test("ignores values that are not numbers", () => {
    const histogram = new Histogram({ ...options, labelNames: [] });
    for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY]) histogram.observe(value);
    expect(histogram.get().values).toEqual([]);
  });
});
