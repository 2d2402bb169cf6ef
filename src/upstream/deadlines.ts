import type { Clock, Timers } from "#platform/time.ts";

/** What an attempt can wait for too long. */
export type Phase = "connect" | "headers" | "first_event" | "idle" | "idle_data" | "total";

/**
 * The deadlines of one attempt behind a single timer. Moving a deadline only writes a field; the timer, when it fires,
 * compares the deadlines and sleeps again. So a stream costs no timer per read.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #expired: (phase: Phase) => void;
  readonly #totalAt: number;
  #phase: Phase = "total";
  #phaseAt = Number.POSITIVE_INFINITY;
  #wakesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #ended = false;

  /** `expired` is called at most once. Times are those of `clock.monotonic()`. */
  constructor(clock: Clock, timers: Timers, totalAt: number, expired: (phase: Phase) => void) {
    this.#clock = clock;
    this.#timers = timers;
    this.#totalAt = totalAt;
    this.#expired = expired;
  }

  /** Waits for `phase` until `at`, beside the total deadline; replaces what was waited for before. */
  await(phase: Phase, at: number): void {
    this.#phase = phase;
    this.#phaseAt = at;
    const next = this.#next();
    if (next < this.#wakesAt) this.#sleep(next);
  }

  /** Nothing is waited for but the total deadline: the reader is busy elsewhere. */
  pause(): void {
    this.#phaseAt = Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.#ended = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(): number {
    return Math.min(this.#phaseAt, this.#totalAt);
  }

  #sleep(until: number): void {
    if (this.#ended) return;
    this.#cancel?.();
    this.#wakesAt = until;
    this.#cancel = this.#timers.after(Math.max(1, until - this.#clock.monotonic()), () => this.#wake());
  }

  #wake(): void {
    this.#cancel = undefined;
    if (this.#ended) return;
    const now = this.#clock.monotonic();
    const at = this.#next();
    if (now < at) {
      // A paused reader has only the total deadline left; `await` shortens the sleep again.
      this.#sleep(at);
      return;
    }
    this.end();
    this.#expired(now >= this.#totalAt ? "total" : this.#phase);
  }
}
