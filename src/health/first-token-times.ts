/** How many times are remembered, and how few say nothing about a percentile. */
const remembered = 500;
const enough = 20;
/** A percentile holds this long, so that a model that turns slow is measured against what it used to be. */
const holdsMs = 600_000;

/** How long a model's latest first tokens took, and their 95th percentile. */
export class FirstTokenTimes {
  readonly #times: number[] = [];
  #next = 0;
  #p95Ms: number | undefined;
  #p95AtMs = 0;

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % remembered;
  }

  /** In milliseconds; undefined while too few are known. */
  p95(nowMs: number): number | undefined {
    const isDue = this.#p95Ms === undefined || nowMs - this.#p95AtMs >= holdsMs;
    if (isDue && this.#times.length >= enough) {
      const sorted = this.#times.toSorted((a, b) => a - b);
      this.#p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1];
      this.#p95AtMs = nowMs;
    }
    return this.#p95Ms;
  }
}
