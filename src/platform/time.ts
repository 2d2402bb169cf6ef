/** The clock is passed in, so that tests can advance it and need not sleep. */
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

/** The moment at which the UTC day of a moment ends, both in milliseconds since the epoch. */
export function endOfUtcDay(epochMs: number): number {
  const dayMs = 86_400_000;
  return (Math.floor(epochMs / dayMs) + 1) * dayMs;
}

/** A source of uniform random numbers in [0, 1), passed in like the clock. */
export type Random = () => number;

/** Asks for a callback after a delay; the returned function cancels it. Implemented by one coarse timer wheel, not by a runtime timer per callback. */
export interface Timers {
  after(delayMs: number, callback: () => void): () => void;
}
