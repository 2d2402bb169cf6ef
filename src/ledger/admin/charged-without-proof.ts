import { BackgroundJob } from "#platform/background-job.ts";
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
  readonly #job: BackgroundJob;
  #latest: { readonly day: UtcDay; readonly nanoUsd: number } | undefined;
  /** When the next reading may begin, by the monotonic clock. */
  #notBeforeMs = 0;
  #isOutdated = false;

  constructor(options: ChargedWithoutProofOptions) {
    this.#options = options;
    const { timers } = options;
    this.#job = new BackgroundJob({ run: () => this.#read(), pauseMs: () => this.#pauseMs(), timers });
  }

  /** In nano-USD; undefined before the first reading. A day that has just begun starts with 0. */
  get latest(): number | undefined {
    if (this.#latest === undefined) return undefined;
    return this.#latest.day < utcDayOf(this.#options.clock.now()) ? 0 : this.#latest.nanoUsd;
  }

  /** Reads for the first time; the caller does not wait. */
  start(): void {
    this.#job.start();
  }

  /** This node has charged a hold without a known cost, or corrected such a charge. */
  changed(): void {
    this.#isOutdated = true;
    this.#job.schedule();
  }

  close(): Promise<void> {
    return this.#job.close();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { clock, open, today } = this.#options;
    this.#isOutdated = false;
    let pauseMs = failedPauseMs;
    try {
      const day = await today();
      if (day === undefined) throw new Error("the store does not answer");
      const ledger = await open();
      // Connecting is not reading: it loads the store no more on a slow day.
      const startedMs = clock.monotonic();
      try {
        this.#latest = { day, nanoUsd: await ledger.chargedWithoutProof(day) };
      } finally {
        await ledger.close();
      }
      pauseMs = Math.max(minPauseMs, (clock.monotonic() - startedMs) * pauseFactor);
    } catch {
      // The store does not answer: the ledger's own calls report that.
      this.#isOutdated = true;
    }
    this.#notBeforeMs = clock.monotonic() + Math.min(everyMs, pauseMs);
  }

  #pauseMs(): number {
    const { clock, random } = this.#options;
    const nowMs = clock.now();
    const usualMs = Math.min(everyMs * (0.8 + 0.4 * random()), endOfUtcDay(nowMs) - nowMs);
    return Math.max(this.#notBeforeMs - clock.monotonic(), this.#isOutdated ? 0 : usualMs);
  }
}
