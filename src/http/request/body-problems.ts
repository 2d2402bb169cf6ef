import type { z } from "zod";
import { type CallerError, errorOf } from "#domain/errors.ts";

/** As many problems as one wants to read at once. */
const maxProblems = 8;

/**
 * What is wrong with a body, field by field: what a field must be, and never what it was, which may be a prompt or a
 * secret. That is why the sentences are not those of `config/validate.ts`: an operator sees the value found and how to
 * write it.
 */
export function bodyError(error: z.ZodError, given: unknown): CallerError {
  const byField = new Map<string, string>();
  for (const issue of error.issues) {
    const field = issue.path.map(String).join(".");
    if (!byField.has(field)) byField.set(field, `${field}: ${requirement(issue, given)}`);
  }
  return errorOf("invalid_request.fields", { problem: [...byField.values()].slice(0, maxProblems).join("; ") });
}

/** What a field must be, in words that do not repeat what was sent. */
export function requirement(issue: z.core.$ZodIssue, given: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return isAbsent(issue.path, given) ? "is required" : `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    case "invalid_union":
    case "invalid_format":
      return issue.message;
    default:
      return "is not valid";
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "an array",
};

function isAbsent(path: readonly PropertyKey[], given: unknown): boolean {
  let at = given;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return true;
    at = at[key as keyof typeof at];
  }
  return at === undefined;
}
