import type { Clock, Random } from "#platform/time.ts";
import type { LedgerEvent } from "./ledger-event.ts";

const firstBackoffMs = 20;
const maxBackoffMs = 500;
/** A store that fails for no longer than this is busy, not unavailable. */
const unavailableAfterMs = 250;

/** Whether the store answers: `failing` since its first failure in a row, `unavailable` after 250 ms of them. */
export class StoreAvailability {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: (event: LedgerEvent) => void;
  #state: "available" | "failing" | "unavailable" = "available";
  #failingSinceMs = 0;
  #backoffMs = firstBackoffMs;

  constructor(clock: Clock, random: Random, log: (event: LedgerEvent) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
  }

  get unavailable(): boolean {
    return this.#state === "unavailable";
  }

  /** `sinceMs`: when the call began that has failed, on the monotonic clock; now when absent. */
  failed(message: string, sinceMs?: number): void {
    const nowMs = this.#clock.monotonic();
    if (this.#state === "available") {
      this.#state = "failing";
      this.#failingSinceMs = sinceMs ?? nowMs;
    }
    if (this.#state === "unavailable" || nowMs - this.#failingSinceMs < unavailableAfterMs) return;
    this.#state = "unavailable";
    this.#log({ kind: "store_unavailable", message });
  }

  succeeded(): void {
    this.#backoffMs = firstBackoffMs;
    if (this.#state === "unavailable") {
      this.#log({ kind: "store_available", unavailableMs: this.#clock.monotonic() - this.#failingSinceMs });
    }
    this.#state = "available";
  }

  /** Milliseconds to wait before the next try; doubles with each call until the store answers. */
  nextBackoffMs(): number {
    const delayMs = this.#backoffMs * (0.5 + 0.5 * this.#random());
    this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2);
    return delayMs;
  }
}
