/** The clock is handed in, so that tests move it and nothing has to sleep. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch, UTC. */
  now(): number;
  /** Milliseconds from an arbitrary start that never go backwards; for durations and deadlines. */
  monotonic(): number;
}

/** A UTC calendar day, `YYYY-MM-DD`. */
export type UtcDay = string;

/** The UTC day on which a moment (milliseconds since the epoch) falls. */
export function utcDayOf(epochMs: number): UtcDay {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** A source of uniform random numbers in [0, 1), handed in like the clock. */
export type Random = () => number;

/** Asks for a callback after a delay; the answer cancels it. One coarse wheel stands behind it, not a timer per event. */
export interface Timers {
  after(delayMs: number, callback: () => void): () => void;
}
