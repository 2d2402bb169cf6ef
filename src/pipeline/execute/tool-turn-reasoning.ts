import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import { memoizeByMessage, wholeMessage } from "#domain/known-message.ts";
import type { Model } from "#domain/model.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { WithEmptyReasoning } from "#upstream/upstream.ts";

/** The rule for a model's messages; undefined where they go out as they were received. */
export function toolTurnRule(
  { toolTurnReasoning: rule }: Model,
  { wantsReasoning }: Configuration,
): "required" | "refused" | undefined {
  if (rule !== "auto") return rule;
  return wantsReasoning === true ? "required" : undefined;
}

/** The messages of a body with the reasoning that the model insists on, or without what it refuses; the same list if none changes. */
export function withToolTurnReasoning(rule: "required" | "refused", { messages, tools }: JsonObject): ChatMessage[] {
  const received = messages as ChatMessage[]; // validated at the edge
  const offersTools = Array.isArray(tools) && tools.length > 0;
  let changed: ChatMessage[] | undefined;
  for (const [index, message] of received.entries()) {
    if (message.role !== "assistant") continue;
    const after = rule === "refused" ? withoutReasoning(message) : withReasoning(message, offersTools);
    if (after === message) continue;
    changed ??= [...received];
    changed[index] = after;
  }
  return changed ?? received;
}

/** What is known of the reasoning in an assistant message. */
const reasoningIn = memoizeByMessage((message) => ({
  calls: Array.isArray(message["tool_calls"]) && message["tool_calls"].length > 0,
  content:
    message["reasoning_content"] === undefined ? "absent" : message["reasoning_content"] === null ? "null" : "text",
  /** Under the names of an aggregator, which translates it for the host. */
  other: message["reasoning"] != null || message["reasoning_details"] != null,
}));

/** Hosts want it in each message of a run with tools, also in those that call none. */
function withReasoning(message: ChatMessage, offersTools: boolean): ChatMessage {
  const { calls, content, other } = reasoningIn(message);
  if (content === "text" || other || !(calls || offersTools)) return message;
  if (content === "null") return { ...wholeMessage(message), reasoning_content: "" };
  // It stands for a message: the few who read the body behind this point serialize it.
  return new WithEmptyReasoning(message) as unknown as ChatMessage;
}

function withoutReasoning(message: ChatMessage): ChatMessage {
  const { content, other } = reasoningIn(message);
  if (content === "absent" && !other) return message;
  const { reasoning: _, reasoning_content: __, reasoning_details: ___, ...rest } = wholeMessage(message);
  return rest as ChatMessage; // the role stays
}
