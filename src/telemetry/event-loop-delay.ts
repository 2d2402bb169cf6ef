import type { Clock } from "#domain/time.ts";

/** How late the event loop runs its timers: the one figure that rises before everything else does. */
export interface EventLoopDelay {
  /** The largest delay within the last second or two, in milliseconds. */
  recentMs(): number;
  /** The largest delay since the last call, in milliseconds. */
  takeMaxMs(): number;
  close(): void;
}

/** Starts something every so many milliseconds; the answer stops it. It must not keep the process alive. */
export type Every = (intervalMs: number, callback: () => void) => () => void;

/** A timer each 50 ms costs nothing that can be measured, and sees every block longer than that. */
const intervalMs = 50;
const windowMs = 1_000;

export function eventLoopDelay(clock: Pick<Clock, "monotonic">, every: Every = everyUnref): EventLoopDelay {
  let last = clock.monotonic();
  let windowStart = last;
  let [current, previous, sinceTaken] = [0, 0, 0];
  /** A block that still lasts counts as soon as someone asks. */
  const look = () => {
    const now = clock.monotonic();
    const late = Math.max(0, now - last - intervalMs);
    if (now - windowStart >= windowMs) {
      previous = now - windowStart >= 2 * windowMs ? 0 : current;
      current = 0;
      windowStart = now;
    }
    current = Math.max(current, late);
    sinceTaken = Math.max(sinceTaken, late);
    return now;
  };
  const stop = every(intervalMs, () => {
    last = look();
  });
  return {
    recentMs() {
      look();
      return Math.max(current, previous);
    },
    takeMaxMs() {
      look();
      const taken = sinceTaken;
      sinceTaken = 0;
      return taken;
    },
    close: stop,
  };
}

function everyUnref(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
}
