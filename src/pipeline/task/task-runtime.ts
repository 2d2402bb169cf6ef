import type { GatewayFields } from "#domain/chat.ts";
import type { RuntimeState } from "#domain/routing.ts";
import { hashOf } from "#pipeline/assess/run/hashes.ts";
import { newTask, type RememberedTask } from "./task-memory.ts";

/** What a conversation shows of a run that is in trouble. */
export interface RunTrouble {
  /** Calls since the last progress: those that failed, repeated an earlier call, or could not be read. */
  readonly toolDepth: number;
  /** As the newest count in a check's output says; 0 when there is none. */
  readonly testsFailed: number;
  /** Hash of the error that stands unsolved; null when there is none. */
  readonly errorSignature: string | null;
  /** Failed repairs of one error: how often it came back after something had been changed. */
  readonly sameErrorCount: number;
}

/** What is known of the task when a request comes in. */
export interface Progress {
  readonly reported: Pick<GatewayFields, "failureClass" | "sameErrorCount">;
  readonly run: RunTrouble;
  /** Whether the request is a turn of an agent's run, and not a new ask. */
  readonly inRun: boolean;
  readonly ask: string;
  readonly before: RememberedTask | undefined;
}

/**
 * The runtime state, and what to remember of it. A request is an attempt only when it reports a new failure: the
 * caller reports one, or its run shows failed repairs. The turns of one run repeat their history, so a failure
 * is counted once, however many turns show it.
 */
export function runtimeOf(progress: Progress): { readonly runtime: RuntimeState; readonly after: RememberedTask } {
  const { reported, run, inRun } = progress;
  const before = progress.before ?? newTask;
  const sameErrorReported = reported.sameErrorCount ?? before.sameErrorCount;
  const failure = failureSeen(progress);
  // A fresh ask that reports a failure reports a new one; within a run only another failure is new.
  const isNews = failure !== undefined && (failure !== before.countedFailure || (!inRun && isReported(reported)));
  const attempts = before.attempts + (isNews ? 1 : 0);
  const flashAttempts = before.flashAttempts + (isNews && before.lastRole === "worker" ? 1 : 0);

  const after: RememberedTask = {
    attempts,
    flashAttempts,
    sameErrorCount: sameErrorReported,
    failureClass: reported.failureClass ?? before.failureClass,
    errorSignature: run.errorSignature ?? before.errorSignature,
    testsFailed: inRun ? run.testsFailed : before.testsFailed,
    countedFailure: isNews ? failure : before.countedFailure,
    lastModel: before.lastModel,
    lastRole: before.lastRole,
  };
  return {
    runtime: {
      attempts,
      flash_attempts: flashAttempts,
      same_error_count: reported.sameErrorCount ?? Math.max(before.sameErrorCount, run.sameErrorCount),
      error_signature: after.errorSignature,
      tests_failed: after.testsFailed,
      // How many files a run touches says how long it is, not that it goes wrong.
      files_touched: 0,
      tool_depth: run.toolDepth,
      failure_class: after.failureClass,
      last_model: before.lastModel,
    },
    after,
  };
}

/** Whether the caller says that something has failed. */
export function isReported({ failureClass, sameErrorCount }: Progress["reported"]): boolean {
  return (failureClass !== undefined && failureClass !== "NONE") || (sameErrorCount ?? 0) > 0;
}

/**
 * A name for the failure a request shows; undefined when it shows none. Names are stored: of the ask they have eight
 * bits of a hash, which tell it from the ask before and confirm no guess of its text.
 */
function failureSeen({ reported, run, ask }: Progress): string | undefined {
  if (isReported(reported)) {
    const { failureClass, sameErrorCount } = reported;
    return `${failureClass ?? ""} ${sameErrorCount ?? ""} ${hashOf(`${ask.length} ${ask.slice(0, 500)}`).slice(-2)}`;
  }
  // One failing command is an agent at work; the same error a second time is a failed attempt.
  return run.sameErrorCount >= 2 && run.errorSignature !== null ? run.errorSignature : undefined;
}
