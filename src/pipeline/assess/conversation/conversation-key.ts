import { type ChatMessage, type GatewayFields, isSystemRole } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/message-memo.ts";
import { hashOf } from "#pipeline/assess/run/hashes.ts";
import { textOf, windowOf } from "./text.ts";
import { readUserMessage } from "./user-message.ts";

/**
 * The name under which a conversation is known from one request to the next: the caller's task id, else a hash of its
 * beginning (system prompt and first ask), which agents resend with every call, within the caller's session.
 */
export function conversationKeyOf(ids: GatewayFields, messages: readonly ChatMessage[]): string {
  const session = ids.sessionId ?? "";
  if (ids.taskId !== undefined) return `${session}\n${ids.taskId}`;
  let prefix = "";
  for (const message of messages) {
    const isUser = message.role === "user";
    if (!isUser && !isSystemRole(message.role)) continue;
    prefix += hashOfMessage(message);
    // What an agent puts in front of the ask (its instructions for the folder) is the same in many conversations.
    if (isUser && !readUserMessage(message).facts.isEmpty) break;
  }
  return `${session}\n\n${hashOf(prefix)}`;
}

const hashOfMessage = memoizeByMessage(({ role, content }) => {
  const text = textOf(content);
  return hashOf(`${role} ${text.length}\n${windowOf(text, 240, 80)}`);
});
