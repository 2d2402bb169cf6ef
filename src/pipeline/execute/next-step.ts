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
  /** Longest wait before the first retry, in milliseconds (`upstream.backoff_base_ms`); it doubles with each call. */
  readonly backoffBaseMs: number;
}

/** Calls to one model. What a second call does not mend, a third one hardly does, and the next model may answer sooner. */
const maxAttemptsPerModel = 2;
/** No caller waits longer than this between two calls, unless `upstream.backoff_base_ms` itself says so. */
const maxBackoffMs = 2_000;
/** Whoever asks for a longer pause with Retry-After is left for the next model at once: a caller would notice the wait. */
const maxRetryAfterMs = 5_000;

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
  if (next === "retry" && state.sentToModel < maxAttemptsPerModel) {
    const waitMs = retryDelayMs(failure, state);
    if (waitMs !== undefined) return { kind: "retry", waitMs, budgeted };
  }
  return { kind: "fail_over", budgeted };
}

/** Milliseconds before the same model may be asked again; undefined when that is too long, or longer than the deadline allows. */
function retryDelayMs(failure: UpstreamFailure, state: FailureState): number | undefined {
  const { sent, backoffBaseMs } = state;
  const { retryAfterMs } = failure;
  if (failure.kind === "rate_limited" && retryAfterMs === undefined) return undefined;
  if (retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs) return undefined;
  // Full jitter, anywhere between nothing and the longest wait, so that callers that failed together do not come back together.
  const longestMs = Math.min(Math.max(maxBackoffMs, backoffBaseMs), backoffBaseMs * 2 ** (sent - 1));
  const waitMs = retryAfterMs ?? Math.floor(state.jitter * longestMs);
  return waitMs < state.remainingMs ? waitMs : undefined;
}
