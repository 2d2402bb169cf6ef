import type { z } from "zod";
import { type GatewayFields, metadataTaskFields } from "#domain/chat.ts";
import { FailureClass } from "#domain/routing.ts";
import { agentSession, errorFormProblem, flagHeader, headerValue, idHeaders } from "./headers.ts";
import { invalidField, type Problem } from "./problem.ts";
import type { Metadata } from "./schema.ts";

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
