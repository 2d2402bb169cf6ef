import type { z } from "zod";
import { type GatewayFields, metadataTaskFields } from "#domain/chat.ts";
import { FailureClass } from "#domain/routing.ts";
import { isOpenAiForm } from "#http/errors.ts";
import { idPattern, type Metadata } from "./schema.ts";
import { invalidField, type Problem } from "./validate.ts";

export const noMetadata: z.infer<typeof Metadata> = {};

/** What headers and metadata say to the gateway. A header beats metadata; X-Goal-Id beats X-Smart-Gateway-Goal. */
export function gatewayFields(metadata: z.infer<typeof Metadata>, headers: Headers): GatewayFields | Problem {
  const errorForm = errorFormProblem(headers);
  if (errorForm !== undefined) return errorForm;
  const ids = idHeaders(headers);
  if ("status" in ids) return ids;
  const forcePro = flagHeader(headers, "X-Pro");
  if (typeof forcePro === "object") return forcePro;
  const scoutFirst = flagHeader(headers, "X-Scout");
  if (typeof scoutFirst === "object") return scoutFirst;
  const explain = flagHeader(headers, "X-Smart-Gateway-Explain");
  if (typeof explain === "object") return explain;
  const failureClass = headerValue(headers, "X-Failure-Class");
  const knownClass = failureClass === undefined ? undefined : failureClassOf(failureClass);
  if (failureClass !== undefined && knownClass === undefined) {
    return invalidField("X-Failure-Class", `must be one of ${FailureClass.options.join(", ")}`);
  }
  const sameErrorCount = headerValue(headers, "X-Same-Error-Count");
  if (sameErrorCount !== undefined && !/^\d{1,9}$/.test(sameErrorCount)) {
    return invalidField("X-Same-Error-Count", "must be a whole number from 0");
  }

  const sessionId = ids.session ?? metadata.session_id ?? agentSession(headers);
  const goalId = ids.ownGoal ?? ids.goal ?? metadata.goal_id;
  const taskId = ids.task ?? metadata.task_id;
  // Field by field: spreading nothing for each absent one costs more than all of the checks.
  const fields: { -readonly [name in keyof GatewayFields]: GatewayFields[name] } = {
    forcePro,
    scoutFirst,
    taskFields: metadata === noMetadata ? noTaskFields : taskFieldsIn(metadata),
  };
  if (explain) fields.explain = true;
  if (sessionId != null) fields.sessionId = sessionId;
  if (goalId != null) fields.goalId = goalId;
  if (taskId != null) fields.taskId = taskId;
  if (metadata.repo_id != null) fields.repoId = metadata.repo_id;
  if (metadata.sensitive != null) fields.sensitive = metadata.sensitive;
  if (metadata.reasoning != null) fields.reasoning = isHigh(metadata.reasoning) ? "high" : "auto";
  if (metadata.routing != null) fields.routingHint = metadata.routing;
  if (knownClass !== undefined) fields.failureClass = knownClass;
  if (sameErrorCount !== undefined) fields.sameErrorCount = Number(sameErrorCount);
  return fields;
}

function failureClassOf(text: string): FailureClass | undefined {
  return FailureClass.options.find((option) => option === text);
}

const noTaskFields: GatewayFields["taskFields"] = {};

function taskFieldsIn(metadata: z.infer<typeof Metadata>): GatewayFields["taskFields"] {
  return Object.fromEntries(metadataTaskFields.flatMap((key) => (metadata[key] == null ? [] : [[key, metadata[key]]])));
}

function isHigh(reasoning: string): boolean {
  return reasoning === "high" || reasoning === "HIGH";
}

/** A header's text; undefined when it is absent or empty, as templates and proxies leave it. */
function headerValue(headers: Headers, name: string): string | undefined {
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
function flagHeader(headers: Headers, name: string): boolean | Problem {
  const value = headerValue(headers, name)?.toLowerCase();
  if (value === undefined || value === "false") return false;
  return value === "true" ? true : invalidField(name, "must be true or false");
}

/**
 * The session id of agents that do not know this gateway: opencode and kilo send `X-Session-Id`. An invalid one is
 * ignored, since it was not meant for the gateway.
 */
function agentSession(headers: Headers): string | undefined {
  const value = headerValue(headers, "X-Session-Id");
  return value !== undefined && idPattern.test(value) ? value : undefined;
}

interface Ids {
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

function idHeaders(headers: Headers): Ids | Problem {
  const ids: Ids = {};
  for (const [key, name] of idHeaderNames) {
    const value = utf8HeaderValue(headers, name);
    if (value === undefined) continue;
    if (!idPattern.test(value)) return invalidField(name, "must be 1 to 256 characters without control characters");
    ids[key] = value;
  }
  return ids;
}
