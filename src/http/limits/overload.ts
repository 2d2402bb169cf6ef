import type { HttpError } from "#http/errors.ts";
import { type LedgerStatus, outageOf } from "#ledger/ledger.ts";
import { openFileLimit } from "#platform/open-file-limit.ts";
import type { Clock } from "#platform/time.ts";

/** Why a request is turned away before it is read. */
export type ShedReason = "streams_full" | "event_loop_slow" | "memory_high" | "ledger_slow";

const maxLoopDelayMs = 100;
const maxMemoryShare = 0.8;
const maxLedgerEntryAgeMs = 500;

const sampleEveryMs = 50;
/**
 * The delay that counts is the smallest of so many samples, which take three seconds at the limit: neither a pause of the collector
 * nor a burst of callers who all come at once (every agent of a team after a restart) is an overload, as long as it is worked off.
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
  /** Age of the oldest operation that waits in the ledger's queue. */
  readonly ledgerOldestMs: number;
}

export function shedReason(load: Load): ShedReason | undefined {
  if (load.activeStreams >= load.maxStreams) return "streams_full";
  if (load.eventLoopDelayMs > maxLoopDelayMs) return "event_loop_slow";
  if (load.memoryShare > maxMemoryShare) return "memory_high";
  return load.ledgerOldestMs > maxLedgerEntryAgeMs ? "ledger_slow" : undefined;
}

/** The error for a request that is turned away before anything of its body is read. */
export function overloadError(reason: ShedReason, ledger: LedgerStatus): HttpError {
  if (reason !== "ledger_slow") {
    const detail = `The gateway is overloaded (${reason}). Try again shortly.`;
    return { status: 503, detail, code: "overloaded", headers: { "retry-after": "1" } };
  }
  // Not the gateway is overloaded: its store is slow, or not reachable.
  const { detail, retryAfterS } = outageOf(ledger);
  const headers: Record<string, string> =
    retryAfterS === undefined ? { "x-should-retry": "false" } : { "retry-after": String(retryAfterS) };
  return { status: 503, detail, code: "budget_store_unavailable", headers };
}
