import { isObject, type Json, type JsonObject, type MessageRole, messageRoles } from "#domain/chat.ts";
import { aliases } from "#domain/routing.ts";
import { requirement } from "#http/request/body-problems.ts";
import type { ValueRange } from "./outline.ts";
import { Metadata, maxChoices, maxOutputTokens } from "./schema.ts";

/** Why a chat request is refused: 400 for an unsupported shape, 413 for too many values, 422 for an invalid field. */
export interface Problem {
  readonly kind: "refused";
  readonly status: 400 | 413 | 422;
  readonly detail: string;
  /** The field or header at fault. */
  readonly param?: string;
}

export function refused(status: 400 | 413 | 422, param: string | undefined, detail: string): Problem {
  return { kind: "refused", status, detail, ...(param === undefined ? {} : { param }) };
}

/** 422: names the field and says what it must be. Never repeats the value, which may be a prompt or a secret. */
export function invalidField(param: string, mustBe: string): Problem {
  return refused(422, param, `${param} ${mustBe}.`);
}

/** What a present, non-null field must be; `undefined` when it is that. In the order in which problems are named. */
const fields: Readonly<Record<string, (value: Json) => string | undefined>> = {
  stream: (value) => (typeof value === "boolean" ? undefined : "must be true or false"),
  stream_options: (value) => {
    if (!isObject(value)) return "must be an object";
    const include = value["include_usage"];
    return include == null || typeof include === "boolean" ? undefined : "include_usage must be true or false";
  },
  temperature: (value) => (typeof value === "number" ? undefined : "must be a number"),
  top_p: (value) => (typeof value === "number" ? undefined : "must be a number"),
  n: (value) => wholeBetween(value, 1, maxChoices),
  best_of: (value) => wholeBetween(value, 1, maxChoices),
  max_tokens: (value) => wholeBetween(value, 0, maxOutputTokens),
  max_completion_tokens: (value) => wholeBetween(value, 0, maxOutputTokens),
  stop: (value) =>
    typeof value === "string" || (Array.isArray(value) && value.every((each) => typeof each === "string"))
      ? undefined
      : "must be a string or an array of strings",
  tools: (value) =>
    Array.isArray(value) && value.every(isObject) ? undefined : "must be an array of tool definitions",
  tool_choice: (value) => (typeof value === "string" || isObject(value) ? undefined : "must be a string or an object"),
  response_format: (value) => (isObject(value) ? undefined : "must be an object"),
  user: (value) => (typeof value === "string" ? undefined : "must be a string"),
  metadata: (value) => (isObject(value) ? undefined : "must be an object"),
};
const fieldChecks = new Map(Object.entries(fields));

/** The first field, in the order of the table, that is not what it must be. */
export function problemOfFields(body: JsonObject): Problem | undefined {
  // A body has a few of the fields, and mostly all are what they must be.
  return isValid(body) ? undefined : firstProblem(body);
}

function isValid(body: JsonObject): boolean {
  for (const name in body) {
    const value = body[name];
    if (value != null && fieldChecks.get(name)?.(value) !== undefined) return false;
  }
  return true;
}

function firstProblem(body: JsonObject): Problem | undefined {
  for (const [name, complaint] of fieldChecks) {
    const value = body[name];
    const mustBe = value == null ? undefined : complaint(value);
    if (mustBe !== undefined) return invalidField(name, mustBe);
  }
  return undefined;
}

function wholeBetween(value: Json, least: number, most: number): string | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most
    ? undefined
    : `must be a whole number from ${least} to ${most}`;
}

export function problemOfModel(model: Json | undefined): Problem | undefined {
  if (typeof model === "string" && (aliases as readonly string[]).includes(model)) return undefined;
  const known = aliases.join(", ");
  return invalidField("model", model == null ? `is required; it is one of ${known}` : `must be one of ${known}`);
}

/** A number that cannot be forwarded as it was sent. Its field is named where that is a name of the API, not the caller's. */
export function infiniteNumber(body: JsonObject): Problem {
  const isInfinite = (value: Json | undefined): boolean =>
    typeof value === "number"
      ? !Number.isFinite(value)
      : typeof value === "object" && value !== null && Object.values(value).some(isInfinite);
  const name = Object.keys(fields).find((field) => isInfinite(body[field]));
  return refused(422, name, `${name ?? "The body"} holds a number that is too large for a double (such as 1e400).`);
}

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

/** Checked with the published schema: only the gateway's own keys matter, and few requests have any. */
export function problemOfMetadata(metadata: Json | undefined): Problem | undefined {
  if (metadata == null) return undefined;
  const parsed = Metadata.safeParse(metadata);
  if (parsed.success) return undefined;
  const issue = parsed.error.issues[0];
  const key = issue?.path[0];
  if (issue === undefined || key === undefined) return invalidField("metadata", "must be an object");
  return invalidField(`metadata.${String(key)}`, requirement(issue, metadata));
}
