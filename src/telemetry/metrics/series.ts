import type { SampleSnapshot } from "./declarations.ts";

/** Found by their labels alone: the metrics library checks and hashes them at each of a request's dozen additions. */

/** An upstream's figures end up here: an absurd one must not spoil the scrape. */
function isCountable(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** Distinct values that a label may take before the rest count as `other`: those from the operator's files can be any number. */
const maxLabelValues = 256;

/** What is kept for a label, made by its first use; for labels beyond the bound, and odd ones, that of `other`. */
function entryFor<T>(entries: Map<string, T>, label: string, make: () => T): T {
  const known = entries.get(label);
  if (known !== undefined) return known;
  const isKept = entries.size < maxLabelValues && /^[\w.:/+-]{1,64}$/.test(label);
  if (!isKept && label !== "other") return entryFor(entries, "other", make);
  const made = make();
  entries.set(label, made);
  return made;
}

/** Values by labels, in a tree with a step for each label: they are the same few strings each time. */
export class Series {
  readonly #longer = new Map<string, Series>();
  /** Undefined while there is none for exactly these labels. */
  #value: number | undefined;

  /** Up to four labels, one by one: a rest parameter would make an array for each call. */
  add(amount: number, first?: string, second?: string, third?: string, fourth?: string): void {
    if (first !== undefined) entryFor(this.#longer, first, newSeries).add(amount, second, third, fourth);
    else if (isCountable(amount)) this.#value = (this.#value ?? 0) + amount;
  }

  set(value: number, [first, ...others]: readonly string[]): void {
    if (first === undefined) this.#value = value;
    else entryFor(this.#longer, first, newSeries).set(value, others);
  }

  samples(labelNames: readonly string[], labels: SampleSnapshot["labels"] = {}): SampleSnapshot[] {
    const own = this.#value === undefined ? [] : [{ labels, value: this.#value }];
    const [name = "", ...others] = labelNames;
    const longer = [...this.#longer].flatMap(([label, next]) => next.samples(others, { ...labels, [name]: label }));
    return [...own, ...longer];
  }
}

const newSeries = () => new Series();

/** A histogram with one label. */
export class HistogramSeries {
  readonly #buckets: readonly number[];
  /** By label: observations per bucket, not cumulated; the last is above all bounds. */
  readonly #series = new Map<string, { counts: number[]; sum: number }>();
  readonly #newEntry = () => ({ counts: new Array<number>(this.#buckets.length + 1).fill(0), sum: 0 });

  /** `buckets` are upper bounds, ascending; the one without a bound is added. */
  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
  }

  observe(value: number, label: string): void {
    if (!isCountable(value)) return;
    const series = entryFor(this.#series, label, this.#newEntry);
    let bucket = 0;
    while (value > (this.#buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  samples(name: string, [labelName = ""]: readonly string[]): SampleSnapshot[] {
    return [...this.#series].flatMap(([label, { counts, sum }]) => {
      const labels = { [labelName]: label };
      let upTo = 0;
      const buckets = counts.map((count, index) => {
        upTo += count;
        return { metricName: `${name}_bucket`, labels: { le: this.#buckets[index] ?? "+Inf", ...labels }, value: upTo };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: upTo },
      ];
    });
  }
}
