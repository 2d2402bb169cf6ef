import { inMemoryTaskMemory, newTask, type RememberedTask, type TaskMemory } from "#pipeline/task/task-memory.ts";
import { LruMap } from "#platform/lru-map.ts";
import type { StoredRecords } from "./stored-records.ts";

interface StoredTaskMemoryOptions {
  readonly records: Pick<StoredRecords, "task" | "saveTask" | "writeLater">;
  /** Whether other processes write states too: then what this process knows is looked up again now and then. */
  readonly shared: boolean;
}

/** A task that another process may have changed is looked up again after this long. */
const freshMs = 3_000;
const maxLookedUp = 5_000;

/**
 * Tasks in this process, and those in trouble in the store, for other nodes and later processes. No request waits for
 * the store: the first one of a task that this process does not know is routed without what the store has.
 */
export function storedTaskMemory({ records, shared }: StoredTaskMemoryOptions): TaskMemory {
  const own = inMemoryTaskMemory();
  /** When a task was last looked up, in milliseconds since the epoch. */
  const lookedUp = new LruMap<string, number>(maxLookedUp);

  async function lookUp(key: string, nowMs: number): Promise<void> {
    const stored = parsed(await records.task(key).catch(() => undefined));
    if (stored === undefined) return;
    // Counts only grow: the one that has counted more has seen more.
    if (stored.attempts > (own.recall(key, nowMs)?.attempts ?? -1)) own.remember(key, stored, nowMs);
  }

  return {
    recall(key, nowMs) {
      const known = own.recall(key, nowMs);
      const lastMs = lookedUp.get(key) ?? Number.NEGATIVE_INFINITY;
      if ((known === undefined || shared) && nowMs - lastMs >= freshMs) {
        lookedUp.set(key, nowMs);
        void lookUp(key, nowMs);
      }
      return known;
    },
    remember(key, task, nowMs) {
      const before = own.recall(key, nowMs) ?? newTask;
      own.remember(key, task, nowMs);
      if (troubleOf(before) === troubleOf(task)) return;
      records.writeLater(`task ${key}`, () => records.saveTask(key, JSON.stringify(task), nowMs));
    },
    served: own.served,
  };
}

/** A text that changes when the task gets into trouble, or out of it. */
function troubleOf({ attempts, flashAttempts, sameErrorCount, failureClass, countedFailure }: RememberedTask): string {
  return `${attempts} ${flashAttempts} ${sameErrorCount} ${failureClass} ${countedFailure}`;
}

/** What a release with other fields, or somebody by hand, has written starts anew. */
function parsed(text: string | undefined): RememberedTask | undefined {
  try {
    const task = JSON.parse(text ?? "null");
    return Object.keys(newTask).every((field) => task[field] !== undefined) ? task : undefined;
  } catch {
    return undefined;
  }
}
