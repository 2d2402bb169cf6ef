import { BackgroundJob } from "#platform/background-job.ts";
import { type Clock, type UtcDay, utcDayOf } from "#platform/time.ts";
import type { BatchQueue } from "./batch-queue.ts";
import { adhocGoal } from "./ledger.ts";
import type { Operation } from "./rules/operations.ts";
import type { NodeIdentity } from "./rules/rows.ts";
import type { OpenHolds } from "./shared-sql.ts";
import { asStoreFailure, type LedgerContext, type LedgerStore } from "./store.ts";
import type { StoreAvailability } from "./store-availability.ts";

/** Heartbeat, today's account, sweep. */
const heartbeatEveryMs = 5_000;
const pruneEveryMs = 600_000;
const holdsEveryMs = 10_000;
/** Clocks of a gateway and its database may differ by this much around midnight. */
const clockToleranceMs = 300_000;
/** Names of dead nodes that one event gives. */
const maxNamedNodes = 10;
/** Reservations that one prune of the store removes. */
const pruneChunk = 500;
/** Reservations that one sweep batch resolves. */
const dueChunk = 128;
/** Between two chunks of a prune, so that batches of live traffic run in between. */
const prunePauseMs = 50;

export interface LedgerJobsOptions extends LedgerContext {
  readonly store: LedgerStore;
  readonly node: NodeIdentity;
  readonly queue: BatchQueue;
  readonly availability: StoreAvailability;
  readonly holds: OpenHoldsCache;
  readonly retentionMs: () => number;
}

/** What a node does beside requests: heartbeat, sweep of due reservations, removal of old rows. */
export class LedgerJobs {
  readonly #options: LedgerJobsOptions;
  readonly #jobs: readonly BackgroundJob[];
  #stopped = false;
  #warnedDay: UtcDay | undefined;
  /** What the sweep that runs now has taken over from dead nodes. */
  #takenOver = noTakeovers();

  constructor(options: LedgerJobsOptions) {
    this.#options = options;
    const { random, timers, holds } = options;
    // The pause varies so that nodes do not run their jobs at the same moments.
    const every = (pauseMs: number, run: () => Promise<unknown>) =>
      new BackgroundJob({ run, pauseMs: () => pauseMs * (0.8 + 0.4 * random()), timers, onFailure: this.#failed });
    this.#jobs = [
      every(heartbeatEveryMs, () => this.#heartbeat()),
      every(pruneEveryMs, () => this.prune()),
      every(holdsEveryMs, () => holds.refresh()),
    ];
  }

  start(): void {
    for (const job of this.#jobs) job.schedule();
    // Not awaited: what an earlier process of this node left behind is safe as it is, and admission need not wait for it.
    this.sweep().catch(this.#failed);
  }

  readonly #failed = (error: unknown) => this.#options.queue.storeFailed(asStoreFailure(error));

  get stopped(): boolean {
    return this.#stopped;
  }

  stop(): void {
    this.#stopped = true;
    for (const job of this.#jobs) void job.close();
  }

  /** Resolves what is due: passed deadlines, and holds of dead nodes. */
  async sweep(): Promise<void> {
    await this.#sweepDue();
    const { nodes, ...taken } = this.#takenOver;
    if (nodes.size === 0) return;
    this.#takenOver = noTakeovers();
    this.#options.log({ kind: "taken_over", nodes: [...nodes].slice(0, maxNamedNodes), ...taken });
  }

  /** Removes what has been closed for longer than the retention, chunk by chunk. */
  async prune(): Promise<void> {
    const { store, retentionMs, timers, log } = this.#options;
    let total = 0;
    for (;;) {
      const removed = await store.prune(retentionMs(), pruneChunk);
      total += removed;
      if (removed < pruneChunk || this.#stopped) break;
      await new Promise<void>((resolve) => timers.after(prunePauseMs, resolve));
    }
    if (total > 0) log({ kind: "pruned", reservations: total });
  }

  /** So that today's spend is known before the first request, and right after midnight. False when the store does not answer. */
  async refreshDay(): Promise<boolean> {
    const { clock, log, queue } = this.#options;
    const reply = await queue.ask([{ kind: "read", goal: adhocGoal }]);
    if (reply?.kind !== "spend") return false;
    const { day } = reply.spend;
    const nowMs = clock.now();
    if (day > utcDayOf(nowMs + clockToleranceMs) && this.#warnedDay !== day) {
      this.#warnedDay = day;
      log({ kind: "day_ahead", day, today: utcDayOf(nowMs) });
    }
    return true;
  }

  /** Counts a hold that a sweep has taken over from a dead node, for the event at its end. */
  noteTakeover(node: string, hold: number): void {
    this.#takenOver.nodes.add(node);
    this.#takenOver.unresolved += 1;
    this.#takenOver.unresolvedNanoUsd += hold;
  }

  async #heartbeat(): Promise<void> {
    await this.#options.store.heartbeat(this.#options.node);
    // Batches may fail where a heartbeat succeeds: only both together show that the store is available.
    if (await this.refreshDay()) this.#options.availability.succeeded();
    await this.sweep();
  }

  async #sweepDue(): Promise<void> {
    const { store, node, queue } = this.#options;
    for (;;) {
      const due = await store.findDue(node, dueChunk);
      if (due.length === 0 || this.#stopped) return;
      await queue.write(due.map(({ id, why }): Operation => ({ kind: why === "expired" ? "expire" : "orphan", id })));
      if (due.length < dueChunk || this.#stopped) return;
    }
  }
}

function noTakeovers() {
  return { nodes: new Set<string>(), unresolved: 0, unresolvedNanoUsd: 0 };
}

/** A query runs again after this many times its own duration: queries take a fiftieth of the time at most. */
const pauseFactor = 50;
const minPauseMs = 1_000;
const maxPauseMs = 30_000;
/** Pause after a query that failed or timed out. */
const failedPauseMs = 60_000;

/** What is held in the whole store, queried now and then: one query at a time, and the latest result is kept. */
export class OpenHoldsCache {
  readonly #query: () => Promise<OpenHolds>;
  readonly #clock: Clock;
  #latest: { readonly holds: OpenHolds; readonly seenMs: number } | undefined;
  #running: Promise<void> | undefined;
  #nextMs = 0;

  constructor(query: () => Promise<OpenHolds>, clock: Clock) {
    this.#query = query;
    this.#clock = clock;
  }

  /** The latest result; undefined before the first one, and when it is old. */
  get latest(): OpenHolds | undefined {
    const { seenMs = 0, holds } = this.#latest ?? {};
    return this.#clock.monotonic() - seenMs <= 2 * failedPauseMs ? holds : undefined;
  }

  /** Queries, unless that was done a moment ago. Undefined when the store does not answer. Never rejects. */
  async refresh(): Promise<OpenHolds | undefined> {
    if (this.#running === undefined && this.#clock.monotonic() >= this.#nextMs) {
      this.#running = this.#queryNow().finally(() => {
        this.#running = undefined;
      });
    }
    await this.#running;
    return this.latest;
  }

  async #queryNow(): Promise<void> {
    const startedMs = this.#clock.monotonic();
    try {
      const holds = await this.#query();
      const seenMs = this.#clock.monotonic();
      this.#latest = { holds, seenMs };
      this.#nextMs = seenMs + Math.min(maxPauseMs, Math.max(minPauseMs, (seenMs - startedMs) * pauseFactor));
    } catch {
      // The store is unavailable or too busy: the ledger's own calls report it where it matters.
      this.#nextMs = this.#clock.monotonic() + failedPauseMs;
    }
  }
}
