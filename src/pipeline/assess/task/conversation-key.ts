import type { ChatMessage, GatewayFields } from "#domain/chat.ts";
import { textOf, windowOf } from "#pipeline/assess/envelope/text-window.ts";

/**
 * The name under which a conversation is known from one request to the next: the caller's task id, else a hash of its
 * beginning (system prompt and first user message), which agents resend with every call, within the caller's session.
 */
export function conversationKeyOf(ids: GatewayFields, messages: readonly ChatMessage[]): string {
  const session = ids.sessionId ?? "";
  if (ids.taskId !== undefined) return `${session}\n${ids.taskId}`;
  let beginning = "";
  for (const { role, content } of messages) {
    if (role !== "system" && role !== "developer" && role !== "user") continue;
    const text = textOf(content);
    beginning += `${role} ${text.length}\n${windowOf(text, 240, 80)}\n`;
    if (role === "user") break;
  }
  // Nodes share these names: the algorithm is a published one, not the runtime's own choice.
  return `${session}\n\n${Bun.hash.xxHash3(beginning).toString(16)}`;
}
