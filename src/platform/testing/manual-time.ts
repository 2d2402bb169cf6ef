import type { Clock, Timers } from "../time.ts";

/** A clock and timers for tests; time passes only by `advance`. */
export interface ManualTime {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How many timers wait. */
  readonly pending: number;
  /** Lets time pass; timers fire in order, each at its own moment, those that callbacks set on the way included. */
  advance(ms: number): void;
  /** As `advance`, but lets promises settle before and after each timer: for code that awaits between timers. */
  advanceAsync(ms: number): Promise<void>;
  /** Lets time pass while the process is blocked: timers that came due meanwhile fire after it, in order. */
  stall(ms: number): Promise<void>;
  /** Sets the wall clock, as an administrator would; monotonic time and timers do not notice. */
  setWallClock(epochMs: number): void;
}

interface Waiting {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Promises that wait on promises settle within a few microtasks. */
const settlingMicrotasks = 20;

export function manualTime(startEpochMs = Date.UTC(2026, 0, 1)): ManualTime {
  const waiting = new Set<Waiting>();
  let elapsedMs = 0;
  let wallStartMs = startEpochMs;
  let made = 0;

  function takeDue(untilMs: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const timer of waiting) {
      if (timer.dueMs > untilMs) continue;
      if (
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    if (first === undefined) return undefined;
    waiting.delete(first);
    elapsedMs = Math.max(elapsedMs, first.dueMs);
    return first;
  }
  async function settle(): Promise<void> {
    for (let done = 0; done < settlingMicrotasks; done++) await Promise.resolve();
  }

  return {
    clock: { now: () => wallStartMs + elapsedMs, monotonic: () => elapsedMs },
    timers: {
      after(delayMs, callback) {
        const timer: Waiting = { dueMs: elapsedMs + Math.max(0, delayMs), order: made++, callback };
        waiting.add(timer);
        return () => void waiting.delete(timer);
      },
    },
    get pending() {
      return waiting.size;
    },
    advance(ms) {
      const untilMs = elapsedMs + ms;
      for (let due = takeDue(untilMs); due !== undefined; due = takeDue(untilMs)) due.callback();
      elapsedMs = untilMs;
    },
    async advanceAsync(ms) {
      const untilMs = elapsedMs + ms;
      await settle();
      for (let due = takeDue(untilMs); due !== undefined; due = takeDue(untilMs)) {
        due.callback();
        await settle();
      }
      elapsedMs = untilMs;
    },
    async stall(ms) {
      elapsedMs += ms;
      await this.advanceAsync(0);
    },
    setWallClock(epochMs) {
      wallStartMs = epochMs - elapsedMs;
    },
  };
}
