import { contentType, textOf } from "./exposition.ts";
import { Histogram } from "./histogram.ts";
import { LabelSums } from "./label-sums.ts";
import type { Aggregation, MetricSnapshot, SampleSnapshot } from "./merged-metrics.ts";

export interface Declaration {
  readonly name: string;
  /** How the samples of several workers become the gateway's. */
  readonly aggregation: Aggregation;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labelNames: readonly string[];
}

/**
 * How the gauges of several workers become one. Amounts that each worker has for itself are summed. Of gauges that are 1 while
 * something works the smallest counts. Of all others the largest counts: it is the same in all workers, or the one that matters.
 */
const gaugeAggregations: { readonly [name: string]: Aggregation } = {
  smart_gateway_active_streams: "sum",
  smart_gateway_requests_in_flight: "sum",
  smart_gateway_ledger_queue_length: "sum",
  smart_gateway_scan_memory_bytes: "sum",
  smart_gateway_ledger_up: "min",
  smart_gateway_model_routable: "min",
  smart_gateway_config_last_reload_successful: "min",
  smart_gateway_config_last_reload_timestamp_seconds: "min",
  process_start_time_seconds: "min",
  process_resident_memory_bytes: "sum",
  process_open_fds: "sum",
  process_max_fds: "sum",
};

/** The metrics of one gateway: declares each once, and reads them all. */
export class MetricsRegistry {
  readonly #declared: Declaration[] = [];
  /** For each declaration, in their order: reads its samples. */
  readonly #readers: (() => readonly SampleSnapshot[])[] = [];

  histogram(name: string, help: string, labelNames: string[], buckets: number[]): Histogram {
    const histogram = new Histogram({ name, labelNames, buckets });
    this.#declare({ name, type: "histogram", aggregation: "sum", help, labelNames }, () => histogram.samples());
    return histogram;
  }

  /** A counter that is added up by labels: a request touches a dozen of them. */
  counter<L extends string>(name: string, help: string, labelNames: readonly L[]): LabelSums["add"] {
    const sums = new LabelSums();
    // One without labels is there before it counts.
    if (labelNames.length === 0) sums.add(0);
    this.#declare({ name, type: "counter", aggregation: "sum", help, labelNames }, () => {
      const samples: SampleSnapshot[] = [];
      sums.each((value, labels) => samples.push({ labels: named(labelNames, labels), value }));
      return samples;
    });
    return (amount, first, second, third, fourth) => {
      // What an upstream reports ends up here: an absurd figure must not spoil the scrape.
      if (amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) sums.add(amount, first, second, third, fourth);
    };
  }

  gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: (set: (value: number, ...labels: string[]) => void) => void,
  ): void {
    const aggregation = gaugeAggregations[name] ?? "max";
    this.#declare({ name, type: "gauge", aggregation, help, labelNames }, () => {
      // Of two values for the same labels the later one counts.
      const samples = new Map<string, SampleSnapshot>();
      read((value, ...labels) => samples.set(labels.join("\n"), { labels: named(labelNames, labels), value }));
      return [...samples.values()];
    });
  }

  /** A counter whose value is read at each scrape. */
  readCounter(name: string, help: string, read: () => number): void {
    const declaration = { name, type: "counter", aggregation: "sum", help, labelNames: [] } as const;
    this.#declare(declaration, () => [{ labels: {}, value: read() }]);
  }

  #declare(declaration: Declaration, samples: () => readonly SampleSnapshot[]): void {
    this.#declared.push(declaration);
    this.#readers.push(samples);
  }

  /** Every metric that was declared, for the reference. */
  get catalog(): readonly Declaration[] {
    return this.#declared;
  }

  text(): Promise<string> {
    return textOf(this.snapshot());
  }

  snapshot(): MetricSnapshot[] {
    return this.#declared.map(({ name, help, type, aggregation: aggregator }, index) => ({
      ...{ name, help, type, aggregator },
      values: this.#readers[index]?.() ?? [],
    }));
  }

  readonly contentType = contentType;
}

function named(names: readonly string[], labels: readonly string[]): { readonly [name: string]: string } {
  return Object.fromEntries(names.map((name, index) => [name, labels[index] ?? ""]));
}
