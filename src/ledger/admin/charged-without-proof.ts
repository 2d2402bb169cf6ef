import type { Clock, Random, Timers, UtcDay } from "#platform/time.ts";
import { endOfUtcDay, utcDayOf } from "#platform/time.ts";
import type { LedgerAdmin } from "./ledger-admin.ts";

export interface ChargedWithoutProofOptions {
  /** The UTC day that the ledger charges now; undefined while its store does not answer. */
  readonly today: () => Promise<UtcDay | undefined>;
  /** Opens the ledger for one reading. A reading of a large ledger may take long. */
  readonly open: () => Promise<Pick<LedgerAdmin, "chargedWithoutProof" | "close">>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

/** Corrections by operators and charges by other nodes are seen after so long. */
const everyMs = 300_000;
const minPauseMs = 1_000;
/** Pause after a reading that failed. */
const failedPauseMs = 5_000;
/** The pause after a reading is this many times its duration: readings take a fiftieth of the time at most. */
const pauseFactor = 50;

/**
 * What today's account was charged for calls of unknown cost, read from the ledger at the start, soon after each change that
 * this node makes, at midnight, and about every five minutes. Nothing that it does can fail a start or a request.
 */
export class ChargedWithoutProof {
  readonly #options: ChargedWithoutProofOptions;
  #latest: { readonly day: UtcDay; readonly nanoUsd: number } | undefined;
  #cancelTimer: () => void = () => undefined;
  #reading: Promise<void> | undefined;
  /** When the next reading may begin, by the monotonic clock. */
  #notBeforeMs = 0;
  #isOutdated = false;
  #isClosed = false;

  constructor(options: ChargedWithoutProofOptions) {
    this.#options = options;
  }

  /** In nano-USD; undefined before the first reading. A day that has just begun starts with 0. */
  get latest(): number | undefined {
    if (this.#latest === undefined) return undefined;
    return this.#latest.day < utcDayOf(this.#options.clock.now()) ? 0 : this.#latest.nanoUsd;
  }

  /** Reads for the first time; the caller does not wait. */
  start(): void {
    this.#begin();
  }

  /** This node has charged a hold without a known cost, or corrected such a charge. */
  changed(): void {
    this.#isOutdated = true;
    if (this.#reading === undefined) this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    await this.#reading;
  }

  #begin(): void {
    this.#isOutdated = false;
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
      this.#schedule();
    });
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { clock, open, today } = this.#options;
    let tookMs = 0;
    let failed = true;
    try {
      const day = await today();
      if (day !== undefined) {
        const ledger = await open();
        // Connecting is not reading: it loads the store no more on a slow day.
        const startedMs = clock.monotonic();
        try {
          this.#latest = { day, nanoUsd: await ledger.chargedWithoutProof(day) };
          failed = false;
        } finally {
          tookMs = clock.monotonic() - startedMs;
          await ledger.close();
        }
      }
    } catch {
      // The store does not answer: the ledger's own calls report that.
    }
    if (failed) this.#isOutdated = true;
    const pauseMs = failed ? failedPauseMs : Math.max(minPauseMs, tookMs * pauseFactor);
    this.#notBeforeMs = clock.monotonic() + Math.min(everyMs, pauseMs);
  }

  #schedule(): void {
    this.#cancelTimer();
    if (this.#isClosed) return;
    const { clock, random, timers } = this.#options;
    const nowMs = clock.now();
    const usualMs = Math.min(everyMs * (0.8 + 0.4 * random()), endOfUtcDay(nowMs) - nowMs);
    const pauseMs = Math.max(this.#notBeforeMs - clock.monotonic(), this.#isOutdated ? 0 : usualMs);
    this.#cancelTimer = timers.after(Math.max(0, pauseMs), () => this.#begin());
  }
}
