import type { z } from "zod";
import { type GatewayFields, metadataTaskFields } from "#domain/chat.ts";
import { FailureClass } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import { openAiForm } from "#http/errors.ts";
import { idPattern, type Metadata } from "./schema.ts";
import { invalidField, type Problem } from "./validate.ts";

export const noMetadata: z.infer<typeof Metadata> = {};

type Check = readonly [pattern: RegExp, mustBe: string];
const id: Check = [idPattern, "must be 1 to 256 characters without control characters"];
/** As any language prints it: true, True. */
const flag: Check = [/^(?:true|false)$/i, "must be true or false"];

/** What the headers that speak to the gateway must be. */
const headerChecks = {
  "X-Smart-Gateway-Errors": [openAiForm, "must be openai, or left out"],
  "X-Smart-Gateway-Session": id,
  "X-Smart-Gateway-Goal": id,
  "X-Goal-Id": id,
  "X-Task-Id": id,
  "X-Pro": flag,
  "X-Scout": flag,
  "X-Smart-Gateway-Sensitive": flag,
  "X-Smart-Gateway-Explain": flag,
  "X-Failure-Class": [
    new RegExp(`^(?:${FailureClass.options.join("|")})$`),
    `must be one of ${FailureClass.options.join(", ")}`,
  ],
  "X-Same-Error-Count": [/^\d{1,9}$/, "must be a whole number from 0"],
} as const satisfies { readonly [name: string]: Check };
const checkedHeaders = Object.entries(headerChecks) as [keyof typeof headerChecks, Check][];

/** The headers that are there. One that is empty, as templates and proxies leave it, counts as absent. */
type Given = { -readonly [name in keyof typeof headerChecks]?: string };

/** What headers and metadata say to the gateway. A header beats metadata; X-Goal-Id beats X-Smart-Gateway-Goal. */
export function gatewayFields(metadata: z.infer<typeof Metadata>, headers: Headers): GatewayFields | Problem {
  const given: Given = {};
  for (const [name, [pattern, mustBe]] of checkedHeaders) {
    const value = headers.get(name);
    if (value === null || value === "") continue;
    const text = utf8Text(value);
    if (!pattern.test(text)) return invalidField(name, mustBe);
    given[name] = text;
  }
  const sessionId = given["X-Smart-Gateway-Session"] ?? metadata.session_id ?? agentSession(headers);
  const goalId = given["X-Goal-Id"] ?? given["X-Smart-Gateway-Goal"] ?? metadata.goal_id;
  const taskId = given["X-Task-Id"] ?? metadata.task_id;
  // Field by field: spreading nothing for each absent one costs more than all of the checks.
  const fields: Writable<GatewayFields> = {
    forcePro: isTrue(given["X-Pro"]),
    scoutFirst: isTrue(given["X-Scout"]),
    taskFields: metadata === noMetadata ? noTaskFields : taskFieldsIn(metadata),
  };
  if (isTrue(given["X-Smart-Gateway-Explain"])) fields.explain = true;
  if (sessionId != null) fields.sessionId = sessionId;
  if (goalId != null) fields.goalId = goalId;
  if (taskId != null) fields.taskId = taskId;
  if (metadata.repo_id != null) fields.repoId = metadata.repo_id;
  const sensitive = given["X-Smart-Gateway-Sensitive"];
  if (sensitive !== undefined) fields.sensitive = isTrue(sensitive);
  else if (metadata.sensitive != null) fields.sensitive = metadata.sensitive;
  if (metadata.reasoning != null) fields.reasoning = /^high$/i.test(metadata.reasoning) ? "high" : "auto";
  if (metadata.routing != null) fields.routingHint = metadata.routing;
  const failureClass = given["X-Failure-Class"];
  if (failureClass !== undefined) fields.failureClass = failureClass as FailureClass; // checked above
  const sameErrorCount = given["X-Same-Error-Count"];
  if (sameErrorCount !== undefined) fields.sameErrorCount = Number(sameErrorCount);
  return fields;
}

const noTaskFields: GatewayFields["taskFields"] = {};

function taskFieldsIn(metadata: z.infer<typeof Metadata>): GatewayFields["taskFields"] {
  return Object.fromEntries(metadataTaskFields.flatMap((key) => (metadata[key] == null ? [] : [[key, metadata[key]]])));
}

function isTrue(flag: string | undefined): boolean {
  return flag?.toLowerCase() === "true";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * A header's text in UTF-8, as nearly every client sends it. The runtime reads each byte as a character (Latin-1);
 * bytes that are no UTF-8 are left at that.
 */
function utf8Text(value: string): string {
  if (!/[\x80-\xff]/.test(value) || /[^\0-\xff]/.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}

/**
 * The session id of agents that do not know this gateway: opencode and kilo send `X-Session-Id`. An invalid one is
 * ignored, since it was not meant for the gateway.
 */
function agentSession(headers: Headers): string | undefined {
  const value = headers.get("X-Session-Id");
  return value !== null && idPattern.test(value) ? value : undefined;
}
