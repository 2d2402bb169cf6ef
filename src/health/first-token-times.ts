/**
 * Remembers how long a model's first tokens took, well enough for a 95th percentile: a histogram whose buckets grow by a
 * quarter each, and whose counts are halved now and then, so that it forgets. Constant size; 7 ms to 20 minutes.
 */
const growth = 1.25;
const smallestMs = 8;
const buckets = 54;
/** Fewer than this say nothing about a percentile. */
const enough = 20;
const halvedAt = 1_024;
/** A percentile holds this long, so that a model that turns slow is measured against what it used to be. */
const holdsMs = 600_000;

export class FirstTokenTimes {
  readonly #counts = new Uint16Array(buckets);
  #total = 0;
  #p95Ms: number | undefined;
  #p95AtMs = 0;

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, smallestMs) / smallestMs) / Math.log(growth));
    const index = Math.min(bucket, buckets - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total += 1;
    if (this.#total >= halvedAt) this.#halve();
  }

  /** Upper edge of the bucket that holds the 95th percentile, in milliseconds; undefined while too few are known. */
  p95(nowMs: number): number | undefined {
    if (this.#total < enough) return this.#p95Ms;
    if (this.#p95Ms === undefined || nowMs - this.#p95AtMs >= holdsMs) {
      this.#p95Ms = this.#quantile(0.95);
      this.#p95AtMs = nowMs;
    }
    return this.#p95Ms;
  }

  #quantile(share: number): number {
    let left = Math.ceil(this.#total * share);
    for (let index = 0; index < buckets; index++) {
      left -= this.#counts[index] ?? 0;
      if (left <= 0) return smallestMs * growth ** index;
    }
    return smallestMs * growth ** (buckets - 1);
  }

  #halve(): void {
    this.#total = 0;
    for (let index = 0; index < buckets; index++) {
      const half = (this.#counts[index] ?? 0) >> 1;
      this.#counts[index] = half;
      this.#total += half;
    }
  }
}
