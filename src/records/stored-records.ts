import type { StoreDatabase } from "#db/store-database.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { OutcomeReports } from "./outcome-reports.ts";
import { type ClosedReservation, matchesFilter, type RecordFilter, type ReportedOutcome } from "./records.ts";
import { maxLines, seqPerMs } from "./store/blocks.ts";
import { RecordStore } from "./store/record-store.ts";
import type { StoredRecord } from "./stored-record.ts";

export interface StoredRecordsOptions {
  readonly openDatabase: () => Promise<StoreDatabase>;
  readonly kind: "sqlite" | "postgres";
  readonly rules: () => { readonly enabled: boolean; readonly retention_days: number; readonly max_bytes: number };
  /** How many tasks are kept, and for how many milliseconds after their last change. */
  readonly taskLimits: () => { readonly remembered: number; readonly remembered_ms: number };
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Called with the number of dropped records, each time some are dropped; with the error where one could not be made. */
  readonly onDrop?: (count: number, defect?: unknown) => void;
  /** Called when the store stops answering, with the error, and when it answers again. */
  readonly onStore?: (state: "unavailable" | "available", problem?: unknown) => void;
}

/** Length of the queue; records that do not fit are dropped. At some kilobytes each it takes tens of megabytes at most. */
const maxWaiting = 10_000;
const writeEveryMs = 250;
const retryMs = 5_000;
/** While records are written: they pass the limit by what is written in that time. */
const pruneEveryMs = 2_000;
const pruneSumsEveryMs = 3_600_000;
/** Tasks are named by callers: so many more than are kept. */
const pruneTasksEvery = 1_000;
const pollEveryMs = 400;
/** Corrections that are written together. */
const maxCorrections = 100;
/** Configurations and tasks that wait for the store, and corrections. */
const maxSideWrites = 1_000;

/**
 * Decision records in the database, written behind the requests in batches. The database is opened by its first use.
 * Reading rejects when it cannot be reached; what is added never waits and never fails.
 */
export class StoredRecords extends RecordStore {
  readonly #options: StoredRecordsOptions;
  #saving: Promise<void> | undefined;
  #cancelSave: (() => void) | undefined;
  #closed = false;
  #waiting: ((salt: number) => StoredRecord)[] = [];
  /** Taken from the queue and numbered, but not known to be written. */
  #batch: readonly StoredRecord[] = [];
  #mayBeWritten = false;
  /** What waits beside records, by what it is. */
  readonly #side = new Map<string, () => Promise<unknown>>();
  #corrections: ClosedReservation[] = [];
  #lastSeq = 0;
  readonly #ownPlace: number;
  #pruneDueMs = Number.NEGATIVE_INFINITY;
  #sumsPrunedMs = Number.NEGATIVE_INFINITY;
  #tasksSaved = 0;
  #ok = true;
  #dropped = 0;
  #droppedAtMs: number | undefined;
  #size: { readonly rows: number; readonly bytes: number } | undefined;
  readonly #reports: OutcomeReports;

  constructor(options: StoredRecordsOptions) {
    const lazy = new LazyStore(options.openDatabase);
    const database: StoreDatabase = {
      kind: options.kind,
      read: async (...statements) => (await lazy.opened()).read(...statements),
      write: async (...statements) => (await lazy.opened()).write(...statements),
      close: () => lazy.close(),
    };
    super(database, options.clock);
    this.#options = options;
    this.#reports = new OutcomeReports(async (first, all) => {
      await this.save(); // their records may still wait
      return this.reportOutcomes(first, all);
    }, options);
    // So that two nodes seldom give two records of one millisecond the same number.
    this.#ownPlace = Math.floor(options.random() * seqPerMs);
  }

  /**
   * Queues a record to be written. It is made then, with the store's salt: what is made and written at once is still in
   * the processor's caches. What does not fit is dropped and counted.
   */
  add(make: (salt: number) => StoredRecord): void {
    if (this.#closed || this.#waiting.length >= maxWaiting) {
      this.#drop(1);
      return;
    }
    this.#schedule(writeEveryMs);
    this.#waiting.push(make);
    // Once for each whole batch: those that come before it is taken wait for the next one.
    if (this.#waiting.length % maxLines === 0 && this.#ok) void this.save();
  }

  /** Corrects the cost of a record, which may still wait itself. */
  addCorrection(closed: ClosedReservation): void {
    if (this.#corrections.length < maxSideWrites) this.#corrections.push(closed);
    this.#schedule(writeEveryMs);
  }

  /** Writes behind the requests, before the records that wait, and in the place of what waits under the same name. */
  writeLater(name: string, write: () => Promise<unknown>): void {
    if (this.#side.size < maxSideWrites || this.#side.has(name)) this.#side.set(name, write);
    this.#schedule(writeEveryMs);
  }

  /** Whether the decision is known, once the report is written; undefined where too many wait. `caller`: who are not to wait for each other. */
  queueOutcome(report: ReportedOutcome, caller: number): Promise<boolean> | undefined {
    return this.#reports.add(report, caller);
  }

  override saveTask(key: string, value: string, nowMs: number): Promise<void> {
    this.#tasksSaved += 1;
    return super.saveTask(key, value, nowMs);
  }

  status() {
    return {
      /** `off`: the policy keeps none; those from before can be read. */
      kind: this.#options.rules().enabled ? this.#options.kind : "off",
      ok: this.#ok,
      queued: this.#waiting.length + this.#batch.length,
      dropped: this.#dropped,
      ...(this.#droppedAtMs === undefined ? {} : { droppedAtMs: this.#droppedAtMs }),
      ...this.#size,
    };
  }

  /** Writes what it can and closes the store; what it cannot write is dropped. Never rejects. */
  override async close(): Promise<void> {
    do await this.save();
    while (this.#ok && this.#waiting.length > 0);
    this.#closed = true;
    // The last save may have failed, and scheduled another.
    this.#cancelSave?.();
    await super.close().catch(() => undefined); // the end of the process closes it
    const left = this.#waiting.length + this.#batch.length;
    this.#waiting = [];
    this.#batch = [];
    if (left > 0) this.#drop(left);
  }

  #drop(count: number, defect?: unknown): void {
    this.#dropped += count;
    this.#droppedAtMs = this.#options.clock.now();
    this.#options.onDrop?.(count, defect);
  }

  /** Saves in `delayMs`; a save that is due already stays as it is. */
  #schedule(delayMs: number): void {
    if (this.#cancelSave !== undefined || this.#closed) return;
    this.#cancelSave = this.#options.timers.after(delayMs, () => {
      this.#cancelSave = undefined;
      void this.save();
    });
  }

  /** Writes what waits, now, and not again when it would have been due. Never rejects. */
  async save(): Promise<void> {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    // One under way may have begun before what is to be written now.
    if (this.#saving !== undefined) await this.#saving;
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #saveAll(): Promise<void> {
    try {
      // Not what comes meanwhile: under load that would be one small batch after the other, each as expensive as a whole one.
      let due = this.#waiting.length + this.#batch.length;
      const salt = await this.salt();
      do {
        due -= this.#batch.length === 0 ? this.#takeBatch(salt) : this.#batch.length;
        // First: records name configurations.
        for (const [name, write] of this.#side) {
          await write();
          if (this.#side.get(name) === write) this.#side.delete(name);
        }
        await this.#writeBatch();
        await this.#pruneIfDue();
      } while (due > 0);
      // The rest is written behind the records that have come meanwhile.
      const corrections = this.#corrections.slice(0, maxCorrections);
      await this.correct(corrections);
      this.#corrections.splice(0, corrections.length);
      if (this.#corrections.length > 0) this.#schedule(writeEveryMs);
      this.#setOk(true);
    } catch (error) {
      this.#setOk(false, error);
      this.#schedule(retryMs);
    }
  }

  #setOk(ok: boolean, problem?: unknown): void {
    if (ok !== this.#ok) this.#options.onStore?.(ok ? "available" : "unavailable", problem);
    this.#ok = ok;
  }

  /** Takes the next batch from the queue, makes its records and numbers them. Returns how many it has taken. */
  #takeBatch(salt: number): number {
    const taken = this.#waiting.splice(0, maxLines);
    const made = taken.flatMap((make) => {
      try {
        return make(salt);
      } catch (error) {
        this.#drop(1, error);
        return [];
      }
    });
    // Refusals without a decision are recorded at once, others a moment after their end.
    this.#batch = made.sort((a, b) => a.recorded_ms - b.recorded_ms);
    for (const record of made) record.seq = this.#nextSeq(record.recorded_ms);
    this.#mayBeWritten = false;
    return taken.length;
  }

  #nextSeq(recordedMs: number): number {
    const place = Math.floor(recordedMs) * seqPerMs;
    const own = place + this.#ownPlace;
    // The record belongs to an earlier time, because the ledger counts it on the day before.
    if (own + seqPerMs * 1_000 < this.#lastSeq) return place + Math.floor(this.#options.random() * seqPerMs);
    this.#lastSeq = Math.max(this.#lastSeq + 1, own);
    return this.#lastSeq;
  }

  async #writeBatch(): Promise<void> {
    const [first] = this.#batch;
    if (first === undefined) return;
    // After a failed write the batch may be in the store nevertheless: all of it or none.
    const isWritten = this.#mayBeWritten && (await this.get(first.decision_id)) !== undefined;
    this.#mayBeWritten = true;
    if (!isWritten) await this.append(this.#batch);
    this.#batch = [];
  }

  /** Deletes one chunk of records beyond the retention, and schedules the next while there are more. */
  async #pruneIfDue(): Promise<void> {
    const { clock, rules, taskLimits } = this.#options;
    const nowMs = clock.now();
    if (nowMs < this.#pruneDueMs) return;
    const { retention_days, max_bytes } = rules();
    const fromMs = nowMs - retention_days * 86_400_000;
    const deleted = await this.prune(fromMs, max_bytes);
    this.#size = await this.size();
    if (nowMs - this.#sumsPrunedMs >= pruneSumsEveryMs || this.#tasksSaved >= pruneTasksEvery) {
      this.#tasksSaved = 0;
      await this.pruneOthers(fromMs, nowMs, taskLimits(), max_bytes);
      this.#sumsPrunedMs = nowMs;
    }
    // A chunk is more than a batch adds, so the rest is deleted with the next batches.
    if (deleted > 0) this.#schedule(writeEveryMs);
    else this.#pruneDueMs = nowMs + pruneEveryMs;
  }

  /**
   * Calls back with each new record that passes the filter, within a second; also with those of other processes with
   * the same store. While the store does not answer it is tried again. Returns a function that ends the subscription.
   */
  subscribe(filter: RecordFilter, onRecords: (records: readonly DecisionRecord[]) => void): () => void {
    const read = this.follow();
    let ended = false;
    let cancel = () => {};
    const poll = async () => {
      const records = await read().catch(() => []);
      if (ended || this.#closed) return;
      const wanted = records.filter((record) => matchesFilter(record, filter));
      if (wanted.length > 0) onRecords(wanted);
      cancel = this.#options.timers.after(pollEveryMs, poll);
    };
    void poll();
    return () => {
      ended = true;
      cancel();
    };
  }
}
