import type { LedgerContext } from "./store.ts";

const firstBackoffMs = 20;
const maxBackoffMs = 500;
/** A store that fails for no longer than this is busy, not unavailable. */
const unavailableAfterMs = 250;

/** Whether the store answers: `failing` since its first failure in a row, `unavailable` after 250 ms of them. */
export class StoreAvailability {
  readonly #context: Pick<LedgerContext, "clock" | "random" | "log">;
  #state: "available" | "failing" | "unavailable" = "available";
  #failingSinceMs = 0;
  /** Whether the log names what the store itself says, and not only that it takes too long. */
  #isCauseLogged = false;
  #backoffMs = firstBackoffMs;

  constructor(context: Pick<LedgerContext, "clock" | "random" | "log">) {
    this.#context = context;
  }

  get unavailable(): boolean {
    return this.#state === "unavailable";
  }

  /** The store has answered with a failure. Logged also if the store was found unavailable before, without a cause. */
  failed(message: string): void {
    const wasUnavailable = this.#state === "unavailable";
    if (!this.#isUnavailable(this.#context.clock.monotonic()) || (wasUnavailable && this.#isCauseLogged)) return;
    this.#isCauseLogged = true;
    this.#context.log({ kind: "store_unavailable", message });
  }

  /** The store has not answered a call since `sinceMs`, on the monotonic clock. */
  timedOut(sinceMs: number): void {
    if (this.#state === "unavailable" || !this.#isUnavailable(sinceMs)) return;
    this.#isCauseLogged = false;
    this.#context.log({ kind: "store_unavailable", message: "the budget store does not answer" });
  }

  /** Whether the store has been failing for too long now, where it has failed since `sinceMs` or longer. */
  #isUnavailable(sinceMs: number): boolean {
    if (this.#state === "available") {
      this.#state = "failing";
      this.#failingSinceMs = sinceMs;
    }
    if (this.#context.clock.monotonic() - this.#failingSinceMs >= unavailableAfterMs) this.#state = "unavailable";
    return this.unavailable;
  }

  succeeded(): void {
    this.#backoffMs = firstBackoffMs;
    if (this.#state === "unavailable") {
      this.#context.log({
        kind: "store_available",
        unavailableMs: this.#context.clock.monotonic() - this.#failingSinceMs,
      });
    }
    this.#state = "available";
  }

  /** Milliseconds to wait before the next try; doubles with each call until the store answers. */
  nextBackoffMs(): number {
    const delayMs = this.#backoffMs * (0.5 + 0.5 * this.#context.random());
    this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2);
    return delayMs;
  }
}
