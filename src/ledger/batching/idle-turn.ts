import type { Clock } from "#platform/time.ts";
import { maxBatch } from "./queue-item.ts";

/** A batch begins no later than this. */
const maxCoalesceMs = 6;
/** A turn that takes longer had work to do, from which more operations may come. */
const idleTurnMs = 0.03;

export interface IdleTurnOptions {
  readonly clock: Clock;
  /** As `BatchedLedgerOptions.coalesce`. */
  readonly coalesce: (next: () => void) => void;
  /** How many items wait for the batch. */
  readonly queued: () => number;
}

/** Calls `begin` after a turn of the event loop that took no time and brought no item, or when the batch is full. */
export function afterIdleTurn({ clock, coalesce, queued }: IdleTurnOptions, begin: () => void): void {
  const untilMs = clock.monotonic() + maxCoalesceMs;
  let seen = -1;
  let lookedMs = 0;
  const look = () => {
    const nowMs = clock.monotonic();
    const count = queued();
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
