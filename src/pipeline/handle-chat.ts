import type { ChatRequest } from "#domain/chat.ts";
import { type Assessment, assess } from "#pipeline/assess/assess.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import { CredentialNotReplaceable, type RedactedBody, TooManySecrets } from "#privacy/redaction.ts";
import { decideWithSpend, type RoutedDecision } from "./decide-with-spend.ts";
import { type GuardedBody, guardFields } from "./field-rules.ts";
import type { Configuration, Ports } from "./ports.ts";
import { redactId } from "./redact-id.ts";
import {
  callerGone,
  credentialInName,
  fieldRefused,
  freeTermsRefused,
  privacyGateFailed,
  refusalOf,
  storeUnavailable,
  tooManySecrets,
} from "./respond/refusals.ts";
import type { Head, Refusal, Reply } from "./respond/reply.ts";
import { answerStreamed, answerWhole } from "./respond/stream-answer.ts";
import { askScout } from "./scout/ask-scout.ts";
import { RequestRecorder } from "./settle/request-recorder.ts";

/** One chat request on its way: what every step after the decision needs to know of it. */
export interface RequestContext {
  readonly request: ChatRequest;
  readonly configuration: Configuration;
  readonly redacted: RedactedBody;
  readonly assessment: Assessment;
  readonly recorder: RequestRecorder;
  /** Aborted when the caller leaves; whatever runs for the request then stops. */
  readonly caller: AbortControllerLike;
  /** Monotonic milliseconds at which the request must be over. */
  readonly deadlineMs: number;
}

/**
 * The way of one chat request. Assess, decide, perhaps ask the scout, execute, settle: each is a file or folder beside
 * this one. Never throws for anything a caller or an upstream can do.
 */
export async function handleChat(received: ChatRequest, ports: Ports, caller: AbortControllerLike): Promise<Reply> {
  const configuration = ports.config();
  const guarded = guardFields(received.body, received.spelled, configuration.fields);
  if (guarded?.kind === "refused") return fieldRefused(guarded.field, guarded.param);
  const request = guarded === undefined ? received : withGuardedFields(received, guarded);
  ports.retryBudget.countRequest();
  const recorder = new RequestRecorder(
    request,
    ports.newId(),
    ports.clock,
    ports.record,
    configuration.registry.priceVersion,
  );
  const deadlineMs = ports.clock.monotonic() + configuration.policy.upstream.timeouts_ms.total;

  const examined = redactRequest(request, configuration);
  const redacted = examined instanceof Promise ? await examined : examined;
  if ("status" in redacted) return redacted;
  const assessed = assess(request, redacted.body, ports.tasks, {
    now: ports.clock.now(),
    policy: configuration.policy,
    redactions: redacted.total + redacted.unredactable.length,
  });
  if (guarded?.freeTerms !== undefined && assessed.task.sensitive) return freeTermsRefused(guarded.freeTerms);
  const assessment = withRedactedIds(assessed, request, configuration);
  const context: RequestContext = { request, configuration, redacted, assessment, recorder, caller, deadlineMs };

  // What stands in tool definitions is forwarded as it is, but counted like the rest.
  const findings =
    redacted.unredactable.length === 0 ? redacted.findings : [...redacted.findings, ...redacted.unredactable];
  const decided = await decideWithSpend(context, ports);
  recorder.recordDecision(decided.decision, findings);
  const head: Head = {
    decisionId: recorder.decisionId,
    decision: decided.decision,
    taskKind: assessment.task.kind,
    answeredBy: null,
    redactions: redacted.total,
  };
  if (decided.kind === "store_unavailable")
    return recordRefusal(recorder, storeUnavailable(head, ports.ledger.status()));
  if (decided.decision.model === null) return recordRefusal(recorder, refusalOf(head, decided.wait));

  let routed: RoutedDecision = decided;
  if (decided.decision.action === "SCOUT") {
    const verdict = await askScout(context, decided, ports);
    if (caller.signal.aborted) return recordRefusal(recorder, callerGone(head));
    const after = await decideWithSpend(context, ports, verdict);
    if (after.kind === "store_unavailable")
      return recordRefusal(recorder, storeUnavailable(head, ports.ledger.status()));
    if (after.decision.model === null) {
      recorder.recordDecision(after.decision, findings);
      return recordRefusal(recorder, refusalOf({ ...head, decision: after.decision }, after.wait));
    }
    routed = after;
  }
  return request.stream ? answerStreamed(context, routed, head, ports) : answerWhole(context, routed, head, ports);
}

/** The request as the policy lets it out: without what it drops, with what the rest may cost. */
function withGuardedFields(request: ChatRequest, guarded: GuardedBody & { kind: "allowed" }): ChatRequest {
  const { body, spelled, surcharge } = guarded;
  return {
    ...request,
    body: { ...body, messages: request.body.messages },
    ...(spelled === undefined ? {} : { spelled }),
    ...(surcharge === undefined ? {} : { surcharge }),
  };
}

/** Takes every credential out of what the upstream would read; a refusal when that failed, and then nothing may be sent. */
function redactRequest(
  { body, bodyBytes }: ChatRequest,
  { privacy }: Configuration,
): RedactedBody | Refusal | Promise<RedactedBody | Refusal> {
  // Large bodies are examined in slices, so that other requests are not held up.
  if (bodyBytes > largeBodyBytes) return privacy.redactBodyAsync(body).catch(refusalOfPrivacyGate);
  try {
    return privacy.redactBody(body);
  } catch (error) {
    return refusalOfPrivacyGate(error);
  }
}

/** The error might quote the text; that it failed, where, or that there was too much to do, is all that may be known. */
function refusalOfPrivacyGate(error: unknown): Refusal {
  if (error instanceof CredentialNotReplaceable) return credentialInName(error);
  return error instanceof TooManySecrets ? tooManySecrets() : privacyGateFailed();
}

/** The goal is stored and the task's id is part of the record: neither may be a credential. */
function withRedactedIds(
  assessment: Assessment,
  { requestId, routing }: ChatRequest,
  { privacy }: Configuration,
): Assessment {
  const { task } = assessment;
  const { sessionId, goalId = "" } = routing;
  // Looked at as the caller wrote it: the goal's name may have it escaped.
  const asWritten = sessionId === undefined ? goalId : `${sessionId}/${goalId}`;
  const goal_id = task.goal_id === "adhoc" ? task.goal_id : redactId(task.goal_id, privacy, asWritten);
  // The request's id, which stands in for a missing one, was examined when it came in.
  const task_id = task.task_id === requestId ? task.task_id : redactId(task.task_id, privacy);
  if (goal_id === task.goal_id && task_id === task.task_id) return assessment;
  return { ...assessment, task: { ...task, goal_id, task_id } };
}

function recordRefusal<R extends Reply & { kind: "refusal" }>(recorder: RequestRecorder, refusal: R): R {
  const outcome = refusal.status === 499 ? "caller_gone" : refusal.status === 403 ? "refused" : "failed";
  recorder.finish(outcome, refusal.status);
  return refusal;
}
