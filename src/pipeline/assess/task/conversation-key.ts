import { type ChatMessage, type GatewayFields, isSystemRole } from "#domain/chat.ts";
import { textOf, windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { sharedHash } from "#pipeline/assess/run-signals/hashes.ts";
import { readUserMessage } from "#pipeline/assess/run-signals/message-facts.ts";

/**
 * The name under which a conversation is known from one request to the next: the caller's task id, else a hash of its
 * beginning (system prompt and first ask), which agents resend with every call, within the caller's session.
 */
export function conversationKeyOf(ids: GatewayFields, messages: readonly ChatMessage[]): string {
  const session = ids.sessionId ?? "";
  if (ids.taskId !== undefined) return `${session}\n${ids.taskId}`;
  return `${session}\n\n${hashOfBeginning(messages)}`;
}

function hashOfBeginning(messages: readonly ChatMessage[]): string {
  let beginning = "";
  for (const message of messages) {
    const { role, content } = message;
    if (!isSystemRole(role) && role !== "user") continue;
    const text = textOf(content);
    beginning += `${role} ${text.length}\n${windowOf(text, 240, 80)}\n`;
    // What an agent puts in front of the ask, such as its instructions for the folder, is the same in many conversations.
    if (role === "user" && !readUserMessage(message).facts.isEmpty) break;
  }
  return sharedHash(beginning);
}
