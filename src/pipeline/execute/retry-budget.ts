import type { Clock } from "#platform/time.ts";

/** How many more calls than requests the upstream is sent, by all requests together. Never waits. */
export interface RetryBudget {
  /** Counts a request that came; each allows a share of a retry for the next seconds. */
  countRequest(): void;
  /** Takes leave for one more call after a failed one (a repeat or the next model alike); false when there is none. */
  take(): boolean;
}

export interface RetryBudgetRules {
  readonly retry_budget_share: number;
  readonly retry_budget_per_second: number;
}

/** What counts as recent: requests older than this allow no retries any more. */
const recentSeconds = 10;

/** How long unspent retries of the steady purse are kept: a few requests that fail together can all be retried. */
const burstSeconds = 3;

interface Second {
  second: number;
  requests: number;
  /** Retries that drew on the share of recent requests. */
  shared: number;
}

/**
 * Two purses. One holds `retry_budget_per_second` and fills up within three seconds, so that a gateway with little traffic can
 * retry at all. The other holds a share of the requests of the last ten seconds. With everything
 * failing, calls stay within (1 + share) × requests + 3 a second (+ 9), so that a struggling upstream is not pushed over.
 */
export function retryBudget(clock: Pick<Clock, "monotonic">, rules: () => RetryBudgetRules): RetryBudget {
  const seconds: Second[] = Array.from({ length: recentSeconds }, () => ({ second: -1, requests: 0, shared: 0 }));
  let steady = Number.POSITIVE_INFINITY;
  let filledAtMs = clock.monotonic();

  function current(): Second {
    const second = Math.max(0, Math.floor(clock.monotonic() / 1_000));
    const slot = seconds[second % recentSeconds] as Second; // the remainder is always an index
    if (slot.second !== second) Object.assign(slot, { second, requests: 0, shared: 0 });
    return slot;
  }

  function takeSteady(perSecond: number): boolean {
    const nowMs = clock.monotonic();
    const refill = (Math.max(0, nowMs - filledAtMs) / 1_000) * perSecond;
    // A rate below one a second still has to add up to a whole retry.
    steady = Math.min(steady + refill, perSecond > 0 ? Math.max(1, perSecond * burstSeconds) : 0);
    filledAtMs = nowMs;
    if (steady < 1) return false;
    steady -= 1;
    return true;
  }

  return {
    countRequest() {
      current().requests += 1;
    },
    take() {
      const { retry_budget_share, retry_budget_per_second } = rules();
      if (takeSteady(retry_budget_per_second)) return true;
      const now = current();
      let requests = 0;
      let shared = 0;
      for (const slot of seconds) {
        if (slot.second <= now.second - recentSeconds) continue;
        requests += slot.requests;
        shared += slot.shared;
      }
      if (shared + 1 > retry_budget_share * requests) return false;
      now.shared += 1;
      return true;
    },
  };
}
