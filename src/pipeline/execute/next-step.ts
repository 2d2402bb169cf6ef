import type { Policy } from "#config/policy.ts";
import { type Consequence, consequences } from "#pipeline/settle/consequences.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

/** How far an execution has come when an attempt has failed. */
export interface FailureState {
  /** Calls sent so far, the failed one included. */
  readonly sent: number;
  readonly maxAttempts: number;
  /** Calls of these that went to the failed model since it was selected; one lost to a stale connection does not count. */
  readonly sentToModel: number;
  /** Whether the one repeat after a stale connection is used up. */
  readonly staleRepeated: boolean;
  /** Milliseconds until the request's deadline. */
  readonly remainingMs: number;
  /** A random number from 0 up to 1, for the backoff. */
  readonly jitter: number;
  readonly rules: Pick<
    Policy["upstream"],
    "max_attempts_per_model" | "backoff_base_ms" | "backoff_max_ms" | "retry_after_max_ms"
  >;
}

export type NextStep =
  | { readonly kind: "give_up" }
  /** The same model at once, on a new connection. */
  | { readonly kind: "repeat_fresh" }
  /** The same model after `waitMs` milliseconds. `budgeted`: only if the retry budget allows one more call. */
  | { readonly kind: "retry"; readonly waitMs: number; readonly budgeted: boolean }
  /** The next model of the plan. */
  | { readonly kind: "fail_over"; readonly budgeted: boolean };

/** What to do after a failed attempt. Pure: time, chance and the retry budget are the caller's. */
export function nextStep(failure: UpstreamFailure, state: FailureState): NextStep {
  const next: Consequence["next"] = consequences[failure.kind].next;
  if (next === "give_up" || state.sent >= state.maxAttempts) return { kind: "give_up" };
  // A kept-alive connection that the upstream had closed says nothing about the model.
  if (failure.staleSocket === true && !state.staleRepeated) return { kind: "repeat_fresh" };
  // The aggregator rejects such a call before it does any work: another call adds no load.
  const budgeted = failure.kind !== "constraint_filtered" && failure.kind !== "context_length_exceeded";
  if (next === "retry" && state.sentToModel < state.rules.max_attempts_per_model) {
    const waitMs = retryDelayMs(failure, state);
    if (waitMs !== undefined) return { kind: "retry", waitMs, budgeted };
  }
  return { kind: "fail_over", budgeted };
}

/** Milliseconds before the same model may be asked again; undefined when that is longer than the policy or the deadline allows. */
function retryDelayMs(failure: UpstreamFailure, state: FailureState): number | undefined {
  const { rules } = state;
  const { retryAfterMs } = failure;
  if (failure.kind === "rate_limited" && retryAfterMs === undefined) return undefined;
  if (retryAfterMs !== undefined && retryAfterMs > rules.retry_after_max_ms) return undefined;
  // Full jitter, anywhere between nothing and the longest wait, so that callers that failed together do not come back together.
  const longestMs = Math.min(rules.backoff_max_ms, rules.backoff_base_ms * 2 ** (state.sent - 1));
  const waitMs = retryAfterMs ?? Math.floor(state.jitter * longestMs);
  return waitMs < state.remainingMs ? waitMs : undefined;
}
