import { WriteBehind } from "#platform/store/write-behind.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { conversationName } from "./record-facts.ts";
import type { DecisionRecords, PageRequest, RecordFilter, RecordsStatus } from "./records.ts";
import { matchesFilter } from "./store/filter.ts";
import type { CostCorrection, RecordStore, ReportedOutcome, StoredConfig } from "./store/record-store.ts";
import { seqPerMs } from "./store/seq.ts";
import type { TaskStates } from "./task-memory.ts";

export interface StoredRecordsOptions {
  readonly openStore: () => Promise<RecordStore>;
  readonly kind: "sqlite" | "postgres";
  readonly rules: () => { readonly retention_days: number; readonly max_bytes: number };
  /** How many tasks are kept, and for how many milliseconds after their last change. */
  readonly taskLimits: () => { readonly remembered: number; readonly remembered_ms: number };
  /** Whether other processes write to the same store. Then the store is polled for their records while there are subscribers. */
  readonly shared: boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Called with the number of dropped records, each time some are dropped. */
  readonly onDrop?: (count: number) => void;
  /** Called when the store stops answering, with the error, and when it answers again. */
  readonly onStore?: (state: "unavailable" | "available", problem?: unknown) => void;
}

/** Length of the queue; records that do not fit are dropped. At some kilobytes each it takes tens of megabytes at most. */
const maxWaiting = 10_000;
/** One block: the main thread makes it in some two milliseconds. */
const maxBatch = 128;
const writeEveryMs = 250;
const retryMs = 5_000;
const pruneEveryMs = 60_000;
/** How often their size is read while records are written: they pass the limit by what is written in that time. */
const sizeEveryMs = 2_000;
/** Records deleted at a time; the ledger waits meanwhile. */
const pruneChunk = 256;
const pruneAgainMs = 50;
/** Chunks deleted behind a batch while records take too much: more than the batch has added. */
const chunksPerBatch = 1;
const pruneSumsEveryMs = 3_600_000;
const pollEveryMs = 400;
/** How far a poll looks back: records of another node may become visible after ones that follow them. */
const pollOverlapMs = 2_000;
const maxPolled = 500;
/** Every so many polls one looks back further, for nodes whose writes are late or whose clocks are behind. */
const pollsUntilLateLook = 10;
const lateLookMs = 30_000;
/** Not if more records than this were given out since the last such look: reading them again would take too long. */
const maxBeforeLateLook = 100;
/** What was written while the store did not answer is given out up to this age. */
const maxCatchUpMs = 60_000;
/** Records with an open cost that are compared with the ledger at a time. */
const maxOpenCosts = 100;
/** Configurations and corrections that wait for the store. */
const maxSideWrites = 1_000;

/** A record that waits to be written. The name of its conversation needs the store's salt, which is read when the store is opened. */
export interface WaitingRecord {
  readonly record: DecisionRecord;
  readonly conversationKey?: string | undefined;
}

/** Decision records in the database, written behind the requests in batches. */
export class StoredRecords implements DecisionRecords, TaskStates {
  readonly #options: StoredRecordsOptions;
  #waiting: WaitingRecord[] = [];
  /** Taken from the queue and numbered, but not known to be written. */
  #batch: readonly DecisionRecord[] = [];
  #mayBeWritten = false;
  #configs: StoredConfig[] = [];
  #corrections: CostCorrection[] = [];
  /** States of tasks that wait, by their keys. */
  readonly #tasks = new Map<string, string>();
  /** Behind which record the ledger is asked about open costs; undefined while nobody wants to know. */
  #openCostsAfter: string | undefined;
  readonly #writeBehind: WriteBehind<RecordStore, void>;
  #cancelPoll: (() => void) | undefined;
  #followedSinceMs = 0;
  #pollsSinceLateLook = 0;
  #deliveredSinceLateLook = 0;
  readonly #listeners = new Map<(records: readonly DecisionRecord[]) => void, RecordFilter>();
  /** Decision ids that were delivered to the listeners; the oldest are forgotten. */
  readonly #delivered = new Set<string>();
  #lastSeq = 0;
  readonly #salt: number;
  #prunedMs = Number.NEGATIVE_INFINITY;
  #sumsPrunedMs = Number.NEGATIVE_INFINITY;
  #sizeReadMs = Number.NEGATIVE_INFINITY;
  #ok = true;
  #written = 0;
  #dropped = 0;
  #droppedAtMs: number | undefined;
  #size: { readonly rows: number; readonly bytes: number } | undefined;

  constructor(options: StoredRecordsOptions) {
    this.#options = options;
    const { openStore, timers } = options;
    this.#writeBehind = new WriteBehind({ openStore, timers, saveAll: () => this.#saveAll() });
    // So that two nodes seldom give two records of one millisecond the same number.
    this.#salt = Math.floor(options.random() * seqPerMs);
  }

  append(records: readonly DecisionRecord[]): void {
    for (const record of records) this.add({ record });
  }

  /** As `append`, for a record whose conversation is named when it is written. Never throws. */
  add(entry: WaitingRecord): void {
    if (this.#writeBehind.closed || this.#waiting.length >= maxWaiting) {
      this.#drop(1);
      return;
    }
    this.#writeBehind.schedule(writeEveryMs);
    this.#waiting.push(entry);
    // Once for each whole batch: those that come before it is taken wait for the next one.
    if (this.#waiting.length % maxBatch === 0 && this.#ok) void this.save();
  }

  /** Keeps a configuration that records name. */
  addConfig(config: StoredConfig): void {
    if (this.#configs.length < maxSideWrites) this.#configs.push(config);
    this.#writeBehind.schedule(writeEveryMs);
  }

  /** Corrects the cost of a record, which may still wait itself. */
  correct(correction: CostCorrection): void {
    if (this.#corrections.length < maxSideWrites) this.#corrections.push(correction);
    this.#writeBehind.schedule(writeEveryMs);
  }

  saveTask(key: string, value: string): void {
    if (this.#tasks.size >= maxSideWrites && !this.#tasks.has(key)) return;
    this.#tasks.set(key, value);
    this.#writeBehind.schedule(writeEveryMs);
  }

  async loadTask(key: string): Promise<string | undefined> {
    const waiting = this.#tasks.get(key);
    if (waiting !== undefined) return waiting;
    const store = await this.#writeBehind.opened().catch(() => undefined);
    return store?.task(key).catch(() => undefined);
  }

  /** Looks in the ledger for costs that are still open here: others may have closed their attempts. */
  correctOpenCosts(): void {
    this.#openCostsAfter ??= "";
    this.#writeBehind.schedule(writeEveryMs);
  }

  async query(filter: RecordFilter, page: PageRequest) {
    const limit = Math.min(1_000, Math.max(1, page.limit));
    return (await this.#writeBehind.opened()).query(filter, { ...page, limit });
  }

  async get(id: string) {
    return (await this.#writeBehind.opened()).get(id);
  }

  async summary(range: Parameters<DecisionRecords["summary"]>[0], filter = {}) {
    return (await this.#writeBehind.opened()).summary(range, filter, this.#options.clock.now());
  }

  async series(request: Parameters<DecisionRecords["series"]>[0]) {
    return (await this.#writeBehind.opened()).series(request, this.#options.clock.now());
  }

  async groups(...[by, range, limit]: Parameters<DecisionRecords["groups"]>) {
    return (await this.#writeBehind.opened()).groups(by, range, limit);
  }

  async configuration(hash: string): Promise<string | undefined> {
    const waiting = this.#configs.find((config) => config.hash === hash);
    return waiting?.config ?? (await this.#writeBehind.opened()).config(hash);
  }

  /** Keeps what a caller reports of a decision; false for an unknown one. Rejects when the store cannot be reached. */
  async reportOutcome(report: ReportedOutcome): Promise<boolean> {
    // The record may still wait.
    await this.save();
    return (await this.#writeBehind.opened()).reportOutcome(report, this.#options.clock.now());
  }

  subscribe(filter: RecordFilter, onRecords: (records: readonly DecisionRecord[]) => void): () => void {
    this.#listeners.set(onRecords, filter);
    if (this.#options.shared && this.#cancelPoll === undefined) {
      this.#followedSinceMs = this.#options.clock.now();
      this.#schedulePoll(this.#followedSinceMs);
    }
    return () => {
      this.#listeners.delete(onRecords);
      if (this.#listeners.size > 0) return;
      this.#cancelPoll?.();
      this.#cancelPoll = undefined;
    };
  }

  async *export(filter: RecordFilter): AsyncIterable<readonly DecisionRecord[]> {
    yield* (await this.#writeBehind.opened()).export(filter);
  }

  status(): RecordsStatus {
    return {
      kind: this.#options.kind,
      ok: this.#ok,
      queued: this.#waiting.length + this.#batch.length,
      written: this.#written,
      dropped: this.#dropped,
      ...(this.#droppedAtMs === undefined ? {} : { droppedAtMs: this.#droppedAtMs }),
      ...this.#size,
    };
  }

  /** Writes what waits, now. Never rejects. */
  save(): Promise<void> {
    return this.#writeBehind.save();
  }

  /** Writes what it can and closes the store; what it cannot write is dropped. Never rejects. */
  async close(): Promise<void> {
    this.#cancelPoll?.();
    do await this.save();
    while (this.#ok && this.#waiting.length > 0);
    await this.#writeBehind.close();
    const left = this.#waiting.length + this.#batch.length;
    this.#waiting = [];
    this.#batch = [];
    if (left > 0) this.#drop(left);
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#droppedAtMs = this.#options.clock.now();
    this.#options.onDrop?.(count);
  }

  async #saveAll(): Promise<void> {
    try {
      // Not what comes meanwhile: under load that would be one small batch after the other, each as expensive as a whole one.
      let due = this.#waiting.length + this.#batch.length;
      const store = await this.#writeBehind.opened();
      while (due > 0 || this.#configs.length > 0) {
        if (this.#batch.length === 0) this.#takeBatch(store.salt);
        due -= this.#batch.length;
        for (let next = this.#configs[0]; next !== undefined; next = this.#configs[0]) {
          await store.saveConfig(next);
          this.#configs.shift();
        }
        await this.#writeBatch(store);
        this.#answered();
      }
      await this.#sideWork(store);
      this.#answered();
    } catch (error) {
      if (this.#ok) this.#options.onStore?.("unavailable", error);
      this.#ok = false;
      this.#writeBehind.schedule(retryMs);
    }
  }

  #answered(): void {
    if (!this.#ok) this.#options.onStore?.("available");
    this.#ok = true;
  }

  /** Takes the next batch from the queue and numbers its records. */
  #takeBatch(salt: number): void {
    // A settlement may wait a moment for its record's end, while later refusals are recorded at once.
    const batch = this.#waiting.splice(0, maxBatch).sort((a, b) => a.record.recorded_ms - b.record.recorded_ms);
    for (const { record, conversationKey } of batch) {
      record.seq = this.#nextSeq(record.recorded_ms);
      if (conversationKey !== undefined) record.conversation = conversationName(conversationKey, salt);
    }
    this.#batch = batch.map(({ record }) => record);
    this.#mayBeWritten = false;
    this.#deliver(this.#batch);
  }

  #nextSeq(recordedMs: number): number {
    const place = Math.floor(recordedMs) * seqPerMs;
    const own = place + this.#salt;
    // The record belongs to an earlier time, because the ledger counts it on the day before.
    if (own + seqPerMs * 1_000 < this.#lastSeq) return place + Math.floor(this.#options.random() * seqPerMs);
    this.#lastSeq = Math.max(this.#lastSeq + 1, own);
    return this.#lastSeq;
  }

  async #writeBatch(store: RecordStore): Promise<void> {
    if (this.#batch.length === 0) return;
    if (this.#mayBeWritten) await this.#leaveOutWritten(store);
    this.#mayBeWritten = true;
    await store.append(this.#batch);
    this.#written += this.#batch.length;
    this.#batch = [];
    if (this.#options.clock.now() - this.#sizeReadMs >= sizeEveryMs) await this.#readSize(store);
    for (let chunks = 0; chunks < chunksPerBatch && this.#isTooLarge(); chunks++) await this.#prune(store);
  }

  /** After a failed write: the batch may be in the store nevertheless, or another node may have used its numbers. */
  async #leaveOutWritten(store: RecordStore): Promise<void> {
    const written = await store.known(this.#batch);
    this.#batch = this.#batch.filter(({ decision_id }) => !written.has(decision_id));
    for (const record of this.#batch) {
      record.seq = Math.floor(record.recorded_ms) * seqPerMs + Math.floor(this.#options.random() * seqPerMs);
    }
  }

  async #sideWork(store: RecordStore): Promise<void> {
    const { clock } = this.#options;
    if (this.#openCostsAfter !== undefined && this.#corrections.length < maxOpenCosts) {
      const { corrections, next } = await store.openCosts(this.#openCostsAfter, maxOpenCosts);
      this.#corrections.push(...corrections);
      this.#openCostsAfter = next === "" ? undefined : next;
    }
    const tasks = new Map(this.#tasks);
    await store.saveTasks(tasks, clock.now());
    // What has changed meanwhile stays for the next time.
    for (const [key, value] of tasks) if (this.#tasks.get(key) === value) this.#tasks.delete(key);
    const isDone = await this.#writeCorrections(store);
    if (!isDone || this.#openCostsAfter !== undefined) this.#writeBehind.schedule(writeEveryMs);
    if (clock.now() - this.#prunedMs >= pruneEveryMs) await this.#prune(store);
  }

  /**
   * Each takes some milliseconds, more over a network. Records that come meanwhile do not wait longer than otherwise: the rest of the
   * corrections is written behind them. Returns whether none is left.
   */
  async #writeCorrections(store: RecordStore): Promise<boolean> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + writeEveryMs;
    for (let next = this.#corrections[0]; next !== undefined; next = this.#corrections[0]) {
      if (this.#waiting.length > 0 && clock.monotonic() >= untilMs) return false;
      await store.correct(next);
      this.#corrections.shift();
    }
    return true;
  }

  /** Deletes one chunk of records beyond the retention, and schedules the next while there are more. */
  async #prune(store: RecordStore): Promise<void> {
    const { clock, rules } = this.#options;
    const { retention_days, max_bytes } = rules();
    const nowMs = clock.now();
    const fromMs = nowMs - retention_days * 86_400_000;
    const deleted = await store.prune(fromMs, max_bytes, pruneChunk);
    await this.#readSize(store);
    if (nowMs - this.#sumsPrunedMs >= pruneSumsEveryMs) {
      await store.pruneSums(fromMs, nowMs);
      const { remembered, remembered_ms } = this.#options.taskLimits();
      await store.pruneTasks(nowMs - remembered_ms, remembered);
      this.#sumsPrunedMs = nowMs;
    }
    if (deleted === 0) this.#prunedMs = nowMs;
    else this.#writeBehind.schedule(pruneAgainMs);
  }

  #isTooLarge(): boolean {
    return this.#size !== undefined && this.#size.bytes > this.#options.rules().max_bytes;
  }

  async #readSize(store: RecordStore): Promise<void> {
    this.#size = await store.size();
    this.#sizeReadMs = this.#options.clock.now();
  }

  #deliver(records: readonly DecisionRecord[]): void {
    if (this.#listeners.size === 0) return;
    const fresh = records.filter(({ decision_id }) => !this.#delivered.has(decision_id));
    this.#deliveredSinceLateLook += fresh.length;
    for (const { decision_id } of fresh) this.#delivered.add(decision_id);
    for (const oldest of this.#delivered) {
      if (this.#delivered.size <= maxWaiting) break;
      this.#delivered.delete(oldest);
    }
    for (const [onRecords, filter] of this.#listeners) {
      const wanted = fresh.filter((record) => matchesFilter(record, filter));
      if (wanted.length > 0) onRecords(wanted);
    }
  }

  #schedulePoll(sinceMs: number): void {
    const cancel = this.#options.timers.after(pollEveryMs, async () => {
      const nextMs = await this.#poll(sinceMs);
      // Otherwise nobody follows any more, or somebody who came meanwhile has begun polls anew.
      if (this.#cancelPoll === cancel) this.#schedulePoll(nextMs);
    });
    this.#cancelPoll = cancel;
  }

  /** Gives out what other processes have written since then, the oldest first. Returns since when the next poll looks. */
  async #poll(sinceMs: number): Promise<number> {
    const nowMs = this.#options.clock.now();
    let after =
      (Math.min(Math.max(sinceMs, nowMs - maxCatchUpMs), this.#lateLookFrom(nowMs)) - pollOverlapMs) * seqPerMs;
    while (this.#listeners.size > 0) {
      const page = await this.query({}, { after, limit: maxPolled }).catch(() => undefined);
      // The store is unavailable: the next poll asks for the same.
      if (page === undefined) return sinceMs;
      this.#deliver(page.records);
      after = page.records.at(-1)?.seq ?? after;
      if (!page.more || page.records.length === 0) break;
    }
    return nowMs;
  }

  /** Since when this poll looks for what has come late; the present where it does not. */
  #lateLookFrom(nowMs: number): number {
    if (++this.#pollsSinceLateLook < pollsUntilLateLook) return nowMs;
    const isBusy = this.#deliveredSinceLateLook > maxBeforeLateLook;
    this.#pollsSinceLateLook = 0;
    this.#deliveredSinceLateLook = 0;
    return isBusy ? nowMs : Math.max(nowMs - lateLookMs, this.#followedSinceMs);
  }
}
