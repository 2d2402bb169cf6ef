import type { LedgerStatus } from "./ledger.ts";
import type { BatchReply, LedgerBatch, Operation, OperationReply } from "./rules/operations.ts";
import type { NodeIdentity } from "./rules/rows.ts";
import { asStoreFailure, type LedgerContext, type LedgerStore, type StoreFailure } from "./store.ts";
import type { StoreAvailability } from "./store-availability.ts";

/** Operations in one transaction. */
const maxBatch = 256;
/** A caller waits no longer than this. */
export const answerLimitMs = 1_000;
const deadlineCheckMs = answerLimitMs / 20;
/**
 * A check that comes so late tells that the process stood still. The store may have answered meanwhile, and its answer
 * is read after the timers: nothing times out before the next check.
 */
const stallMs = 4 * deadlineCheckMs;
/**
 * What nobody waits for is written with the next batch, or after this time. A caller that sends one request after the
 * other reserves within it, and one transaction, which costs such a caller more than all else in the ledger, does for
 * both.
 */
const backgroundDelayMs = 5;
/** Ticks of the event loop, or milliseconds, that a batch waits for its operations: a commit costs more than a tick. */
const batchTicks = 3;
const maxTicksMs = 10;

/** Operations that are written together, and the callback for the reply to the last of them; with undefined when there is none. */
interface Item {
  readonly operations: readonly Operation[];
  readonly answer: (reply: OperationReply | undefined) => void;
  readonly sinceMs: number;
  /** It is answered within the answer limit, written or not. */
  readonly hasDeadline: boolean;
  /** Written in a batch of its own, because a batch with it could not be written. */
  readonly alone: boolean;
  /** Whether the store may have received it. */
  sent: boolean;
  /** Its caller was answered `undefined` because the deadline had passed: what it asks is not sent again. */
  timedOut: boolean;
}

/**
 * `failed`: the store cannot be trusted any more; nothing is written, nobody is answered `held`. `closing`: what is
 * queued is still written. `closed`: nothing is written, and replies that still come are ignored.
 */
export type QueueMode = "open" | "failed" | "closing" | "closed";

export interface BatchQueueOptions extends LedgerContext {
  readonly store: LedgerStore;
  readonly node: NodeIdentity;
  readonly availability: StoreAvailability;
  /** Makes up for what another server lacks; until it resolves nothing else is written. Rejects with a StoreFailure. */
  readonly recover: () => Promise<void>;
  /** Runs a callback when this tick of the event loop has enqueued what it has; a microtask when absent. */
  readonly defer?: ((begin: () => void) => unknown) | undefined;
  /** Called with the reply to each written batch, before its callers are answered. */
  readonly onWritten: (reply: BatchReply, batch: LedgerBatch) => void;
}

/**
 * Writes operations in the order of their arrival: one batch is in flight, and what arrives meanwhile forms the next,
 * so the slowest step of a store (a sync to disk, a round trip) is paid once for all of them. A batch that fails is
 * written again.
 */
export class BatchQueue {
  readonly #options: BatchQueueOptions;
  readonly #defer: (begin: () => void) => unknown;
  mode: QueueMode = "open";
  /** Why nothing is written any more. */
  failure: { readonly reason: string; readonly kind: NonNullable<LedgerStatus["failed"]> } | undefined;
  /** Items that callers wait for: with a deadline, and without an answer. */
  waiting = 0;
  #queue: Item[] = [];
  #inFlight: readonly Item[] = [];
  #planned = false;
  /** Operations of the newest batch. */
  #lastSize = 0;
  /** Nothing is sent: the store has just failed, or is being recovered. */
  #paused = false;
  /** `due` until the batch in flight has ended: it must not be decided between what is restored. */
  #recovery: "none" | "due" | "running" = "none";
  #onIdle: (() => void) | undefined;
  #cancelDelay: (() => void) | undefined;
  #cancelDeadlineTimer: (() => void) | undefined;
  /** When the deadlines were last checked without a stall before, on the monotonic clock. */
  #checkedMs = 0;

  constructor(options: BatchQueueOptions) {
    this.#options = options;
    this.#defer = options.defer ?? queueMicrotask;
  }

  /** Items that are not written yet. */
  get size(): number {
    return this.#queue.length + this.#inFlight.length;
  }

  /** Age of the oldest item, in milliseconds; 0 when nothing waits. While the process stands still nothing ages. */
  oldestMs(): number {
    const oldest = this.#inFlight[0] ?? this.#queue[0];
    if (oldest === undefined) return 0;
    const clockMs = this.#options.clock.monotonic();
    const nowMs = this.#cancelDeadlineTimer === undefined ? clockMs : Math.min(clockMs, this.#checkedMs + stallMs);
    return Math.max(0, nowMs - oldest.sinceMs);
  }

  /**
   * The reply to the last operation, within the answer limit, written or not; undefined when there is none. `sinceMs`:
   * when the caller began to wait, on the monotonic clock.
   */
  ask(
    operations: readonly Operation[],
    sinceMs = this.#options.clock.monotonic(),
  ): Promise<OperationReply | undefined> {
    return new Promise((answer) => {
      this.#queue.push({ operations, answer, sinceMs, hasDeadline: true, ...newItem });
      this.waiting += 1;
      if (this.#cancelDeadlineTimer === undefined) this.#setDeadlineTimer(true);
      this.#flushSoon();
    });
  }

  /** Writes with the next batch. Resolves when it is written, however long that takes. */
  write(operations: readonly Operation[]): Promise<void> {
    return new Promise((resolve) => {
      this.#add(operations, () => resolve());
      this.#flushSoon();
    });
  }

  /** As `write`, but it may wait for other items some milliseconds. */
  writeInBackground(operations: readonly Operation[]): void {
    this.#add(operations);
    this.#cancelDelay ??= this.#options.timers.after(backgroundDelayMs, () => {
      this.#cancelDelay = undefined;
      this.#flushSoon();
    });
  }

  #add(operations: readonly Operation[], answer: Item["answer"] = ignoreReply): void {
    const sinceMs = this.#options.clock.monotonic();
    this.#queue.push({ operations, answer, sinceMs, hasDeadline: false, ...newItem });
  }

  /** Writes what is queued, for `withinMs` at most. Afterwards nothing is written; waiting callers are answered undefined. */
  async close(withinMs: number): Promise<void> {
    const drains = this.size > 0 && this.mode === "open";
    this.mode = "closing";
    if (drains) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.timers.after(withinMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
        this.#flushSoon();
      });
    }
    this.mode = "closed";
    this.#cancelDelay?.();
    this.#cancelDeadlineTimer?.();
    const left = [...this.#inFlight, ...this.#queue];
    this.#queue = [];
    const lost = left.reduce((sum, { operations }) => sum + operations.filter(isResolution).length, 0);
    if (lost > 0) this.#reportDropped(lost, "the budget store did not answer before the process ended");
    for (const item of left) if (!item.timedOut) item.answer(undefined);
  }

  /** Handles a failure of the store outside of a batch: a final one ends admission. */
  storeFailed(failure: StoreFailure): void {
    if (this.mode === "closed") return;
    if (failure.isFinal) this.#fail(failure);
    else if (failure.kind === "behind") this.recover();
    else this.#options.availability.failed(failure.message);
  }

  /** Recovers the store before anything else is written. Repeated until it succeeds, or the store is found to be lost. */
  recover(): void {
    if (this.#recovery === "running" || this.mode === "failed" || this.mode === "closed") return;
    this.#paused = true;
    this.#recovery = "due";
    if (this.#inFlight.length > 0) return;
    const { recover, availability, timers } = this.#options;
    this.#recovery = "running";
    recover().then(
      () => {
        availability.succeeded();
        this.#recovery = "none";
        this.#paused = false;
        this.#flushSoon();
      },
      (error: unknown) => {
        const failure = asStoreFailure(error);
        if (failure.isFinal) this.#fail(failure);
        else availability.failed(failure.message);
        this.#recovery = "due";
        timers.after(availability.nextBackoffMs(), () => this.recover());
      },
    );
  }

  #flushSoon(): void {
    if (this.#planned || this.#inFlight.length > 0 || this.#paused) return;
    this.#planned = true;
    // One caller's reservation and the end of its last call: nobody else is to be waited for.
    const ticks = this.#lastSize > 2 ? batchTicks : 1;
    this.#flushAfter(ticks, this.#options.clock.monotonic() + maxTicksMs);
  }

  #flushAfter(ticks: number, untilMs: number): void {
    this.#defer(() => {
      if (ticks > 1 && this.#options.clock.monotonic() < untilMs) {
        this.#flushAfter(ticks - 1, untilMs);
        return;
      }
      this.#planned = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#inFlight.length > 0 || this.#paused || this.mode === "failed" || this.mode === "closed") return;
    const items = this.#queue.splice(0, nextBatchLength(this.#queue));
    if (items.length === 0) {
      this.#onIdle?.();
      return;
    }
    this.#inFlight = items;
    for (const item of items) item.sent = true;
    const { operations, places } = inOrder(items);
    this.#lastSize = operations.length;
    const { store, node } = this.#options;
    const batch = { node, operations };
    store.commit(batch).then(
      (reply) => this.#written(items, places, reply, batch),
      (error: unknown) => this.#notWritten(items, asStoreFailure(error)),
    );
  }

  #written(items: readonly Item[], places: readonly number[], reply: BatchReply, batch: LedgerBatch): void {
    this.#inFlight = [];
    if (this.mode === "closed") return;
    if (this.#recovery === "due") this.recover();
    // A reply of a store that cannot be trusted any more: nobody may spend because of it.
    const isValid = this.mode !== "failed";
    if (isValid) this.#options.onWritten(reply, batch);
    items.forEach((item, index) => {
      if (!item.timedOut) this.#answer(item, isValid ? reply.replies[places[index] ?? -1] : undefined);
    });
    if (this.#queue.length > 0) this.#flushSoon();
    else this.#onIdle?.();
  }

  #notWritten(items: readonly Item[], failure: StoreFailure): void {
    this.#inFlight = [];
    if (this.mode === "closed") return;
    if (this.#recovery === "due") this.recover();
    if (failure.isFinal) {
      this.#requeue(items);
      this.#fail(failure);
      return;
    }
    if (failure.kind === "conflict") {
      this.#requeue(items.flatMap((item) => this.#isolate(item, items.length === 1, failure)));
      this.#flushSoon();
    } else {
      this.#requeue(items);
      if (failure.kind === "behind") this.recover();
      else if (this.#recovery === "none") this.#backOff(failure.message);
    }
  }

  #requeue(items: readonly Item[]): void {
    this.#queue.unshift(...items.filter(hasWork));
  }

  #backOff(message: string): void {
    const { availability, timers } = this.#options;
    availability.failed(message);
    this.#paused = true;
    timers.after(availability.nextBackoffMs(), () => {
      this.#paused = this.#recovery !== "none";
      this.#flushSoon();
    });
  }

  /** After a conflict: items one by one, then their operations, until the one that is wrong has failed alone and is dropped. */
  #isolate(item: Item, wasAlone: boolean, failure: StoreFailure): Item[] {
    const { operations } = item;
    if (!wasAlone) return [{ ...item, alone: true }];
    if (operations.length > 1) {
      return operations.map((operation, index) =>
        index === operations.length - 1
          ? { ...item, operations: [operation] }
          : { ...item, operations: [operation], hasDeadline: false, answer: ignoreReply },
      );
    }
    if (operations.some(isResolution)) this.#reportDropped(1, failure.message);
    if (!item.timedOut) this.#answer(item, { kind: "unavailable", reason: "the reservation cannot be written" });
    return [];
  }

  #answer(item: Item, reply: OperationReply | undefined): void {
    if (item.hasDeadline) this.waiting -= 1;
    item.answer(reply);
  }

  /** Its caller is answered; what it resolves still counts, and what it may have reserved is cancelled behind it. */
  #timeOut(item: Item): void {
    item.timedOut = true;
    this.#answer(item, undefined);
    const last = item.operations.at(-1);
    if (item.sent && last?.kind === "reserve") void this.write([{ kind: "cancel", id: last.reservation.id }]);
  }

  /** One timer for all items with a deadline, for as long as there are any. */
  #setDeadlineTimer(mayStall: boolean): void {
    const { clock, timers, availability } = this.#options;
    const sinceMs = clock.monotonic();
    if (mayStall) this.#checkedMs = sinceMs;
    this.#cancelDeadlineTimer = timers.after(deadlineCheckMs, () => {
      this.#cancelDeadlineTimer = undefined;
      if (this.mode === "closed") return;
      const nowMs = clock.monotonic();
      if (mayStall && nowMs - sinceMs > stallMs) {
        this.#setDeadlineTimer(false);
        return;
      }
      const isLate = (item: Item) => item.hasDeadline && !item.timedOut && item.sinceMs <= nowMs - answerLimitMs;
      const late = [...this.#inFlight.filter(isLate), ...this.#queue.filter(isLate)];
      for (const item of late) {
        this.#timeOut(item);
        availability.timedOut(item.sinceMs);
      }
      if (late.length > 0) {
        this.#queue = this.#queue.filter(hasWork);
      }
      if (this.waiting > 0 && this.#cancelDeadlineTimer === undefined) this.#setDeadlineTimer(true);
    });
  }

  #fail({ kind, message }: StoreFailure): void {
    if (this.failure !== undefined) return;
    const failed = kind === "lost" ? "store_lost" : "restart_needed";
    this.failure = { kind: failed, reason: `the budget store has failed: ${message}` };
    this.mode = "failed";
    this.#options.log({ kind: "store_failed", message, failed });
    for (const item of [...this.#queue]) if (item.hasDeadline && !item.timedOut) this.#timeOut(item);
    this.#onIdle?.();
  }

  /** Says that resolutions are lost: their holds expire and are charged. */
  #reportDropped(count: number, message: string): void {
    this.#options.log({ kind: "resolutions_dropped", count, message });
  }
}

const ignoreReply = () => {};
const newItem = { alone: false, sent: false, timedOut: false };

/** What somebody asks, and what is decided behind all resolutions of its batch. */
function isQuestion(
  operation: Operation,
): operation is Extract<Operation, { readonly kind: "reserve" } | { readonly kind: "read" }> {
  return operation.kind === "reserve" || operation.kind === "read";
}

/** Nobody waits for what an item asks once it has timed out. */
function hasWork({ timedOut, operations }: Item): boolean {
  return !timedOut || !operations.every(isQuestion);
}

function isResolution({ kind }: Operation): boolean {
  return kind === "settled" || kind === "released" || kind === "charged" || kind === "unknown";
}

/** How many items at the head of the queue make the next batch. */
function nextBatchLength(queue: readonly Item[]): number {
  if (queue[0]?.alone === true) return 1;
  let count = 0;
  let size = 0;
  for (const { operations, alone } of queue) {
    size += operations.length;
    if (alone || (count > 0 && size > maxBatch)) break;
    count += 1;
  }
  return count;
}

/**
 * The operations of a batch: what gives money back before what asks for it, else in their order. `places`: where the
 * last operation of each item stands, for its reply.
 */
function inOrder(items: readonly Item[]): { operations: Operation[]; places: number[] } {
  const operations: Operation[] = [];
  const places: number[] = [];
  for (const item of items) {
    for (const operation of item.operations) if (!isQuestion(operation)) operations.push(operation);
    places.push(operations.length - 1);
  }
  items.forEach((item, index) => {
    const last = item.operations.at(-1);
    if (item.timedOut || last === undefined || !isQuestion(last)) return;
    operations.push(last);
    places[index] = operations.length - 1;
  });
  return { operations, places };
}
