import { expect, test } from "bun:test";
import { textOf } from "./exposition.ts";
import { countersOf, mergeMetrics } from "./merged-metrics.ts";
import { createMetrics } from "./metrics.ts";

test("counters and histograms of several processes are summed, gauges by their own rule", async () => {
  const processes = [1, 2].map((factor) => {
    const metrics = createMetrics();
    metrics.observe({
      version: "1.2.3",
      activeStreams: () => 10 * factor,
      ledger: () => ({ ok: factor === 1, queued: factor, oldestMs: 1_000 * factor }),
    });
    for (let count = 0; count < factor; count++) {
      metrics.requestRejected("models", 401);
      metrics.dryRunFinished({ cause: "score_flash" }, 1);
    }
    return metrics;
  });
  const snapshots = processes.map((metrics) => metrics.snapshot());
  const text = await textOf(mergeMetrics(snapshots));
  for (const line of [
    'smart_gateway_rejections_total{route="models",status="401"} 3',
    'smart_gateway_decision_duration_seconds_count{endpoint="route_decision"} 3',
    'smart_gateway_decision_duration_seconds_bucket{le="+Inf",endpoint="route_decision"} 3',
    "smart_gateway_active_streams 30",
    "smart_gateway_ledger_up 0",
    "smart_gateway_ledger_queue_length 3",
    "smart_gateway_ledger_queue_oldest_seconds 2",
    'smart_gateway_build_info{version="1.2.3",policy_version="1"} 1',
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("an ended process keeps its counters and histograms, not its gauges", async () => {
  const metrics = createMetrics();
  metrics.observe({ activeStreams: () => 7 });
  metrics.requestRejected("models", 401);
  const text = await textOf(countersOf(metrics.snapshot()));
  expect(text).toContain('smart_gateway_rejections_total{route="models",status="401"} 1');
  expect(text).not.toContain("smart_gateway_active_streams");
});

test("the merged metrics of one process equal its own", async () => {
  const metrics = createMetrics();
  metrics.observe({ version: "1", caps: () => ({ goalSoft: 1, goalHard: 2, daySoft: 3, dayHard: 4 }) });
  metrics.requestRejected("other", 404);
  metrics.dryRunFinished({ cause: "score_pro" }, 3);
  const own = (text: string) =>
    text
      .split("\n")
      .filter((line) => line.startsWith("smart_gateway"))
      .toSorted();
  expect(own(await textOf(mergeMetrics([metrics.snapshot()])))).toEqual(own(await metrics.text()));
});
