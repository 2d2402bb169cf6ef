/** How few times say nothing about a percentile. */
const enough = 20;

/** How long the latest of something took, and their 95th percentile. */
export class RecentTimes {
  readonly #size: number;
  readonly #holdsMs: number;
  readonly #times: number[] = [];
  #next = 0;
  #p95Ms: number | undefined;
  #p95AtMs = 0;

  /** Keeps the latest `size` times; a percentile holds for `holdsMs` before it is computed again. */
  constructor(size: number, holdsMs: number) {
    this.#size = size;
    this.#holdsMs = holdsMs;
  }

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % this.#size;
  }

  /** In milliseconds; undefined while too few are known. */
  p95(nowMs: number): number | undefined {
    const isDue = this.#p95Ms === undefined || nowMs - this.#p95AtMs >= this.#holdsMs;
    if (isDue && this.#times.length >= enough) {
      const sorted = this.#times.toSorted((a, b) => a - b);
      this.#p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1];
      this.#p95AtMs = nowMs;
    }
    return this.#p95Ms;
  }
}
