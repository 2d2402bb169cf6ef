const tickMs = 10;
/** A later tick tells of a stop: the process lost its processor, or the whole machine stood still. */
const longestTickMs = 100;

let countedMs = 0;
let countedAt = performance.now();

function count(): void {
  const now = performance.now();
  countedMs += Math.min(now - countedAt, longestTickMs);
  countedAt = now;
}
setInterval(count, tickMs).unref();

/**
 * Milliseconds in which this process has run, for time limits of tests that wait. A stop of some seconds, as on a busy
 * machine, counts as a tenth of a second. Not for code that blocks the event loop: that looks like a stop.
 */
export function runningMs(): number {
  count();
  return countedMs;
}

/** Milliseconds of processor time that this process has used, for time limits of tests that compute. No stop counts. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
