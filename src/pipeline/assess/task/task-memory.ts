import type { ModelKey, Role } from "#domain/model.ts";
import type { FailureClass } from "#domain/routing.ts";
import { LruMap } from "#platform/lru-map.ts";

/** What is remembered of a task (`X-Task-Id`) from one request to the next. Counts and hashes, never text. */
export interface RememberedTask {
  readonly attempts: number;
  readonly flashAttempts: number;
  /** As last reported by the caller. */
  readonly sameErrorCount: number;
  readonly failureClass: FailureClass;
  readonly errorSignature: string | null;
  readonly testsFailed: number;
  readonly filesTouched: number;
  /** Which failure was counted last, so that one failure is one attempt however many turns repeat it. */
  readonly countedFailure: string | null;
  readonly lastModel: ModelKey | null;
  readonly lastRole: Role | null;
}

export const newTask: RememberedTask = {
  attempts: 0,
  flashAttempts: 0,
  sameErrorCount: 0,
  failureClass: "NONE",
  errorSignature: null,
  testsFailed: 0,
  filesTouched: 0,
  countedFailure: null,
  lastModel: null,
  lastRole: null,
};

/** Runtime state per task, kept between requests. Loses tasks it has no room or no time for: then a task starts anew. */
export interface TaskMemory {
  recall(key: string, nowMs: number): RememberedTask | undefined;
  remember(key: string, task: RememberedTask, nowMs: number): void;
  /** Tells which model has answered a task, so that a failure reported later is counted against its tier. */
  served(key: string, model: { readonly key: ModelKey; readonly role: Role }, nowMs: number): void;
}

/** A task's name in the memory; ids hold no control characters, so the two parts cannot run into each other. */
export function taskKeyOf(ids: { readonly sessionId?: string; readonly taskId?: string }): string | undefined {
  return ids.taskId === undefined ? undefined : `${ids.sessionId ?? ""}\n${ids.taskId}`;
}

/** Limits as the policy has them now: how many tasks, and how many milliseconds after its last request. */
export interface TaskLimits {
  readonly remembered: number;
  readonly remembered_ms: number;
}

/** Keeps tasks in this process. The least recently used one is evicted first; `limits` is read anew, as policies are reloaded. */
export function inMemoryTaskMemory(limits: () => TaskLimits): TaskMemory {
  const tasks = new LruMap<string, { readonly task: RememberedTask; readonly lastRequestMs: number }>();

  function recall(key: string, nowMs: number): RememberedTask | undefined {
    const kept = tasks.get(key);
    return kept !== undefined && nowMs - kept.lastRequestMs <= limits().remembered_ms ? kept.task : undefined;
  }

  function remember(key: string, task: RememberedTask, nowMs: number): void {
    tasks.set(key, { task, lastRequestMs: nowMs });
    tasks.trim(limits().remembered);
  }

  return {
    recall,
    remember,
    served(key, model, nowMs) {
      const task = recall(key, nowMs) ?? newTask;
      remember(key, { ...task, lastModel: model.key, lastRole: model.role }, nowMs);
    },
  };
}
