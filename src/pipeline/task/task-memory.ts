import type { ModelKey, Role } from "#domain/model.ts";
import type { FailureClass } from "#domain/routing.ts";
import { limitedMemory, type Memory, type MemoryLimits } from "#platform/lru-map.ts";

/** What is remembered of a task (`X-Task-Id`) from one request to the next. Counts and hashes, never text. */
export interface RememberedTask {
  readonly attempts: number;
  readonly flashAttempts: number;
  /** As last reported by the caller. */
  readonly sameErrorCount: number;
  readonly failureClass: FailureClass;
  readonly errorSignature: string | null;
  readonly testsFailed: number;
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
  countedFailure: null,
  lastModel: null,
  lastRole: null,
};

/** Runtime state per task, kept between requests: a task that is lost starts anew. */
export interface TaskMemory extends Memory<RememberedTask> {
  /** Tells which model has answered a task, so that a failure reported later is counted against its tier. */
  served(key: string, model: { readonly key: ModelKey; readonly role: Role }, nowMs: number): void;
}

/** A task's name in the memory; ids hold no control characters, so the two parts cannot run into each other. */
export function taskKeyOf(ids: { readonly sessionId?: string; readonly taskId?: string }): string | undefined {
  return ids.taskId === undefined ? undefined : `${ids.sessionId ?? ""}\n${ids.taskId}`;
}

/** A task takes about 300 bytes. One that nobody has gone on with for a day is over. */
export const taskLimits: MemoryLimits = { remembered: 10_000, remembered_ms: 86_400_000 };

export function inMemoryTaskMemory(limits = taskLimits): TaskMemory {
  const tasks = limitedMemory<RememberedTask>(limits);
  return {
    ...tasks,
    served(key, model, nowMs) {
      const task = tasks.recall(key, nowMs) ?? newTask;
      tasks.remember(key, { ...task, lastModel: model.key, lastRole: model.role }, nowMs);
    },
  };
}
