import type { Permit, Verdict } from "#health/health.ts";

/** A permit that reports what `filter` makes of each verdict. It lives as long as its stream, and so does what `filter` holds. */
export class FilteredPermit implements Permit {
  readonly #permit: Permit;
  readonly #filter: (verdict: Verdict) => Verdict;

  constructor(permit: Permit, filter: (verdict: Verdict) => Verdict) {
    this.#permit = permit;
    this.#filter = filter;
  }

  get model(): string {
    return this.#permit.model;
  }

  get epoch(): number {
    return this.#permit.epoch;
  }

  get probe(): boolean {
    return this.#permit.probe;
  }

  answering(): void {
    this.#permit.answering();
  }

  report(verdict: Verdict): void {
    this.#permit.report(this.#filter(verdict));
  }
}
