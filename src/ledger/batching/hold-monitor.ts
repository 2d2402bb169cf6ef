import type { OpenHolds } from "#ledger/open-holds.ts";
import type { Clock } from "#platform/time.ts";

/** A query runs again after this many times its own duration: queries take a fiftieth of the time at most. */
const pauseFactor = 50;
const minPauseMs = 1_000;
const maxPauseMs = 30_000;
/** Pause after a query that failed or timed out. */
const failedPauseMs = 60_000;

/** What is held in the whole store, queried now and then: one query at a time, and the latest result is kept. */
export class HoldMonitor {
  readonly #query: () => Promise<OpenHolds>;
  readonly #clock: Clock;
  #latest: { readonly holds: OpenHolds; readonly seenMs: number } | undefined;
  #running: Promise<void> | undefined;
  #nextMs = 0;

  constructor(query: () => Promise<OpenHolds>, clock: Clock) {
    this.#query = query;
    this.#clock = clock;
  }

  /** The latest result; undefined before the first one, and when it is old. */
  get latest(): OpenHolds | undefined {
    const { seenMs = 0, holds } = this.#latest ?? {};
    return this.#clock.monotonic() - seenMs <= 2 * failedPauseMs ? holds : undefined;
  }

  /** Queries, unless that was done a moment ago. Undefined when the store does not answer. Never rejects. */
  async refresh(): Promise<OpenHolds | undefined> {
    if (this.#running === undefined && this.#clock.monotonic() >= this.#nextMs) {
      this.#running = this.#queryNow().finally(() => {
        this.#running = undefined;
      });
    }
    await this.#running;
    return this.latest;
  }

  async #queryNow(): Promise<void> {
    const startedMs = this.#clock.monotonic();
    try {
      const holds = await this.#query();
      const seenMs = this.#clock.monotonic();
      this.#latest = { holds, seenMs };
      this.#nextMs = seenMs + Math.min(maxPauseMs, Math.max(minPauseMs, (seenMs - startedMs) * pauseFactor));
    } catch {
      // The store is unavailable or too busy: the ledger's own calls report it where it matters.
      this.#nextMs = this.#clock.monotonic() + failedPauseMs;
    }
  }
}
