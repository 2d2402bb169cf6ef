import { z } from "zod";
import { roles } from "#domain/model.ts";
import { FailureClass } from "#domain/routing.ts";
import type {
  ConversationLimits,
  ConversationMemory,
  RememberedConversation,
} from "#pipeline/assess/task/conversation-memory.ts";
import { inMemoryConversationMemory } from "#pipeline/assess/task/conversation-memory.ts";
import {
  inMemoryTaskMemory,
  newTask,
  type RememberedTask,
  type TaskLimits,
  type TaskMemory,
} from "#pipeline/assess/task/task-memory.ts";
import type { SharedMemory } from "./shared-memory.ts";

const modelKey = z.string().min(1).max(256);
const count = z.int().min(0);
const hash = z.string().max(256).nullable();
const KeptConversation = z.strictObject({ model: modelKey });
const KeptTask = z.strictObject({
  attempts: count,
  flashAttempts: count,
  sameErrorCount: count,
  failureClass: FailureClass,
  errorSignature: hash,
  testsFailed: count,
  filesTouched: count,
  countedFailure: hash,
  lastModel: modelKey.nullable(),
  lastRole: z.enum(roles).nullable(),
});

/** Conversations in this process and, behind it, in the store. */
export function sharedConversationMemory(
  memory: SharedMemory,
  clock: { now(): number },
  limits: () => ConversationLimits,
): ConversationMemory {
  const own = inMemoryConversationMemory(limits);
  /** When a model was taken over from the store for a request that had found none: what that request chose does not replace it. */
  const takenMs = new Map<string, number>();
  // Other nodes compare when a conversation was last used; a later process only has to find it in time.
  const saveAfterMs = () => (memory.shared ? 0 : limits().remembered_ms / 8);
  const keys = memory.attach({
    kind: "conversation",
    limits,
    read(key) {
      const known = own.recall(key, clock.now());
      return known && { value: JSON.stringify({ model: known.model }), lastSeenMs: known.atMs };
    },
    take(key, { value, lastSeenMs }, missed) {
      const kept = parsed(KeptConversation, value);
      const known = own.recall(key, clock.now());
      // Routed while nothing was known of it: the model that has the context cached is the one that others chose.
      if (kept !== undefined && (known === undefined || missed || known.atMs < lastSeenMs)) {
        own.remember(key, { model: kept.model, atMs: Math.max(lastSeenMs, known?.atMs ?? 0) }, lastSeenMs);
        if (!missed) return;
        if (takenMs.size >= maxTaken) takenMs.clear();
        takenMs.set(key, clock.now());
      }
    },
  });
  return {
    recall(key, nowMs): RememberedConversation | undefined {
      const known = own.recall(key, nowMs);
      keys.recalled(key, known !== undefined, nowMs);
      return known;
    },
    remember(key, conversation, receivedMs) {
      const taken = takenMs.get(key);
      if (taken !== undefined) {
        if (receivedMs <= taken) return;
        takenMs.delete(key);
      }
      const before: SavedConversation | undefined = own.recall(key, receivedMs);
      const { model, atMs } = conversation;
      const isSaved = before?.model === model && atMs - (before.savedMs ?? 0) < saveAfterMs();
      const saved: SavedConversation = { model, atMs, savedMs: isSaved ? before.savedMs : atMs };
      own.remember(key, saved, receivedMs);
      if (!isSaved) keys.changed(key);
    },
  };
}

interface SavedConversation extends RememberedConversation {
  /** When it was last handed over to be saved, in milliseconds since the epoch. */
  readonly savedMs?: number | undefined;
}

/** Conversations whose first request after the take-over has not been answered yet; losing one costs it a switch. */
const maxTaken = 5_000;

/** Tasks in this process and, behind it, in the store. */
export function sharedTaskMemory(memory: SharedMemory, clock: { now(): number }, limits: () => TaskLimits): TaskMemory {
  const own = inMemoryTaskMemory(limits);
  const keys = memory.attach({
    kind: "task",
    limits,
    read(key) {
      const nowMs = clock.now();
      const known = own.recall(key, nowMs);
      return known && { value: JSON.stringify(known), lastSeenMs: nowMs };
    },
    take(key, { value, lastSeenMs }) {
      const kept = parsed(KeptTask, value);
      if (kept === undefined) return;
      const known = own.recall(key, clock.now());
      own.remember(
        key,
        known === undefined ? kept : joined(known, kept),
        known === undefined ? lastSeenMs : clock.now(),
      );
    },
  });
  return {
    recall(key, nowMs) {
      const known = own.recall(key, nowMs);
      keys.recalled(key, known !== undefined, nowMs);
      return known;
    },
    remember(key, task, nowMs) {
      own.remember(key, task, nowMs);
      keys.changed(key);
    },
    served(key, model, nowMs) {
      own.served(key, model, nowMs);
      keys.changed(key);
    },
  };
}

/**
 * What two processes have counted of one task. Counts only grow, so the larger one has seen more; for the rest the
 * process's own word is the newer one, where it has one.
 */
function joined(own: RememberedTask, kept: RememberedTask): RememberedTask {
  const ahead = kept.attempts > own.attempts ? kept : own;
  const largest = (name: "attempts" | "flashAttempts" | "filesTouched" | "sameErrorCount") =>
    Math.max(own[name], kept[name]);
  return {
    attempts: largest("attempts"),
    flashAttempts: largest("flashAttempts"),
    filesTouched: largest("filesTouched"),
    sameErrorCount: largest("sameErrorCount"),
    testsFailed: ahead.testsFailed,
    failureClass: own.failureClass === newTask.failureClass ? kept.failureClass : own.failureClass,
    errorSignature: own.errorSignature ?? kept.errorSignature,
    countedFailure: ahead.countedFailure,
    lastModel: own.lastModel ?? kept.lastModel,
    lastRole: own.lastRole ?? kept.lastRole,
  };
}

/** The value of a row; undefined when another release, or a hand, has written it. */
function parsed<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
