import type { ReservationId } from "#ledger/ledger.ts";
import { RecentMap } from "#ledger/recent-map.ts";
import type { Clock } from "#platform/time.ts";

const maxAcknowledged = 25_000;
const initialTypicalMs = 5_000;

/** How long holds last on this node: measured from their acknowledgement to their resolution. */
export class HoldDurations {
  readonly #clock: Clock;
  /** The latest reservations that were answered `held`, and when. */
  readonly #acknowledged = new RecentMap<ReservationId, number>(maxAcknowledged);
  #typicalMs = initialTypicalMs;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  acknowledge(id: ReservationId): void {
    if (!this.#acknowledged.has(id)) this.#acknowledged.set(id, this.#clock.monotonic());
  }

  /** Whether the reservation was answered `held` before, so that its hold is in use. */
  wasAcknowledged(id: ReservationId): boolean {
    return this.#acknowledged.has(id);
  }

  resolved(id: ReservationId): void {
    const sinceMs = this.#acknowledged.get(id);
    if (sinceMs === undefined) return;
    this.#typicalMs += (this.#clock.monotonic() - sinceMs - this.#typicalMs) / 16;
  }

  /** About as long as a hold lasts, in milliseconds: by then some running calls have given back what they did not use. */
  retryAfterMs(): number {
    return Math.round(Math.min(60_000, Math.max(1_000, this.#typicalMs)));
  }
}
