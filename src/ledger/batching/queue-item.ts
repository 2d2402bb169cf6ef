import type { ReservationId } from "#ledger/ledger.ts";
import type { Operation, OperationReply } from "#ledger/rules/operations.ts";
import type { StoreFailure } from "#ledger/store.ts";
import type { Generation } from "./resolution-tracker.ts";

/** Operations in one transaction. */
export const maxBatch = 256;

/**
 * Resolutions in the background wait this long for a reserve that shares their commit. A caller that sends its next request as
 * soon as it has an answer reserves some 1 to 4 ms later: the way there and back, parsing, the decision. What waits is lost
 * with a killed process, so it waits no longer than a commit on a slow disk takes.
 */
const maxDelayMs = 5;
/** So many are worth a commit of their own: each of them would take the reserve that it waits for some 25 µs. */
const ownCommitFrom = 4;

/**
 * How soon an item is written and answered.
 *
 * - `deadline`: a reserve. It is answered within the answer limit, written or not.
 * - `soon`: written with the next batch, however long that takes.
 * - `background`: nobody waits for it. It may wait some milliseconds for a reserve that shares its batch.
 */
export type Urgency = "deadline" | "soon" | "background";

/** One entry of the queue: operations that must be written together, and the callback for their reply. */
export interface QueueItem {
  readonly operations: readonly Operation[];
  /** Called with the reply to the last of the operations; with undefined when there is none. */
  readonly answer: (reply: OperationReply | undefined) => void;
  readonly sinceMs: number;
  readonly urgency: Urgency;
  /** The generation that its resolutions are counted in. */
  readonly generation: Generation;
  /** Whether the store may have received it. */
  sent: boolean;
  /** Its caller was answered `unavailable` because the deadline had passed. */
  timedOut: boolean;
  /** Written in a batch of its own, because a batch with it could not be written. */
  isolated: boolean;
  failures: number;
}

/** A batch that the store has received and not answered. */
export interface InFlightBatch {
  readonly items: readonly QueueItem[];
}

/** How long a batch of these items may wait for a reserve, in milliseconds; 0 or less where it may not. */
export function delayMsOf(queue: readonly QueueItem[], nowMs: number): number {
  const [oldest] = queue;
  if (oldest === undefined || queue.length >= ownCommitFrom) return 0;
  const nobodyWaits = queue.every(({ urgency }) => urgency === "background");
  return nobodyWaits ? oldest.sinceMs + maxDelayMs - nowMs : 0;
}

/** How many items at the head of the queue make the next batch. */
export function nextBatchLength(queue: readonly QueueItem[]): number {
  let count = 0;
  let size = 0;
  for (const item of queue) {
    if (item.isolated && count > 0) break;
    if (count > 0 && size + item.operations.length > maxBatch) break;
    size += item.operations.length;
    count += 1;
    if (item.isolated) break;
  }
  return count;
}

/** The operations of a batch: all others before the reserves, so that money is given back before it is taken; else in order. */
export function operationsOf(items: readonly QueueItem[]): Operation[] {
  const operations: Operation[] = [];
  for (const { operations: own } of items) {
    for (const operation of own) if (operation.kind !== "reserve") operations.push(operation);
  }
  for (const { operations: own } of items) {
    for (const operation of own) if (operation.kind === "reserve") operations.push(operation);
  }
  return operations;
}

/** After a conflict: items that are written in batches of their own, until the operation that is wrong is alone in its batch. */
export function isolate(item: QueueItem, wasAlone: boolean): QueueItem[] {
  if (!wasAlone) return [{ ...item, isolated: true }];
  // A reserve keeps its place in the queue and its answer; the resolutions before it are written on their own.
  const last = item.operations.at(-1);
  const answered = last?.kind === "reserve" ? last : undefined;
  const parts = item.operations.filter((operation) => operation !== answered);
  let waiting = parts.length;
  const partDone = () => {
    waiting -= 1;
    if (waiting === 0 && answered === undefined && !item.timedOut) item.answer({ kind: "done" });
  };
  const single: QueueItem = { ...item, isolated: true, urgency: "soon", timedOut: false, failures: 0 };
  const items: QueueItem[] = parts.map((operation) => ({ ...single, operations: [operation], answer: partDone }));
  if (answered !== undefined) items.push({ ...item, operations: [answered], isolated: true });
  return items;
}

/**
 * An item whose caller was answered `unavailable`: its resolutions still count, and its reserve must not. A reserve that may
 * have reached the store becomes a cancel.
 */
export function withoutReserve(item: QueueItem, mayCancel: (id: ReservationId) => boolean): QueueItem[] {
  const operations = item.operations.flatMap((operation): Operation[] => {
    if (operation.kind !== "reserve") return [operation];
    if (!item.sent || !mayCancel(operation.reservation.id)) return [];
    item.generation.outstanding += 1;
    return [{ kind: "cancel", id: operation.reservation.id }];
  });
  return operations.length === 0 ? [] : [{ ...item, operations, urgency: "soon", timedOut: false, answer: () => {} }];
}

/** A batch that came back unwritten, or an item of a written batch that has to be decided again. */
export interface ReturnedBatch extends InFlightBatch {
  readonly failure?: StoreFailure;
}
