import type { ChatRequest } from "#domain/chat.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import type { PrivacyEngine, RedactedBody } from "#privacy/redaction.ts";
import type { Configuration } from "./ports.ts";
import { privacyRefusal } from "./respond/refusals.ts";
import type { Refusal } from "./respond/reply.ts";

/** Larger bodies are redacted in ticks of the event loop, unless most of their text has been scanned before. */
const largeTextBytes = 262_144;

/** The body without credentials; a refusal when redaction failed, and then nothing may be sent. */
export function redactRequest(
  { body, bodyBytes }: ChatRequest,
  { privacy }: Configuration,
): RedactedBody | Refusal | Promise<RedactedBody | Refusal> {
  try {
    const redacted = bodyBytes <= largeTextBytes ? privacy.redactBody(body) : privacy.redactLargeBody(body);
    return redacted instanceof Promise ? redacted.catch(privacyRefusal) : redacted;
  } catch (error) {
    return privacyRefusal(error);
  }
}

/** The goal's id is stored and the task's id is recorded: neither may be a credential. */
export function withRedactedIds(
  assessment: Assessment,
  { requestId, routing }: ChatRequest,
  { privacy }: Configuration,
): Assessment {
  const { task } = assessment;
  const { sessionId, goalId = "" } = routing;
  // The ids as the caller wrote them: the goal's name may have them escaped.
  const asWritten = sessionId === undefined ? goalId : `${sessionId}/${goalId}`;
  const goal_id = task.goal_id === "adhoc" ? task.goal_id : redactId(task.goal_id, privacy, asWritten);
  // The request's id, which replaces a missing task id, was redacted when the request was received.
  const task_id = task.task_id === requestId ? task.task_id : redactId(task.task_id, privacy);
  if (goal_id === task.goal_id && task_id === task.task_id) return assessment;
  return { ...assessment, task: { ...task, goal_id, task_id } };
}

/**
 * An id that a caller has chosen, fit to be stored and logged. One that is itself a credential (it happens: a script
 * passes the wrong variable) is replaced by a digest, so that it still tells one goal from another and says nothing
 * else. `asWritten`: the text that the caller has sent, where the id is made from it.
 */
export function redactId(id: string, privacy: Pick<PrivacyEngine, "redactText">, asWritten = id): string {
  if (privacy.redactText(asWritten).findings.length === 0) return id;
  return `redacted-${new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 32)}`;
}
