import type { ChatRequest } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { assess } from "#pipeline/assess/assess.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import { largeWorkTurn } from "#platform/event-loop-turns.ts";
import { findingsIn } from "#privacy/redaction.ts";
import { decideWithSpend } from "./decide-with-spend.ts";
import { executeSingleCall } from "./execute/single-call.ts";
import { guardFields, withGuardedFields } from "./field-rules.ts";
import type { Ports } from "./ports.ts";
import { redactRequest, withRedactedIds } from "./redact-request.ts";
import type { RequestContext, RoutedDecision } from "./request-context.ts";
import { callerGone, fieldRefused, freeTermsRefused, refusalOf, storeUnavailable } from "./respond/refusals.ts";
import type { Head, Refusal, Reply } from "./respond/reply.ts";
import { answerStreamed } from "./respond/stream-answer.ts";
import { answerWhole } from "./respond/whole-answer.ts";
import { askScout } from "./scout/ask-scout.ts";
import { recordForLearning } from "./settle/record-for-learning.ts";
import { RequestRecorder } from "./settle/request-recorder.ts";
import { settlement } from "./settle/settlement.ts";

/**
 * One chat request. Each step is a folder beside this file: assess, decide, scout, execute, respond, settle. No step
 * imports a later one; what it needs of a later step is handed in here. Never throws for anything that a caller or an
 * upstream can do.
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

  const redacting = redactRequest(request, configuration);
  const redacted = redacting instanceof Promise ? await redacting : redacting;
  if ("status" in redacted) return redacted;
  // The body is large: reading it takes as long as one of the steps in which it was redacted.
  if (redacting instanceof Promise) await largeWorkTurn();
  recorder.recordGate();
  // Credentials in tool definitions are forwarded unchanged, but counted like the others.
  const findings = findingsIn(redacted);
  const assessed = assess(request, redacted.body, ports.tasks, {
    now: ports.clock.now(),
    policy: configuration.policy,
    redactions: redacted.total + redacted.unredactable.length,
  });
  if (guarded?.freeTerms !== undefined && assessed.task.sensitive) return freeTermsRefused(guarded.freeTerms, findings);
  const assessment = withRedactedIds(assessed, request, configuration);
  const context: RequestContext = { request, configuration, redacted, assessment, recorder, caller, deadlineMs };

  const decided = await decideWithSpend(context, ports);
  recorder.recordDecision(decided.decision, findings);
  recorder.recordRouting(assessment, decided, configuration.learned);
  const head: Head = {
    decisionId: recorder.decisionId,
    decision: decided.decision,
    taskKind: assessment.task.kind,
    answeredBy: null,
    redactions: redacted.total,
    explained: request.routing.explain === true ? recordedBy(recorder) : undefined,
  };
  if (decided.kind === "store_unavailable")
    return recordRefusal(recorder, storeUnavailable(head, ports.ledger.status()));
  if (decided.decision.model === null) return recordRefusal(recorder, refusalOf(head, decided.retryAdvice, findings));

  let routed: RoutedDecision = decided;
  let answerHead = head;
  if (decided.decision.action === "SCOUT") {
    const verdict = await askScout(context, decided, scoutCalls(context, ports));
    if (caller.signal.aborted) return recordRefusal(recorder, callerGone(head));
    const after = await decideWithSpend(context, ports, verdict);
    recorder.recordRouting(assessment, after, configuration.learned);
    if (after.kind === "store_unavailable")
      return recordRefusal(recorder, storeUnavailable(head, ports.ledger.status()));
    if (after.decision.model === null) {
      recorder.recordDecision(after.decision, findings);
      return recordRefusal(recorder, refusalOf({ ...head, decision: after.decision }, after.retryAdvice));
    }
    routed = after;
    const decision = afterScout(decided.decision, after.decision);
    recorder.recordDecision(decision, findings);
    answerHead = { ...head, decision };
  }
  const answer = request.stream ? answerStreamed : answerWhole;
  const answering = answer(context, routed, answerHead, settlement, ports);
  // While the ledger writes the hold.
  recordForLearning(context, routed.decision, ports);
  // Awaited: a promise that is given back as it is costs three microtasks instead of one.
  return await answering;
}

/** Functions of their own: a closure within `handleChat` would make an object for each request that all others are moved to. */
function recordedBy(recorder: RequestRecorder): NonNullable<Head["explained"]> {
  return () => recorder.recorded();
}

function scoutCalls(context: RequestContext, ports: Ports): Parameters<typeof askScout>[2] {
  return (call) => executeSingleCall(call, context, settlement, ports);
}

/** The scout's decision with what its verdict led to: headers, log, metrics and record name the same cause. */
function afterScout({ action, model, purpose }: RoutingDecision, after: RoutingDecision): RoutingDecision {
  return { ...after, action, model, purpose };
}

/** Finishes the record of a request that is refused before it is executed. */
function recordRefusal(recorder: RequestRecorder, refusal: Refusal): Refusal {
  const outcome = refusal.status === 499 ? "caller_gone" : refusal.status === 403 ? "refused" : "failed";
  recorder.finish(outcome, refusal.status, refusal.code);
  return refusal;
}
