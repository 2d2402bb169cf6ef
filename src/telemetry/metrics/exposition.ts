import type { Metric } from "prom-client";
import type { MetricSnapshot } from "./merged-metrics.ts";

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/**
 * The Prometheus text exposition, as the library prints it. It is loaded at the first scrape: with what it needs it takes 3 MB of memory, and
 * a gateway that nobody scrapes never uses it.
 */
export async function textOf(metrics: readonly MetricSnapshot[]): Promise<string> {
  const { Registry } = await import("prom-client");
  const registry = new Registry();
  for (const metric of metrics) {
    // A registry reads only the name and what `get` answers.
    registry.registerMetric({ name: metric.name, get: () => metric } as unknown as Metric);
  }
  return registry.metrics();
}
