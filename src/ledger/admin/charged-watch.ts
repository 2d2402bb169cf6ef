import type { Clock, Random, Timers, UtcDay } from "#platform/time.ts";
import { endOfUtcDay, utcDayOf } from "#platform/time.ts";

export interface ChargedWatchOptions {
  /** The UTC day that the ledger charges now; undefined while its store does not answer. */
  readonly today: () => Promise<UtcDay | undefined>;
  /** What the account of a day was charged without a known cost, in nano-USD. May take long. */
  readonly read: (day: UtcDay) => Promise<number>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

/** Corrections by operators and charges by other nodes are seen after so long. */
const everyMs = 300_000;
const minPauseMs = 1_000;
/** The next reading waits for this many times the duration of the last, so readings take at most a fiftieth of the time. */
const pauseFactor = 50;

/**
 * What today's account was charged for calls of unknown cost, read from the ledger at the start, soon after each change that
 * this node makes, at midnight, and about every five minutes. Nothing that it does can fail a start or a request.
 */
export class ChargedWatch {
  readonly #options: ChargedWatchOptions;
  #latest: { readonly day: UtcDay; readonly nanoUsd: number } | undefined;
  #cancelTimer: () => void = () => undefined;
  #reading: Promise<void> | undefined;
  /** When the next reading may begin, by the monotonic clock. */
  #notBeforeMs = 0;
  #isOutdated = false;
  #isClosed = false;

  constructor(options: ChargedWatchOptions) {
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
    const { clock, read, today } = this.#options;
    const startedMs = clock.monotonic();
    try {
      const day = await today();
      if (day !== undefined) this.#latest = { day, nanoUsd: await read(day) };
    } catch {
      // The store does not answer: the ledger's own calls report that, and the next reading comes by itself.
    }
    const endedMs = clock.monotonic();
    this.#notBeforeMs = endedMs + Math.min(everyMs, Math.max(minPauseMs, (endedMs - startedMs) * pauseFactor));
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
