import type { z } from "zod";
import { isObject, type Json, type JsonObject, type MessageRole, messageRoles } from "#domain/chat.ts";
import { type CallerError, errorOf } from "#domain/errors.ts";
import { aliases } from "#domain/routing.ts";
import { requirement } from "#http/request/body-problems.ts";
import type { ValueRange } from "./outline.ts";
import { ChatCompletionsBody } from "./schema.ts";

/** Why a chat request is refused: 400 for an unsupported shape, 413 for too many values, 422 for an invalid field. */
export interface Problem extends CallerError {
  readonly kind: "refused";
  /** What stands in `model`. */
  readonly model?: string;
}

export function refused(error: CallerError, param?: string): Problem {
  return { kind: "refused", ...error, param };
}

/** 422: names the field and says what it must be. Never repeats the value, which may be a prompt or a secret. */
export function invalidField(param: string, mustBe: string): Problem {
  return refused(errorOf("invalid_request.field", { param, must_be: mustBe }), param);
}

const { messages: _, ...checkedFields } = ChatCompletionsBody.shape;
const fieldSchemas = new Map<string, z.ZodType>(Object.entries(checkedFields));

/** The first field, in the order of the body, that is not what it must be. `null` counts as absent. */
export function problemOfFields(body: JsonObject): Problem | undefined {
  if (body["model"] == null) return invalidField("model", `is required; it is one of ${aliases.join(", ")}`);
  for (const name in body) {
    const value = body[name];
    const issue = value == null ? undefined : fieldSchemas.get(name)?.safeParse(value).error?.issues[0];
    if (issue === undefined) continue;
    return invalidField([name, ...issue.path.map(partOfPath)].join(""), requirement(issue, value));
  }
  return undefined;
}

function partOfPath(key: PropertyKey): string {
  return typeof key === "number" ? `[${key}]` : `.${String(key)}`;
}

/** A number that cannot be forwarded as it was sent. Its field is named where that is a name of the API. */
export function infiniteNumber(body: JsonObject): Problem {
  const isInfinite = (value: Json | undefined): boolean =>
    typeof value === "number"
      ? !Number.isFinite(value)
      : typeof value === "object" && value !== null && Object.values(value).some(isInfinite);
  const name = Object.keys(checkedFields).find((field) => isInfinite(body[field]));
  return refused(errorOf("invalid_request.number", { param: name ?? "The body" }), name);
}

const knownRoles: ReadonlySet<unknown> = new Set<MessageRole>(messageRoles);

/** The first unsupported shape (400) in any message, else the first thing that is wrong (422). */
export function problemOfMessages(
  messages: Json | undefined,
  ranges: readonly Pick<ValueRange, "cached">[],
): Problem | undefined {
  if (messages == null) return invalidField("messages", "is required");
  if (!Array.isArray(messages)) return invalidField("messages", "must be an array of messages");
  if (messages.length === 0) return invalidField("messages", "must hold at least one message");
  let first: Problem | undefined;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    // An earlier request had it.
    if (ranges[index]?.cached !== undefined) continue;
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
      const param = `messages[${message}].content[${index}]`;
      return refused(errorOf("invalid_request.content", { param }), param);
    }
    if (typeof part[type] !== "string") {
      first ??= invalidField(`messages[${message}].content[${index}].${type}`, "must be a string");
    }
  }
  return first;
}
