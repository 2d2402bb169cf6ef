import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import type { Clock } from "#platform/time.ts";
import { type MemoryLimit, memoryLimit, type ReadText } from "./resource-limits.ts";

/** The load of the gateway, as far as it decides on admitting one more request. */
export interface Load {
  readonly activeStreams: number;
  readonly maxStreams: number;
  readonly eventLoopDelayMs: number;
  /** Of the memory this process may use, 0 to 1. */
  readonly memoryShare: number;
  /** Age of the oldest operation that waits in the ledger's queue. */
  readonly ledgerOldestMs: number;
}

export type ShedReason = "streams_full" | "event_loop_slow" | "memory_high" | "ledger_slow";

const maxLoopDelayMs = 100;
const maxMemoryShare = 0.8;
const maxLedgerEntryAgeMs = 500;

/** Why a request is to be turned away before it is read (503 with Retry-After); undefined when there is room. */
export function shedReason(load: Load): ShedReason | undefined {
  if (load.activeStreams >= load.maxStreams) return "streams_full";
  if (load.eventLoopDelayMs > maxLoopDelayMs) return "event_loop_slow";
  if (load.memoryShare > maxMemoryShare) return "memory_high";
  if (load.ledgerOldestMs > maxLedgerEntryAgeMs) return "ledger_slow";
  return undefined;
}

/** What is measured all the time, so that admission only looks at two numbers. */
export interface LoadSampler {
  readonly eventLoopDelayMs: number;
  readonly memoryShare: number;
  stop(): void;
}

export interface LoadSamplerOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Calls `sample` every so many milliseconds until the returned function is called; must not keep the process alive. */
  readonly every?: (ms: number, sample: () => void) => () => void;
  readonly memory?: MemoryLimit;
  /** Memory of this process that is in use, in bytes. */
  readonly residentBytes?: () => number;
}

const sampleEveryMs = 50;
/**
 * The delay that counts is the smallest of this long: neither a pause of the collector nor a burst of callers who all come
 * at once (every agent of a team after a restart) is an overload, as long as it is worked off.
 */
const windowMs = 3_000;
const memoryEverySamples = 10;

export function loadSampler(options: LoadSamplerOptions): LoadSampler {
  const { clock, every = unreferencedInterval, residentBytes = () => process.memoryUsage.rss() } = options;
  const { limitBytes, usedByGroup } = options.memory ?? memoryLimit(readText, totalmem());
  let delays: { readonly atMs: number; readonly delayMs: number }[] = [];
  let smallestDelayMs = 0;
  let samples = 0;
  let memoryShare = 0;
  const startedMs = clock.monotonic();
  let expectedMs = startedMs + sampleEveryMs;

  const measureMemory = () => {
    memoryShare = Math.max(residentBytes(), usedByGroup?.() ?? 0) / limitBytes;
  };
  measureMemory();
  const stop = every(sampleEveryMs, () => {
    const nowMs = clock.monotonic();
    // The sample before stays: a single one, after a stop longer than the window, tells nothing about the load.
    const before = delays.at(-1);
    delays = delays.filter((sample) => sample === before || sample.atMs > nowMs - windowMs);
    delays.push({ atMs: nowMs, delayMs: Math.max(0, nowMs - expectedMs) });
    // The window is full once it began; before that nothing is known about so long a time.
    const known = nowMs - startedMs >= windowMs;
    smallestDelayMs = known ? Math.min(...delays.map(({ delayMs }) => delayMs)) : 0;
    expectedMs = nowMs + sampleEveryMs;
    samples += 1;
    if (samples % memoryEverySamples === 0) measureMemory();
  });

  return {
    get eventLoopDelayMs() {
      return smallestDelayMs;
    },
    get memoryShare() {
      return memoryShare;
    },
    stop,
  };
}

/** Text of a small file such as those below /proc; undefined when there is none. */
export const readText: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // This system has no such file.
    return undefined;
  }
};

function unreferencedInterval(ms: number, sample: () => void): () => void {
  const interval = setInterval(sample, ms);
  interval.unref();
  return () => clearInterval(interval);
}
