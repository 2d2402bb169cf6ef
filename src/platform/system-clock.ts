import type { Clock } from "./time.ts";

/** The process's own clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
