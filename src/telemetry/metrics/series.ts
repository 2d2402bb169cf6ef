import type { Declaration } from "./declarations.ts";
import type { SampleSnapshot } from "./snapshot.ts";

/** Found by their labels alone: the metrics library checks and hashes them at each of a request's dozen additions. */

/** An upstream's figures end up here: an absurd one must not spoil the scrape. */
function isCountable(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** Sums by labels, in a tree with a step for each label: they are the same few strings each time. */
export class CounterSeries {
  readonly #longer = new Map<string, CounterSeries>();
  /** Undefined while nothing was added for exactly these labels. */
  #sum: number | undefined;

  /** Up to four labels, one by one: a rest parameter would make an array for each call. */
  add(amount: number, first?: string, second?: string, third?: string, fourth?: string): void {
    if (first !== undefined) {
      let longer = this.#longer.get(first);
      if (longer === undefined) {
        longer = new CounterSeries();
        this.#longer.set(first, longer);
      }
      longer.add(amount, second, third, fourth);
    } else if (isCountable(amount)) this.#sum = (this.#sum ?? 0) + amount;
  }

  samples(labelNames: readonly string[], labels: { readonly [name: string]: string } = {}): SampleSnapshot[] {
    const own = this.#sum === undefined ? [] : [{ labels, value: this.#sum }];
    const [name = "", ...others] = labelNames;
    const longer = [...this.#longer].flatMap(([label, next]) => next.samples(others, { ...labels, [name]: label }));
    return [...own, ...longer];
  }
}

/** A histogram with one label. */
export class HistogramSeries {
  readonly #buckets: readonly number[];
  /** By label: observations per bucket, not cumulated; the last is above all bounds. */
  readonly #series = new Map<string, { counts: number[]; sum: number }>();

  /** `buckets` are upper bounds, ascending; the one without a bound is added. */
  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
  }

  observe(value: number, label: string): void {
    if (!isCountable(value)) return;
    let series = this.#series.get(label);
    if (series === undefined) {
      series = { counts: new Array<number>(this.#buckets.length + 1).fill(0), sum: 0 };
      this.#series.set(label, series);
    }
    let bucket = 0;
    while (value > (this.#buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  samples({ name, labelNames: [labelName = ""] }: Pick<Declaration, "name" | "labelNames">): SampleSnapshot[] {
    return [...this.#series].flatMap(([label, { counts, sum }]) => {
      const labels = { [labelName]: label };
      let upTo = 0;
      const buckets = counts.map((count, index) => {
        upTo += count;
        return {
          metricName: `${name}_bucket`,
          labels: { le: this.#buckets[index] ?? "+Inf", ...labels },
          value: upTo,
        };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: upTo },
      ];
    });
  }
}
