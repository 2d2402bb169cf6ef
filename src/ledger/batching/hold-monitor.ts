import type { OpenHolds } from "#ledger/open-holds.ts";
import type { Clock } from "#platform/time.ts";

/** Seldom enough that the looking costs nothing beside the looking after: a fiftieth of the time at most. */
const restShare = 50;
const minRestMs = 1_000;
const maxRestMs = 30_000;
/** A store that cannot say it in time is not asked again for so long. */
const failedRestMs = 60_000;

/** What is held in the whole store, looked at now and then: one look at a time, and what the last one saw is kept. */
export class HoldMonitor {
  readonly #look: () => Promise<OpenHolds>;
  readonly #clock: Clock;
  #latest: { readonly holds: OpenHolds; readonly seenMs: number } | undefined;
  #looking: Promise<void> | undefined;
  #nextMs = 0;

  constructor(look: () => Promise<OpenHolds>, clock: Clock) {
    this.#look = look;
    this.#clock = clock;
  }

  /** As last seen; undefined before the first look, and when the last one was long ago. */
  get latest(): OpenHolds | undefined {
    const { seenMs = 0, holds } = this.#latest ?? {};
    return this.#clock.monotonic() - seenMs <= 2 * failedRestMs ? holds : undefined;
  }

  /** Looks, unless that was done a moment ago. Undefined when the store does not say. Never rejects. */
  async look(): Promise<OpenHolds | undefined> {
    if (this.#looking === undefined && this.#clock.monotonic() >= this.#nextMs) {
      this.#looking = this.#lookNow().finally(() => {
        this.#looking = undefined;
      });
    }
    await this.#looking;
    return this.latest;
  }

  async #lookNow(): Promise<void> {
    const begunMs = this.#clock.monotonic();
    try {
      const holds = await this.#look();
      const seenMs = this.#clock.monotonic();
      this.#latest = { holds, seenMs };
      this.#nextMs = seenMs + Math.min(maxRestMs, Math.max(minRestMs, (seenMs - begunMs) * restShare));
    } catch {
      // The store is away or too busy: the ledger's own calls say so where it matters.
      this.#nextMs = this.#clock.monotonic() + failedRestMs;
    }
  }
}
