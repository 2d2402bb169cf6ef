import type { Clock } from "#platform/time.ts";
import { maxBatch } from "./queue-item.ts";

/** A batch begins no later than this. */
const maxCoalesceMs = 6;
/** A turn that takes longer had work to do, from which more operations may come. */
const idleTurnMs = 0.03;
/** After a reservation that came while another one waited, batches wait for so long for further ones. */
const gatherAfterOverlapMs = 100;

export interface BatchStartOptions {
  readonly clock: Clock;
  /** As `BatchedLedgerOptions.coalesce`. */
  readonly coalesce: ((next: () => void) => void) | undefined;
}

/** What waits when a batch is to begin. */
export interface Waiting {
  /** Reserves without an answer. */
  readonly queuedReserves: number;
  readonly batchInFlight: boolean;
  /** Items in the queue. */
  readonly inQueue: number;
}

/** When a batch begins: at once where only one caller is being served, else when no further operation is about to come. */
export class BatchStart {
  readonly #clock: Clock;
  readonly #coalesce: BatchStartOptions["coalesce"];
  /** On the monotonic clock: until then several callers are being served. */
  #gatherUntilMs = 0;

  constructor({ clock, coalesce }: BatchStartOptions) {
    this.#clock = clock;
    this.#coalesce = coalesce;
  }

  /** A reserve was queued, and others wait. */
  reservesOverlap(nowMs: number): void {
    this.#gatherUntilMs = nowMs + gatherAfterOverlapMs;
  }

  /** Calls `begin` once; now, or in a microtask or a later turn of the event loop. */
  schedule(waiting: Waiting, begin: () => void): void {
    if (this.#coalesce === undefined || waiting.batchInFlight) queueMicrotask(begin);
    else if (waiting.queuedReserves === 1 && this.#clock.monotonic() >= this.#gatherUntilMs) begin();
    else this.#afterIdleTurn(waiting, this.#coalesce, begin);
  }

  /** Calls `begin` after a turn of the event loop that took no time and brought no item, or when the batch is full. */
  #afterIdleTurn(waiting: Waiting, coalesce: (next: () => void) => void, begin: () => void): void {
    const untilMs = this.#clock.monotonic() + maxCoalesceMs;
    let seen = -1;
    let lookedMs = 0;
    const look = () => {
      const nowMs = this.#clock.monotonic();
      const count = waiting.inQueue;
      const idle = count === seen && nowMs - lookedMs < idleTurnMs;
      if (idle || count >= maxBatch || nowMs >= untilMs) {
        begin();
        return;
      }
      seen = count;
      lookedMs = nowMs;
      coalesce(look);
    };
    coalesce(look);
  }
}
