import type { LedgerStatus, ReservationId } from "#ledger/ledger.ts";
import type { BatchReply, Operation, OperationReply } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { asStoreFailure, type LedgerStore, type StoreFailure } from "#ledger/store.ts";
import type { Timers } from "#platform/time.ts";
import { BatchStart, type BatchStartOptions, type Waiting } from "./batch-start.ts";
import type { LedgerEvent } from "./ledger-event.ts";
import {
  delayMsOf,
  type InFlightBatch,
  isolate,
  maxBatch,
  nextBatchLength,
  operationsOf,
  type QueueItem,
  type ReturnedBatch,
  type Urgency,
  withoutReserve,
} from "./queue-item.ts";
import { isClosing, ResolutionTracker } from "./resolution-tracker.ts";
import type { StoreAvailability } from "./store-availability.ts";

/** A caller waits no longer than this. */
export const answerLimitMs = 1_000;
const deadlineCheckMs = answerLimitMs / 20;
/**
 * A check that comes so late tells that the process stood still. The store may have answered meanwhile, and its answer is read
 * after the timers: nobody is given up before the next check.
 */
const stallMs = 4 * deadlineCheckMs;
/**
 * After a read had to wait for resolutions, none are delayed for so long: more reads may follow, and those that it waits for may
 * still be behind a batch in flight. Longer than any delay, so afterwards they have waited long enough.
 */
const undelayedAfterReadMs = 100;
/** Times that an operation is tried alone before it is dropped as one that cannot be written. */
const writeAttempts = 3;

/**
 * The writer is always in one of these modes; only `fail` and `close` change it.
 *
 * - `open`: operations are queued and written.
 * - `failed`: the store cannot be trusted any more. Nothing is written, nobody is answered `held`. Ends with `closed` only.
 * - `closing`: what is queued is still written, for as long as `close` allows. The ledger admits nothing more.
 * - `closed`: nothing is written. Replies that still come are ignored.
 *
 * Beside it, what it does about the next batch, in the modes `open` and `closing`:
 *
 * - `idle`: nothing is planned. A batch may be in flight, whose reply plans the next one.
 * - `delayed`: only resolutions are queued that nobody waits for. A timer plans the flush, or whatever else is queued or read before.
 * - `scheduled`: a flush comes, as `BatchStart` decides.
 * - `backing_off`: the store has failed for a moment; a timer plans the next flush.
 */
export type WriterMode = "open" | "failed" | "closing" | "closed";
type FlushState = "idle" | "delayed" | "scheduled" | "backing_off";

export interface BatchWriterOptions extends BatchStartOptions {
  readonly store: LedgerStore;
  readonly node: NodeIdentity;
  readonly timers: Timers;
  readonly log: (event: LedgerEvent) => void;
  readonly availability: StoreAvailability;
  /** Called with the reply to each written batch, before its callers are answered. */
  readonly onWritten: (reply: BatchReply) => void;
  /** Whether a reserve whose caller was answered `unavailable` may be cancelled. */
  readonly mayCancel: (id: ReservationId) => boolean;
}

/**
 * Writes operations in batches, in the order of their arrival. One batch is in flight, and what arrives meanwhile forms the
 * next; a store with `pipelineFrom` receives the next one early once that is full. A batch that fails is requeued.
 */
export class BatchWriter implements Waiting {
  readonly #options: BatchWriterOptions;
  readonly #start: BatchStart;
  readonly #resolutions = new ResolutionTracker();
  #mode: WriterMode = "open";
  #flush: FlushState = "idle";
  /** Why nothing is written any more; set when the mode becomes `failed`. */
  #failure: { readonly reason: string; readonly kind: NonNullable<LedgerStatus["failed"]> } | undefined;
  #queue: QueueItem[] = [];
  /** In the order of their batches: one, or two where the store takes the next one early. */
  #inFlight: readonly InFlightBatch[] = [];
  /** What came back unwritten, until all that was sent behind it has come back too. */
  #returned: ReturnedBatch[] = [];
  #queuedReserves = 0;
  #waitingResolutions = 0;
  #onIdle: (() => void) | undefined;
  #cancelDeadlineTimer: (() => void) | undefined;
  /** When the deadlines were last checked without a stall before, on the monotonic clock. */
  #checkedMs = 0;
  #cancelDelay: (() => void) | undefined;
  /** On the monotonic clock: until then nothing is delayed. */
  #undelayedUntilMs = 0;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#start = new BatchStart(options);
  }

  get mode(): WriterMode {
    return this.#mode;
  }

  get failure(): { readonly reason: string; readonly kind: NonNullable<LedgerStatus["failed"]> } | undefined {
    return this.#failure;
  }

  /** Items that wait for the store, in flight or not. */
  get queued(): number {
    return this.#batchesUnderway().reduce((count, { items }) => count + items.length, this.#queue.length);
  }

  get inQueue(): number {
    return this.#queue.length;
  }

  get queuedReserves(): number {
    return this.#queuedReserves;
  }

  get waitingResolutions(): number {
    return this.#waitingResolutions;
  }

  get batchInFlight(): boolean {
    return this.#inFlight.length > 0;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && !this.#isUnderway();
  }

  /** Age of the oldest item, in milliseconds; 0 when nothing waits. While the process stands still nothing ages. */
  oldestMs(): number {
    if (this.isIdle) return 0;
    const clockMs = this.#options.clock.monotonic();
    const nowMs = this.#cancelDeadlineTimer === undefined ? clockMs : Math.min(clockMs, this.#checkedMs + stallMs);
    let oldest = this.#queue[0]?.sinceMs ?? nowMs;
    for (const { items } of this.#batchesUnderway()) oldest = Math.min(oldest, items[0]?.sinceMs ?? nowMs);
    return Math.max(0, nowMs - oldest);
  }

  /** Operations that are written in one batch; `answer` is called once, with the reply to the last of them or undefined. */
  enqueue(operations: readonly Operation[], urgency: Urgency, answer: QueueItem["answer"]): void {
    const generation = this.#resolutions.current;
    const nowMs = this.#options.clock.monotonic();
    for (const { kind } of operations) {
      if (isClosing(kind)) generation.outstanding += 1;
      if (kind === "resolve") this.#waitingResolutions += 1;
    }
    this.#queue.push({
      operations,
      answer,
      sinceMs: nowMs,
      urgency,
      generation,
      sent: false,
      timedOut: false,
      isolated: false,
      failures: 0,
    });
    if (urgency === "deadline") {
      this.#queuedReserves += 1;
      if (this.#queuedReserves > 1) this.#start.reservesOverlap(nowMs);
      this.#watchDeadlines();
    }
    if (this.#flush !== "delayed") this.#scheduleFlush();
    else if (delayMsOf(this.#queue, nowMs) <= 0) this.#endDelay();
  }

  /** Resolves when every resolution handed in so far is written; undefined when they all are. What is delayed is sent at once. */
  resolutionsWritten(): Promise<void> | undefined {
    const written = this.#resolutions.written();
    if (written === undefined) return undefined;
    this.#undelayedUntilMs = this.#options.clock.monotonic() + undelayedAfterReadMs;
    this.#endDelay();
    return written;
  }

  /** Gives back a hold whose caller was answered `unavailable`. */
  cancelReserve(id: ReservationId): void {
    this.enqueue([{ kind: "cancel", id }], "soon", () => {});
  }

  /** Writes what is queued, for `withinMs` at most. Afterwards nothing is written; waiting callers are answered undefined. */
  async close(withinMs: number): Promise<void> {
    const drains = !this.isIdle && this.#mode === "open";
    this.#mode = "closing";
    this.#endDelay();
    if (drains) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.timers.after(withinMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#mode = "closed";
    this.#cancelDeadlineTimer?.();
    const left = [...this.#underway(), ...this.#queue];
    this.#queue = [];
    const lost = left.reduce((sum, item) => sum + item.operations.filter(({ kind }) => kind === "resolve").length, 0);
    if (lost > 0) this.#reportDropped(lost, "the budget store did not answer before the process ended");
    for (const item of left) if (!item.timedOut) item.answer(undefined);
  }

  /** Handles a failure of the store: a final one ends admission. */
  storeFailed(failure: StoreFailure): void {
    if (failure.isFinal) this.#fail(failure);
    else this.#options.availability.failed(failure.message);
  }

  #scheduleFlush(): void {
    if (this.#flush !== "idle" || !this.#canFlush()) return;
    if (this.#queue.length === 0) {
      this.#onIdle?.();
      return;
    }
    const nowMs = this.#options.clock.monotonic();
    const mayDelay = this.#mode === "open" && this.#inFlight.length === 0 && nowMs >= this.#undelayedUntilMs;
    const delayMs = mayDelay ? delayMsOf(this.#queue, nowMs) : 0;
    if (delayMs > 0) {
      this.#delayFlush(delayMs);
    } else {
      this.#startFlush();
    }
  }

  #delayFlush(delayMs: number): void {
    this.#flush = "delayed";
    this.#cancelDelay = this.#options.timers.after(delayMs, () => this.#endDelay());
  }

  #endDelay(): void {
    if (this.#flush !== "delayed") return;
    this.#cancelDelay?.();
    this.#startFlush();
  }

  #startFlush(): void {
    this.#flush = "scheduled";
    this.#start.schedule(this, () => {
      if (this.#flush === "scheduled") this.#flush = "idle";
      this.#flushNow();
    });
  }

  /** Whether the next batch may be sent now. */
  #canFlush(): boolean {
    if (this.#flush === "backing_off" || this.#mode === "failed" || this.#mode === "closed") return false;
    if (this.#returned.length > 0) return false;
    const [ahead] = this.#inFlight;
    if (ahead === undefined) return true;
    const { pipelineFrom } = this.#options.store;
    if (pipelineFrom === undefined || this.#inFlight.length > 1 || this.#queue.length < pipelineFrom) return false;
    return ahead.items[0]?.isolated !== true && this.#queue[0]?.isolated !== true;
  }

  #flushNow(): void {
    if (!this.#canFlush()) return;
    const items = this.#queue.splice(0, nextBatchLength(this.#queue));
    if (items.length === 0) {
      this.#onIdle?.();
      return;
    }
    const batch: InFlightBatch = { items };
    this.#inFlight = [...this.#inFlight, batch];
    for (const item of items) item.sent = true;
    const { store, node } = this.#options;
    store.commit({ node, operations: operationsOf(items) }).then(
      (reply) => this.#written(batch, reply),
      (error: unknown) => this.#notWritten(batch, asStoreFailure(error)),
    );
  }

  #written(batch: InFlightBatch, reply: BatchReply): void {
    const { items } = batch;
    this.#inFlight = this.#inFlight.filter((one) => one !== batch);
    if (this.#mode === "closed") return;
    if (this.#mode === "failed") {
      // Written to a store that cannot be trusted any more: nobody may spend because of its reply.
      for (const item of items) {
        this.#release(item);
        if (!item.timedOut) item.answer(undefined);
      }
      return;
    }
    this.#options.onWritten(reply);
    // A batch that is full already goes out before the callers of this one are answered: the store need not wait for that.
    if (this.#queue.length >= maxBatch) this.#flushNow();
    const aheadFailed = this.#returned.length > 0;
    // As in `operationsOf`: all reserves are behind all others.
    const { replies } = reply;
    let other = 0;
    let reserve = 0;
    for (const item of items) for (const { kind } of item.operations) if (kind !== "reserve") reserve += 1;
    for (const item of items) {
      let last: OperationReply | undefined;
      for (const { kind } of item.operations) last = kind === "reserve" ? replies[reserve++] : replies[other++];
      if (last?.kind === "refused" && aheadFailed && !item.timedOut) {
        // What the batch ahead would have given back is not given back yet: decided again behind it.
        this.#returned.push({ items: [item] });
        continue;
      }
      this.#release(item);
      if (!item.timedOut) item.answer(last);
      else if (last?.kind !== "refused") this.#cancelUnused(item);
    }
    this.#requeue();
    this.#scheduleFlush();
    if (this.isIdle) this.#onIdle?.();
  }

  #notWritten(batch: InFlightBatch, failure: StoreFailure): void {
    this.#inFlight = this.#inFlight.filter((one) => one !== batch);
    if (this.#mode === "closed") return;
    this.#returned.push({ ...batch, failure });
    this.#requeue();
  }

  /** Puts what came back at the head of the queue, in its order: so not before the last of it has come back. */
  #requeue(): void {
    if (this.#returned.length === 0 || this.#inFlight.length > 0) return;
    const returned = this.#returned;
    this.#returned = [];
    const failures = returned.flatMap(({ failure }) => failure ?? []);
    const final = failures.find(({ isFinal }) => isFinal);
    if (final !== undefined) {
      this.#queue.unshift(...returned.flatMap(({ items }) => items));
      this.#fail(final);
      return;
    }
    const items = returned.flatMap(({ items: own, failure }) =>
      own.flatMap((item) => {
        if (failure?.kind === "conflict") return this.#afterConflict(item, own.length === 1, failure);
        return item.timedOut ? withoutReserve(item, this.#options.mayCancel) : item;
      }),
    );
    this.#queue.unshift(...items);
    const transient = failures.find(({ kind }) => kind === "transient");
    if (transient === undefined) this.#scheduleFlush();
    else this.#backOff(transient.message);
  }

  #backOff(message: string): void {
    const { availability, timers } = this.#options;
    availability.failed(message);
    this.#flush = "backing_off";
    timers.after(availability.nextBackoffMs(), () => {
      this.#flush = "idle";
      this.#scheduleFlush();
    });
  }

  /** Isolates the operation that cannot be written, and drops it when it has failed alone several times. */
  #afterConflict(item: QueueItem, wasAlone: boolean, failure: StoreFailure): QueueItem[] {
    if (!wasAlone || item.operations.length > 1) return isolate(item, wasAlone);
    const failures = item.failures + 1;
    if (failures < writeAttempts) return [{ ...item, failures }];
    this.#release(item);
    if (item.operations[0]?.kind === "resolve") this.#reportDropped(1, failure.message);
    if (!item.timedOut) item.answer({ kind: "unavailable", reason: "the reservation cannot be written" });
    return [];
  }

  /** The caller of an item in flight was answered `unavailable` before the batch was written. */
  #cancelUnused(item: QueueItem): void {
    const last = item.operations.at(-1);
    if (last?.kind === "reserve" && this.#options.mayCancel(last.reservation.id)) {
      this.cancelReserve(last.reservation.id);
    }
  }

  /** Takes an item that has left the queue for good out of the counts. */
  #release(item: QueueItem): void {
    for (const { kind } of item.operations) {
      if (kind === "resolve") this.#waitingResolutions -= 1;
      if (isClosing(kind)) item.generation.outstanding -= 1;
    }
    this.#resolutions.resolveWritten();
    if (item.urgency === "deadline" && !item.timedOut) this.#queuedReserves -= 1;
  }

  /** One timer for all items with a deadline, for as long as there are any. */
  #watchDeadlines(): void {
    if (this.#cancelDeadlineTimer === undefined) this.#setDeadlineTimer(true);
  }

  #setDeadlineTimer(mayStall: boolean): void {
    const { clock, timers } = this.#options;
    const sinceMs = clock.monotonic();
    if (mayStall) this.#checkedMs = sinceMs;
    this.#cancelDeadlineTimer = timers.after(deadlineCheckMs, () => {
      this.#cancelDeadlineTimer = undefined;
      if (this.#mode === "closed") return;
      const nowMs = clock.monotonic();
      if (mayStall && nowMs - sinceMs > stallMs) {
        this.#setDeadlineTimer(false);
        return;
      }
      const limitMs = nowMs - answerLimitMs;
      const isLate = ({ urgency, timedOut, sinceMs: queuedMs }: QueueItem) =>
        urgency === "deadline" && !timedOut && queuedMs <= limitMs;
      for (const item of this.#underway()) if (isLate(item)) this.#timeOut(item);
      if (this.#queue.some(isLate)) {
        this.#queue = this.#queue.flatMap((item) => {
          if (!isLate(item)) return item;
          this.#timeOut(item);
          return withoutReserve(item, this.#options.mayCancel);
        });
      }
      if (this.#queuedReserves > 0) this.#watchDeadlines();
    });
  }

  #timeOut(item: QueueItem): void {
    this.#answerUnwritten(item);
    this.#options.availability.timedOut(item.sinceMs);
  }

  #answerUnwritten(item: QueueItem): void {
    item.timedOut = true;
    this.#queuedReserves -= 1;
    item.answer(undefined);
  }

  #fail({ kind, message }: StoreFailure): void {
    if (this.#failure !== undefined) return;
    const failed = kind === "lost" ? "store_lost" : "restart_needed";
    this.#failure = { reason: `the budget store has failed: ${message}`, kind: failed };
    this.#mode = "failed";
    this.#options.log({ kind: "store_failed", message, failed });
    for (const item of this.#queue) if (item.urgency === "deadline" && !item.timedOut) this.#answerUnwritten(item);
    this.#onIdle?.();
  }

  /** Says that resolutions are lost: their holds expire and are charged. */
  #reportDropped(count: number, message: string): void {
    this.#options.log({ kind: "resolutions_dropped", count, message });
  }

  #isUnderway(): boolean {
    return this.#inFlight.length + this.#returned.length > 0;
  }

  /** The items that the store has received, or has just returned. */
  #underway(): QueueItem[] {
    return this.#batchesUnderway().flatMap(({ items }) => items);
  }

  #batchesUnderway(): readonly InFlightBatch[] {
    return this.#returned.length === 0 ? this.#inFlight : [...this.#returned, ...this.#inFlight];
  }
}
