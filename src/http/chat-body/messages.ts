import { isObject, type Json, type MessageRole, messageRoles } from "#domain/chat.ts";
import type { ValueRange } from "./outline.ts";
import { invalidField, type Problem, refused } from "./problem.ts";

const knownRoles: ReadonlySet<unknown> = new Set<MessageRole>(messageRoles);

/** The first unsupported shape (400) in any message, else the first thing that is wrong (422). */
export function problemOfMessages(
  messages: Json | undefined,
  ranges: readonly Pick<ValueRange, "known">[],
): Problem | undefined {
  if (messages == null) return invalidField("messages", "is required");
  if (!Array.isArray(messages)) return invalidField("messages", "must be an array of messages");
  if (messages.length === 0) return invalidField("messages", "must hold at least one message");
  let first: Problem | undefined;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    // An earlier request had it.
    if (ranges[index]?.known !== undefined) continue;
    if (!isObject(message)) {
      first ??= invalidField(`messages[${index}]`, "must be an object with a role");
      continue;
    }
    const content = message["content"];
    if (Array.isArray(content)) {
      const problem = problemOfParts(content, index);
      if (problem?.status === 400) return problem;
      first ??= problem;
    } else if (typeof content !== "string" && content != null) {
      first ??= invalidField(`messages[${index}].content`, "must be a string, an array of text parts or null");
    }
    if (!knownRoles.has(message["role"])) {
      first ??= invalidField(`messages[${index}].role`, `must be one of ${messageRoles.join(", ")}`);
    }
  }
  return first;
}

function problemOfParts(parts: readonly Json[], message: number): Problem | undefined {
  let first: Problem | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const type = isObject(part) ? part["type"] : undefined;
    if (!isObject(part) || (type !== "text" && type !== "refusal")) {
      const at = `messages[${message}].content[${index}]`;
      return refused(400, at, `${at} is not a text part: only text content is supported (no images, audio or files).`);
    }
    if (typeof part[type] !== "string") {
      first ??= invalidField(`messages[${message}].content[${index}].${type}`, "must be a string");
    }
  }
  return first;
}
