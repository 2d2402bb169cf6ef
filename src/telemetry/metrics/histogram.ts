import type { SampleSnapshot } from "./merged-metrics.ts";

export interface HistogramOptions {
  readonly name: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending; the one without a bound is added. */
  readonly buckets: readonly number[];
}

interface Series {
  readonly labels: readonly string[];
  /** Observations per bucket, not cumulated; the last is above all bounds. */
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram. An observation is one look-up and two additions: prom-client's
 * checks and hashes its labels each time, which for the five of a request cost more than everything else that is counted.
 */
export class Histogram {
  readonly name: string;
  readonly #labelNames: readonly string[];
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor({ name, labelNames, buckets }: HistogramOptions) {
    this.name = name;
    this.#labelNames = labelNames;
    this.#buckets = buckets;
  }

  /** `labels` in the order of the label names. */
  observe(value: number, ...labels: readonly string[]): void {
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return;
    const key = labels.length === 1 ? (labels[0] ?? "") : labels.join("\n");
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels, counts: new Array<number>(this.#buckets.length + 1).fill(0), sum: 0 };
      this.#series.set(key, series);
    }
    let bucket = 0;
    while (value > (this.#buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  /** Its lines in the exposition. */
  samples(): readonly SampleSnapshot[] {
    const values: SampleSnapshot[] = [];
    for (const { labels, counts, sum } of this.#series.values()) {
      const own = Object.fromEntries(this.#labelNames.map((name, index) => [name, labels[index] ?? ""]));
      let upTo = 0;
      counts.forEach((count, index) => {
        upTo += count;
        values.push({
          metricName: `${this.name}_bucket`,
          labels: { le: this.#buckets[index] ?? "+Inf", ...own },
          value: upTo,
        });
      });
      values.push({ metricName: `${this.name}_sum`, labels: own, value: sum });
      values.push({ metricName: `${this.name}_count`, labels: own, value: upTo });
    }
    return values;
  }
}
