import type { JsonObject } from "#domain/chat.ts";
import type { TextRestorer } from "./shape-stream.ts";

/**
 * A whole answer as the caller gets it: the upstream's object under the real upstream model id; where a message has
 * reasoning and no content (null or absent), the reasoning becomes the content. Changes the object it is given.
 */
export function finishAnswer(answer: JsonObject, model: string, restorer?: () => TextRestorer): JsonObject {
  answer.model = model;
  if (answer.object !== "chat.completion") answer.object = "chat.completion";
  for (const message of messagesOf(answer)) {
    if (message.content == null) {
      const reasoning = typeof message.reasoning === "string" ? message.reasoning : message.reasoning_content;
      if (typeof reasoning === "string" && reasoning !== "") message.content = reasoning;
    }
    if (restorer !== undefined && typeof message.content === "string") {
      const restore = restorer();
      message.content = restore.push(message.content) + restore.flush();
    }
  }
  return answer;
}

/** An answer that says nothing and calls nothing, although it claims to have stopped of its own accord. */
export function isEmptyAnswer(answer: JsonObject): boolean {
  return messagesOf(answer).every((message) => {
    const calls = message.tool_calls;
    return (
      !message.content &&
      !message.reasoning &&
      !message.reasoning_content &&
      !message.refusal &&
      !message.function_call &&
      !(Array.isArray(calls) && calls.length > 0)
    );
  });
}

function messagesOf(answer: JsonObject): JsonObject[] {
  const choices = Array.isArray(answer.choices) ? answer.choices : [];
  return choices.flatMap((choice) => {
    const message =
      typeof choice === "object" && choice !== null && !Array.isArray(choice) ? choice.message : undefined;
    return typeof message === "object" && message !== null && !Array.isArray(message) ? [message] : [];
  });
}
