import { isOpenAiForm } from "#http/errors.ts";
import { invalidField, type Problem } from "./problem.ts";
import { idPattern } from "./schema.ts";

/** A header's text; undefined when it is absent or empty, as templates and proxies leave it. */
export function headerValue(headers: Headers, name: string): string | undefined {
  return headers.get(name) || undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * A header's text in UTF-8, as nearly every client sends what is not ASCII. The runtime reads each byte as a character of
 * its own (Latin-1); bytes that are no UTF-8 are left at that.
 */
function utf8HeaderValue(headers: Headers, name: string): string | undefined {
  const value = headerValue(headers, name);
  if (value === undefined || !/[\x80-\xff]/.test(value) || /[^\0-\xff]/.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}

/** In which form errors are wanted; `errorResponse` reads it, this refuses what it would not understand. */
export function errorFormProblem(headers: Headers): Problem | undefined {
  const name = "X-Smart-Gateway-Errors";
  const value = headerValue(headers, name);
  return value === undefined || isOpenAiForm(value) ? undefined : invalidField(name, "must be openai, or left out");
}

/** Boolean text, as any language prints it: true, True. */
export function flagHeader(headers: Headers, name: string): boolean | Problem {
  const value = headerValue(headers, name)?.toLowerCase();
  if (value === undefined || value === "false") return false;
  return value === "true" ? true : invalidField(name, "must be true or false");
}

/**
 * The session id of agents that do not know this gateway: opencode and kilo send `X-Session-Id`. An invalid one is
 * ignored, since it was not meant for the gateway.
 */
export function agentSession(headers: Headers): string | undefined {
  const value = headerValue(headers, "X-Session-Id");
  return value !== undefined && idPattern.test(value) ? value : undefined;
}

export interface Ids {
  session?: string;
  goal?: string;
  ownGoal?: string;
  task?: string;
}

const idHeaderNames = [
  ["session", "X-Smart-Gateway-Session"],
  ["goal", "X-Smart-Gateway-Goal"],
  ["ownGoal", "X-Goal-Id"],
  ["task", "X-Task-Id"],
] as const;

export function idHeaders(headers: Headers): Ids | Problem {
  const ids: Ids = {};
  for (const [key, name] of idHeaderNames) {
    const value = utf8HeaderValue(headers, name);
    if (value === undefined) continue;
    if (!idPattern.test(value)) return invalidField(name, "must be 1 to 256 characters without control characters");
    ids[key] = value;
  }
  return ids;
}
