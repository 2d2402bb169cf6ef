import type { Metric } from "prom-client";
import type { Declaration, MetricSnapshot, SampleSnapshot } from "./declarations.ts";

const combine: { readonly [A in Declaration["aggregator"]]: (a: number, b: number) => number } = {
  sum: (a, b) => a + b,
  max: Math.max,
  min: Math.min,
};

/** The metrics of several processes as those of one. */
export function mergeMetrics(processes: readonly (readonly MetricSnapshot[])[]): MetricSnapshot[] {
  const merged = new Map<string, { metric: MetricSnapshot; samples: Map<string, SampleSnapshot> }>();
  for (const metric of processes.flat()) {
    const entry = merged.get(metric.name) ?? { metric, samples: new Map<string, SampleSnapshot>() };
    merged.set(metric.name, entry);
    for (const sample of metric.values) {
      const key = `${sample.metricName ?? ""} ${JSON.stringify(Object.entries(sample.labels).toSorted())}`;
      const value = entry.samples.get(key)?.value;
      const together = value === undefined ? sample.value : combine[metric.aggregator](value, sample.value);
      entry.samples.set(key, { ...sample, value: together });
    }
  }
  return [...merged.values()].map(({ metric, samples }) => ({ ...metric, values: [...samples.values()] }));
}

/** What of a process outlives it: its counters and histograms. Gauges end with it. */
export function withoutGauges(metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  return metrics.filter(({ type }) => type !== "gauge");
}

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/**
 * The Prometheus text exposition, as the library prints it. The library is loaded at the first scrape: with what it
 * needs it takes 3 MB of memory, and a gateway that nobody scrapes never uses it.
 */
export async function expositionText(metrics: readonly MetricSnapshot[]): Promise<string> {
  const { Registry } = await import("prom-client");
  const registry = new Registry();
  for (const metric of metrics) {
    // A registry reads only the name and what `get` answers.
    registry.registerMetric({ name: metric.name, get: () => metric } as unknown as Metric);
  }
  return registry.metrics();
}
