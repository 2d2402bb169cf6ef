import type { Clock } from "#platform/time.ts";

/** Retries that each request allows: an upstream that fails every call is sent a tenth more, which it can carry. */
const sharePerRequest = 0.1;

/** Requests allow their share of a retry for about this long. */
const recentMs = 10_000;

/** How long unspent retries of the steady purse are kept: a few requests that fail together can all be retried. */
const burstSeconds = 3;

/**
 * How many more calls than requests the upstream is sent, by all requests together. Never waits.
 *
 * Two purses. One holds `upstream.retry_budget_per_second` and fills up within three seconds, so that a gateway with
 * little traffic can retry at all. The other holds a share of each recent request, and shrinks by a factor of e in ten
 * seconds. With everything failing, calls stay within (1 + share) × requests + 3 a second (+ 9), so that a struggling
 * upstream is not pushed over.
 */
export class RetryBudget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #perSecond: () => number;
  #steady = Number.POSITIVE_INFINITY;
  #shared = 0;
  #atMs: number;

  constructor(clock: Pick<Clock, "monotonic">, perSecond: () => number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#atMs = clock.monotonic();
  }

  /** Counts a request that came. */
  countRequest(): void {
    this.#refill();
    this.#shared += sharePerRequest;
  }

  /** Takes a token for one more call after a failed one (a repeat or the next model alike); false when there is none left. */
  take(): boolean {
    this.#refill();
    if (this.#steady >= 1) this.#steady -= 1;
    else if (this.#shared >= 1) this.#shared -= 1;
    else return false;
    return true;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonic();
    const passedMs = nowMs - this.#atMs;
    const perSecond = this.#perSecond();
    // A rate below one a second still has to add up to a whole retry.
    const most = perSecond > 0 ? Math.max(1, perSecond * burstSeconds) : 0;
    this.#steady = Math.min(this.#steady + (passedMs / 1_000) * perSecond, most);
    if (passedMs > 0) this.#shared *= Math.exp(-passedMs / recentMs);
    this.#atMs = nowMs;
  }
}
