import { errorOf } from "#domain/errors.ts";
import type { Check } from "#http/endpoint.ts";
import { type Ledger, outageError } from "#ledger/ledger.ts";
import { openFileLimit } from "#platform/open-file-limit.ts";
import type { Clock } from "#platform/time.ts";

const maxLoopDelayMs = 100;
const maxMemoryShare = 0.8;
/** Of the oldest operation that waits in the ledger's queue. */
const maxLedgerEntryAgeMs = 500;

const sampleEveryMs = 50;
/**
 * The delay that counts is the smallest of so many samples, which take three seconds at the limit: neither a pause of
 * the collector nor a burst of callers who all come at once (every agent of a team after a restart) is an overload, as
 * long as it is worked off.
 */
const countedSamples = 20;

/** The load of this process, sampled all the time, so that admission only compares numbers. */
export class LoadSampler {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #workers: number;
  readonly #delaysMs: number[] = [];
  #expectedMs: number;
  #interval: ReturnType<typeof setInterval> | undefined;
  eventLoopDelayMs = 0;
  /** Of the memory that this process and its fellow workers may use (a container's, or the machine's), 0 to 1. */
  memoryShare = 0;

  constructor(clock: Pick<Clock, "monotonic">, workers: number) {
    this.#clock = clock;
    this.#workers = workers;
    this.#expectedMs = clock.monotonic() + sampleEveryMs;
  }

  start(): void {
    this.#interval = setInterval(() => this.sample(), sampleEveryMs);
    this.#interval.unref();
  }

  sample(): void {
    const nowMs = this.#clock.monotonic();
    this.#delaysMs.push(Math.max(0, nowMs - this.#expectedMs));
    this.#expectedMs = nowMs + sampleEveryMs;
    if (this.#delaysMs.length <= countedSamples) return;
    this.#delaysMs.shift();
    this.eventLoopDelayMs = Math.min(...this.#delaysMs);
    this.memoryShare = (process.memoryUsage.rss() * this.#workers) / process.constrainedMemory();
  }

  stop(): void {
    clearInterval(this.#interval);
  }
}

/** The database, the listener, logs, modules, and a reserve. */
const reservedDescriptors = 128;
/** A stream holds two sockets, the caller's and the upstream's. */
const descriptorsPerStream = 2;
/** Connections to one address come from one range of ports, 28,000 of them by default on Linux. */
const maxStreamsToOneAddress = 25_000;
/** Where the limit is not known: what a common default of 10,240 descriptors would allow. */
const unknownDescriptors = 10_240;

/** How many streams may be open at once, from the soft limit of open files (`ulimit -n`). At least 1. */
export function maxStreams(descriptors: number = openFileLimit() ?? unknownDescriptors): number {
  const streams = Math.floor((descriptors - reservedDescriptors) / descriptorsPerStream);
  return Math.max(1, Math.min(maxStreamsToOneAddress, streams));
}

interface Load extends Pick<LoadSampler, "eventLoopDelayMs" | "memoryShare"> {
  readonly activeStreams: number;
  readonly maxStreams: number;
}

export function shedReason({ activeStreams, maxStreams: most, eventLoopDelayMs, memoryShare }: Load) {
  if (activeStreams >= most) return "streams_full";
  if (eventLoopDelayMs > maxLoopDelayMs) return "event_loop_slow";
  return memoryShare > maxMemoryShare ? "memory_high" : undefined;
}

/** Whether there is room for one more request. */
export function loadCheck(load: LoadSampler, streams: { readonly count: number }): Check {
  const limit = maxStreams();
  return () => {
    const { eventLoopDelayMs, memoryShare } = load;
    const reason = shedReason({ activeStreams: streams.count, maxStreams: limit, eventLoopDelayMs, memoryShare });
    return reason === undefined ? undefined : errorOf("overloaded.load", { reason });
  };
}

/** Whether the ledger is on time. Where it is not, its store is slow, or not reachable. */
export function ledgerCheck(ledger: Pick<Ledger, "oldestMs" | "status">): Check {
  return () => (ledger.oldestMs() > maxLedgerEntryAgeMs ? outageError(ledger.status()) : undefined);
}
