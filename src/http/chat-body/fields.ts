import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { aliases } from "#domain/routing.ts";
import { invalidField, type Problem, refused } from "./problem.ts";
import { maxChoices, maxOutputTokens } from "./schema.ts";

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
