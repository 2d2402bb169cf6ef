import { LruMap } from "#platform/lru-map.ts";
import { WriteBehind } from "#platform/store/write-behind.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import {
  type DecisionPart,
  noSignals,
  type Outcome,
  type OutcomeRecord,
  type OutcomeTracker,
  type RoutedCall,
  type Signals,
} from "./outcomes.ts";
import type { OutcomeStore } from "./store/outcome-store.ts";

export interface OutcomeTrackerOptions {
  readonly openStore: () => Promise<OutcomeStore>;
  readonly retentionDays: () => number;
  /** Whether other processes use the same store. */
  readonly shared: boolean;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  readonly random: Random;
}

/** The ask that a conversation is at. */
interface OpenAsk {
  record: OutcomeRecord;
  readonly askHash: bigint;
  lastSeenMs: number;
}

/** An ask without a request for this long has ended; later requests are no signals about it. */
const openMs = 3_600_000;
/** The same ask within this time is taken for a repeat: the answer was no good. */
const repeatMs = 600_000;
const maxOpen = 20_000;
const maxWaiting = 5_000;
const maxBatch = 200;
const saveEveryMs = 250;
const retryMs = 5_000;
const pruneEveryMs = 600_000;
/** One of so many asks is written at once, although nothing is heard of it yet. */
const silentShare = 8;
/** Records kept, however long the retention. */
const maxRecords = 200_000;

/**
 * Outcome records, written behind the requests in batches. What cannot be written in time is dropped: learning wants many
 * records, not every one. Signals that reach another node than the ask are lost.
 */
export class StoredOutcomeTracker implements OutcomeTracker {
  readonly #options: OutcomeTrackerOptions;
  /** By conversation. */
  readonly #open = new LruMap<string, OpenAsk>();
  readonly #unsaved = new Map<string, OutcomeRecord>();
  readonly #writeBehind: WriteBehind<OutcomeStore, boolean>;
  #prunedMs = Number.NEGATIVE_INFINITY;

  constructor(options: OutcomeTrackerOptions) {
    this.#options = options;
    const { openStore, timers } = options;
    this.#writeBehind = new WriteBehind({ openStore, timers, saveAll: () => this.#saveAll() });
  }

  routed(call: RoutedCall): void {
    const { atMs, conversationKey, continuation } = call;
    const known = this.#open.get(conversationKey);
    const open = known !== undefined && atMs - known.lastSeenMs <= openMs ? known : undefined;
    if (continuation) {
      if (open !== undefined) this.#update(open, inRun(open.record, call), atMs);
      return;
    }
    const askHash = hashOf(call.ask);
    const repeated = open !== undefined && open.askHash === askHash && atMs - open.lastSeenMs <= repeatMs;
    if (open !== undefined) this.#update(open, atNextAsk(open.record, call, repeated), atMs);
    const follows = open !== undefined && (repeated || call.reportedFailure);
    const sampled = !this.#options.shared && this.#options.random() * silentShare < 1;
    const decision: DecisionPart = call.decision();
    if (follows) decision.retryOf = open.record.decisionId;
    if (sampled) decision.standsFor = silentShare;
    const record: OutcomeRecord = { decisionId: call.decisionId, atMs, decision, signals: noSignals };
    this.#open.set(conversationKey, { record, askHash, lastSeenMs: atMs });
    this.#open.trim(maxOpen);
    // Most asks never show an outcome. Those that do are written then; of the others a sample stands for all, so that flash
    // does not seem to fail more often than it does. Where another process may receive the report, all are written at once.
    if (follows || sampled || this.#options.shared) this.#keep(record);
  }

  async recordOutcome(decisionId: string, outcome: Outcome, score: number | undefined): Promise<boolean> {
    // The record must be in the store before its outcome is. Reports are rare, so the search may take a while.
    for (const { record } of this.#open.values()) if (record.decisionId === decisionId) this.#keep(record);
    await this.save();
    return (await this.#writeBehind.opened()).recordOutcome(decisionId, outcome, score);
  }

  /** Writes what waits, now; false when the store did not take it. Never rejects. */
  save(): Promise<boolean> {
    return this.#writeBehind.save();
  }

  /** Writes what it can and closes the store. Never rejects. */
  close(): Promise<void> {
    return this.#writeBehind.close();
  }

  #update(open: OpenAsk, signals: Signals, atMs: number): void {
    open.lastSeenMs = atMs;
    if (signals === open.record.signals) return;
    open.record = { ...open.record, signals };
    this.#keep(open.record);
  }

  #keep(record: OutcomeRecord): void {
    if (this.#unsaved.size >= maxWaiting && !this.#unsaved.has(record.decisionId)) return;
    this.#unsaved.set(record.decisionId, record);
    this.#writeBehind.schedule(saveEveryMs);
  }

  async #saveAll(): Promise<boolean> {
    const { clock, retentionDays } = this.#options;
    try {
      while (this.#unsaved.size > 0) {
        const store = await this.#writeBehind.opened();
        const batch = [...this.#unsaved.values()].slice(0, maxBatch);
        await store.save(batch);
        // A record that changed while it was written stays for the next batch.
        for (const record of batch) {
          if (this.#unsaved.get(record.decisionId) === record) this.#unsaved.delete(record.decisionId);
        }
        if (clock.now() - this.#prunedMs < pruneEveryMs) continue;
        await store.prune(clock.now() - retentionDays() * 86_400_000, maxRecords);
        this.#prunedMs = clock.now();
      }
      return true;
    } catch {
      // The ledger uses the same database and reports that it is unavailable.
      this.#writeBehind.schedule(retryMs);
      return false;
    }
  }
}

/** The signals after a further turn of the ask; the same object when the turn shows nothing new. */
function inRun({ decision, signals }: OutcomeRecord, { tier, hardRule, reportedFailure }: RoutedCall): Signals {
  const escalates = hardRule && tier === "pro" && decision.tier === "flash" && !signals.escalated;
  if (!escalates && !reportedFailure) return signals;
  return {
    ...signals,
    escalated: signals.escalated || escalates,
    reported: signals.reported + (reportedFailure ? 1 : 0),
    failedAfter: signals.failedAfter + (reportedFailure && signals.escalated ? 1 : 0),
  };
}

/** The signals after the conversation's next ask. */
function atNextAsk({ signals }: OutcomeRecord, { reportedFailure }: RoutedCall, repeated: boolean): Signals {
  const failed = reportedFailure || repeated;
  return {
    ...signals,
    reported: signals.reported + (reportedFailure ? 1 : 0),
    failedAfter: signals.failedAfter + (failed && signals.escalated ? 1 : 0),
    repeated: signals.repeated + (repeated ? 1 : 0),
    wentOn: !failed,
  };
}

/** Kept in this process alone, and gone with it. */
function hashOf(ask: string): bigint {
  return Bun.hash.xxHash3(ask.trim().slice(0, 10_000));
}
