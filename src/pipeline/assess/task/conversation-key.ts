import { type ChatMessage, type GatewayFields, isSystemRole } from "#domain/chat.ts";
import { isAskTag } from "#pipeline/assess/envelope/blocks.ts";
import { textOf, windowOf } from "#pipeline/assess/envelope/text-window.ts";

/**
 * The name under which a conversation is known from one request to the next: the caller's task id, else a hash of its
 * beginning (system prompt and first ask), which agents resend with every call, within the caller's session.
 */
export function conversationKeyOf(ids: GatewayFields, messages: readonly ChatMessage[]): string {
  const session = ids.sessionId ?? "";
  if (ids.taskId !== undefined) return `${session}\n${ids.taskId}`;
  return `${session}\n\n${hashOfBeginning(messages)}`;
}

const nothingSaid: ChatMessage = { role: "assistant" };

function hashOfBeginning(messages: readonly ChatMessage[]): string {
  let beginning = "";
  // By index: the iterator of entries makes an array for each.
  for (let index = 0; index < messages.length; index++) {
    const { role, content } = messages[index] ?? nothingSaid;
    if (!isSystemRole(role) && role !== "user") continue;
    const text = textOf(content);
    beginning += `${role} ${text.length}\n${windowOf(text, 240, 80)}\n`;
    // What an agent puts in front of the ask, such as its instructions for the folder, is the same in many conversations.
    if (role !== "user" || standsBeforeAsk(text)) continue;
    break;
  }
  // Nodes share these names: the algorithm is a published one, not the runtime's own choice.
  return Bun.hash.xxHash3(beginning).toString(16);
}

/** Whether a user message holds nothing but what the agent adds: one block in tags that is no ask, or a text that only prepares. */
function standsBeforeAsk(text: string): boolean {
  const head = text.slice(0, 400).trimStart();
  if (head.startsWith("# ")) return preparing.test(head);
  if (!head.startsWith("<")) return head.includes("setting up the context");
  const name = openTag.exec(head)?.[1];
  return name !== undefined && !isAskTag(name) && text.slice(-80).trimEnd().endsWith(`</${name}>`);
}

const openTag = /^<([A-Za-z][\w-]{1,40})[\s>]/;
const preparing = /^# \S{1,40}\.md instructions\b/;
