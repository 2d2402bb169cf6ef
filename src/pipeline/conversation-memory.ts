import type { ModelKey } from "#domain/model.ts";
import { LruMap } from "#platform/lru-map.ts";

/** Which model a conversation was last routed to: the one that has its context in the prompt cache. */
export interface RememberedConversation {
  readonly model: ModelKey;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** What is known of conversations from one request to the next. Lost without harm: then the next ask is routed anew. */
export interface ConversationMemory {
  recall(key: string, nowMs: number): RememberedConversation | undefined;
  /** `receivedMs`: when the request came in that was routed there, in milliseconds since the epoch. */
  remember(key: string, conversation: RememberedConversation, receivedMs: number): void;
}

/** How many conversations, and for how many milliseconds after their last answer. */
export interface ConversationLimits {
  readonly remembered: number;
  readonly remembered_ms: number;
}

/** Keeps conversations in this process; the one longest without an answer goes first. */
export function inMemoryConversationMemory(limits: () => ConversationLimits): ConversationMemory {
  const conversations = new LruMap<string, RememberedConversation>();
  return {
    recall(key, nowMs) {
      const known = conversations.get(key);
      if (known === undefined || nowMs - known.atMs <= limits().remembered_ms) return known;
      conversations.delete(key);
      return undefined;
    },
    remember(key, conversation) {
      conversations.set(key, conversation);
      conversations.trim(limits().remembered);
    },
  };
}
