import { dlopen } from "bun:ffi";

/** `CLOCK_THREAD_CPUTIME_ID` of Linux. */
const threadClock = 3;

/**
 * A clock of the CPU time that this thread has had, in nanoseconds: what other processes take on a busy machine does not count.
 * Where there is none, the time that passes.
 */
export const threadTime: () => number = (() => {
  if (process.platform !== "linux") return () => Bun.nanoseconds();
  const { symbols } = dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } });
  const spec = new BigInt64Array(2);
  return () => {
    symbols.clock_gettime(threadClock, spec);
    return Number(spec[0]) * 1e9 + Number(spec[1]);
  };
})();
