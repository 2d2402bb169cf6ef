import { expect, test } from "bun:test";
import fc from "fast-check";
import { Histogram as LibraryHistogram, Registry } from "prom-client";
import { createMetrics } from "./metrics.ts";
import { HistogramSeries } from "./series.ts";
import { expositionText, mergeMetrics, withoutGauges } from "./snapshot.ts";

test("a histogram prints the same text as the library for the same observations", async () => {
  const [name, help, buckets] = ["seconds", "How long.", [0.1, 1, 10]];
  const observation = fc.tuple(fc.constantFrom(0, 0.05, 0.1, 0.11, 1, 5, 10, 1_000), fc.constantFrom("a", "b", "c"));
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 40 }), async (observations) => {
      const theirs = new Registry();
      const own = new HistogramSeries(buckets);
      const library = new LibraryHistogram({ name, help, buckets, labelNames: ["model"], registers: [theirs] });
      for (const [value, model] of observations) {
        own.observe(value, model);
        library.labels(model).observe(value);
      }
      const values = own.samples(name, ["model"]);
      const sorted = (text: string) => text.trim().split("\n").sort();
      const ours = await expositionText([
        { name, help, type: "histogram", aggregator: "sum", labelNames: ["model"], values },
      ]);
      expect(sorted(ours)).toEqual(sorted(await theirs.metrics()));
    }),
  );
});

test("counters and histograms of several processes are summed and outlive them, gauges have rules of their own", async () => {
  const snapshots = [1, 2].map((factor) => {
    const metrics = createMetrics();
    metrics.observe({
      activeStreams: () => 10 * factor,
      ledger: () => ({ ok: factor === 1, queued: factor, oldestMs: 1_000 * factor }),
    });
    for (let count = 0; count < factor; count++) {
      metrics.count("smart_gateway_rejections_total", 1, "models", "401");
      metrics.dryRunFinished({ cause: "score_flash" }, 1);
    }
    return metrics.snapshot();
  });
  const counted = [
    'smart_gateway_rejections_total{route="models",status="401"} 3',
    'smart_gateway_decision_duration_seconds_count{endpoint="route_decision"} 3',
    'smart_gateway_decision_duration_seconds_bucket{le="+Inf",endpoint="route_decision"} 3',
  ];
  const lines = (await expositionText(mergeMetrics(snapshots))).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      ...counted,
      "smart_gateway_active_streams 30",
      "smart_gateway_ledger_up 0",
      "smart_gateway_ledger_queue_length 3",
      "smart_gateway_ledger_queue_oldest_seconds 2",
    ]),
  );
  const left = await expositionText(withoutGauges(mergeMetrics(snapshots)));
  expect(left.split("\n")).toEqual(expect.arrayContaining(counted));
  expect(left).not.toContain("smart_gateway_active_streams");
});
