/** How the samples of several processes are combined. Counters are always summed. */
export type Aggregation = "sum" | "max" | "min";

/** One metric with its samples, as a registry gives it and as it travels between processes. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly SampleSnapshot[];
}

/** One line of the exposition. */
export interface SampleSnapshot {
  /** Present on the lines of a histogram. */
  readonly metricName?: string;
  readonly labels: { readonly [name: string]: string | number };
  readonly value: number;
}

const combined: { readonly [A in Aggregation]: (a: number, b: number) => number } = {
  sum: (a, b) => a + b,
  max: Math.max,
  min: Math.min,
};

/** The metrics of several processes as those of one. */
export function mergeMetrics(processes: readonly (readonly MetricSnapshot[])[]): MetricSnapshot[] {
  const merged = new Map<string, { metric: MetricSnapshot; samples: Map<string, SampleSnapshot> }>();
  for (const metric of processes.flat()) {
    let entry = merged.get(metric.name);
    if (entry === undefined) {
      entry = { metric, samples: new Map() };
      merged.set(metric.name, entry);
    }
    const combine = combined[metric.aggregator as Aggregation] ?? combined.sum; // ours are all declared with one of the three
    for (const sample of metric.values) {
      const key = `${sample.metricName ?? ""} ${JSON.stringify(Object.entries(sample.labels).toSorted())}`;
      const before = entry.samples.get(key);
      entry.samples.set(key, before === undefined ? sample : { ...before, value: combine(before.value, sample.value) });
    }
  }
  return [...merged.values()].map(({ metric, samples }) => ({ ...metric, values: [...samples.values()] }));
}

/** What of a process outlives it: its counters and histograms. Gauges end with it. */
export function countersOf(metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  return metrics.filter(({ type }) => type === "counter" || type === "histogram");
}
