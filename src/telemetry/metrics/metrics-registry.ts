import { Counter, Gauge, type Metric, Registry } from "prom-client";
import { Histogram } from "./histogram.ts";
import { LabelSums } from "./label-sums.ts";
import type { Aggregation, MetricSnapshot } from "./merged-metrics.ts";

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

/** The metrics of one gateway: declares each once, and prints them all. */
export class MetricsRegistry {
  readonly #registry = new Registry();
  readonly #declared: Declaration[] = [];

  histogram(name: string, help: string, labelNames: string[], buckets: number[]): Histogram {
    this.#declared.push({ name, type: "histogram", aggregation: "sum", help, labelNames });
    const made = new Histogram({ name, help, labelNames, buckets });
    this.#registry.registerMetric(made as unknown as Metric); // a registry only calls `get` and reads the name
    return made;
  }

  /**
   * A counter that is added up here and handed over when someone scrapes: a request touches a dozen of them, and each would
   * cost more than all of them do now.
   */
  counter<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
  ): (amount: number, ...labels: string[]) => void {
    this.#declared.push({ name, type: "counter", aggregation: "sum", help, labelNames });
    const pending = new LabelSums();
    const counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect() {
        pending.drain((sum, labels) => counter.labels(...labels).inc(sum));
      },
    });
    return (amount, ...labels) => {
      // What an upstream reports ends up here: an absurd figure must not spoil the scrape.
      if (!(amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)) return;
      pending.add(amount, labels);
    };
  }

  gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: (set: (value: number, ...labels: string[]) => void) => void,
  ): void {
    const aggregation = gaugeAggregations[name] ?? "max";
    this.#declared.push({ name, type: "gauge", aggregation, help, labelNames });
    new Gauge({
      name,
      help,
      aggregator: aggregation,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect() {
        this.reset();
        // A gauge without labels starts at 0 after a reset; one without a value must have no sample.
        if (labelNames.length === 0) this.remove();
        read((value, ...labels) => this.labels(...labels).set(value));
      },
    });
  }

  /** A counter whose value is read at each scrape. */
  readCounter(name: string, help: string, read: () => number): void {
    this.#declared.push({ name, type: "counter", aggregation: "sum", help, labelNames: [] });
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** Every metric that was declared, for the reference. */
  get catalog(): readonly Declaration[] {
    return this.#declared;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  snapshot(): Promise<MetricSnapshot[]> {
    return this.#registry.getMetricsAsJSON() as Promise<unknown> as Promise<MetricSnapshot[]>; // typed loosely there
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
