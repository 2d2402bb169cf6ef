import type { ChatRequest } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { assess } from "#pipeline/assess/assess.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import { nextLargeTask } from "#platform/event-loop.ts";
import { findingsIn } from "#privacy/redaction.ts";
import { type Decided, decideWithSpend } from "./decide-with-spend.ts";
import { askScout } from "./execute/ask-scout.ts";
import { type Execution, execute } from "./execute/execute.ts";
import { requestPlan } from "./execute/plan.ts";
import { checkFields } from "./field-rules.ts";
import type { Ports } from "./ports.ts";
import { redactRequest, withRedactedIds } from "./redact-request.ts";
import { type RequestContext, RequestRecorder, type RoutedDecision } from "./request-context.ts";
import { completionIdentity } from "./respond/completion-identity.ts";
import { inBandError } from "./respond/failure-answer.ts";
import {
  callerGone,
  fieldRefused,
  freeTermsRefused,
  refusedDecision,
  refusedExecution,
  storeUnavailable,
} from "./respond/refusals.ts";
import type { DecisionHeaders, Refusal, Reply } from "./respond/reply.ts";
import { openStream } from "./respond/stream/answer-stream.ts";
import { type BegunStream, LateStream } from "./respond/stream/late-stream.ts";
import { StreamShaper } from "./respond/stream/shape-stream.ts";
import { wholeAnswer } from "./respond/whole-answer.ts";
import { recordAnswer, settleAnswer } from "./settle/settle.ts";

/**
 * The way of one chat request. Each step is a folder beside this file, in this order: assess, decide, execute, respond;
 * settle closes what execute has opened. Never throws for anything that a caller or an upstream can do.
 */
export async function handleChat(received: ChatRequest, ports: Ports, caller: AbortControllerLike): Promise<Reply> {
  const configuration = ports.config();
  const checked = checkFields(received, configuration.fields);
  if (checked.kind === "refused") return fieldRefused(checked);
  const { request, freeTerms } = checked;
  ports.retryBudget.countRequest();
  const recorder = new RequestRecorder(request, ports, configuration.registry.priceVersion);
  const deadlineMs = ports.clock.monotonic() + configuration.policy.upstream.timeouts_ms.total;

  const redacting = redactRequest(request, configuration);
  const redacted = redacting instanceof Promise ? await redacting : redacting;
  if ("status" in redacted) return redacted;
  // The body is large: reading it takes as long as one of the steps in which it was redacted.
  if (redacting instanceof Promise) await nextLargeTask();
  recorder.recordGate();
  // Credentials in tool definitions are forwarded unchanged, but counted like the others.
  const findings = findingsIn(redacted);
  const assessed = assess(request, redacted.body, ports.tasks, {
    now: ports.clock.now(),
    policy: configuration.policy,
    redactions: redacted.total + redacted.unredactable.length,
  });
  if (freeTerms !== undefined && assessed.task.sensitive) return freeTermsRefused(freeTerms, findings);
  const assessment = withRedactedIds(assessed, request, configuration);
  const context: RequestContext = { request, configuration, redacted, assessment, recorder, caller, deadlineMs };

  let decided = await decideWithSpend(context, ports);
  let decision = decided.decision;
  let headers = decisionHeaders(context, decision);
  recorder.recordDecision(decision, decided, context);
  if (decision.action === "SCOUT" && isRouted(decided)) {
    const verdict = await askScout(context, decided, ports);
    if (caller.signal.aborted) return recordRefusal(recorder, callerGone(headers));
    decided = await decideWithSpend(context, ports, verdict);
    if (isRouted(decided)) decision = afterScout(decision, decided.decision);
    else if (decided.kind === "decided") decision = decided.decision;
    recorder.recordDecision(decision, decided, context);
    headers = decisionHeaders(context, decision);
  }
  if (decided.kind === "store_unavailable")
    return recordRefusal(recorder, storeUnavailable(headers, ports.ledger.status()));
  if (decision.model === null)
    return recordRefusal(recorder, refusedDecision(headers, decided.snapshot.caps, decided.retryAdvice, findings));

  const plan = requestPlan(context, decided, ports, decision.action === "SCOUT" ? 2 : 1);
  const executing = execute(plan, ports, caller.signal);
  const isLate = request.stream && configuration.policy.stream.keepalive_ms > 0;
  const execution = isLate ? await untilSilence(executing, context, ports) : await executing;
  return execution === undefined
    ? lateReply(executing, context, decided, headers, ports)
    : respond(execution, context, decided, headers, ports);
}

function isRouted({ kind, decision }: Decided): boolean {
  return kind === "decided" && decision.model !== null;
}

/** The scout's decision with what its verdict led to: headers, log, metrics and record name the same cause. */
function afterScout({ action, model, purpose }: RoutingDecision, after: RoutingDecision): RoutingDecision {
  return { ...after, action, model, purpose };
}

function decisionHeaders(
  { request, redacted, assessment, recorder }: RequestContext,
  decision: RoutingDecision,
): DecisionHeaders {
  return {
    decisionId: recorder.decisionId,
    decision,
    taskKind: assessment.task.kind,
    goal: assessment.task.goal_id,
    answeredBy: null,
    redactions: redacted.total,
    // Bound: a closure would keep its scope alive, here the conversation.
    explained: request.routing.explain === true ? recorder.recorded.bind(recorder) : undefined,
  };
}

/** Finishes the record of a request that is refused, or that nothing has answered. */
function recordRefusal(recorder: RequestRecorder, refusal: Refusal): Refusal {
  const outcome = refusal.status === 499 ? "caller_gone" : refusal.status === 403 ? "refused" : "failed";
  recorder.finish(outcome, refusal.status, refusal.code);
  return refusal;
}

/** The execution, if it brings something before the caller has to see that the gateway is alive. */
async function untilSilence(executing: Promise<Execution>, { configuration }: RequestContext, { timers }: Ports) {
  let cancel = () => {};
  const silence = new Promise<undefined>((resolve) => {
    cancel = timers.after(configuration.policy.stream.keepalive_ms, () => resolve(undefined));
  });
  const execution = await Promise.race([executing, silence]);
  cancel();
  return execution;
}

/** What the caller gets of an execution: its answer, or why there is none. */
function respond(
  execution: Execution,
  context: RequestContext,
  routed: RoutedDecision,
  headers: DecisionHeaders,
  ports: Ports,
): Reply {
  const { recorder } = context;
  if (execution.kind !== "answered")
    return recordRefusal(recorder, refusedExecution(execution, context, routed, headers, ports));
  const { attempt, reply } = execution;
  const answeredHeaders = { ...headers, answeredBy: attempt.model.key };
  recordAnswer(attempt.model, routed, context, reply.firstTokenMs, ports);
  if (reply.kind === "stream") {
    return { kind: "stream", stream: openStream(attempt, reply, context, ports), headers: answeredHeaders };
  }
  const { body, ...end } = wholeAnswer(attempt, reply, context, ports);
  settleAnswer(end, attempt, reply.firstTokenMs, recorder, ports);
  recorder.finish("answered", 200);
  return { kind: "answer", body, headers: answeredHeaders };
}

/** A stream that begins towards the caller before there is anything of an answer; retries and fail-over go on. */
function lateReply(
  executing: Promise<Execution>,
  context: RequestContext,
  routed: RoutedDecision,
  headers: DecisionHeaders,
  ports: Ports,
): Reply {
  const model = context.configuration.registry.models.get(routed.decision.model ?? "")?.upstreamId ?? "";
  const identity = completionIdentity(context.recorder.decisionId, ports);
  const shaper = new StreamShaper({ model, identity, wantsUsage: false, reasoning: "field", maxHeldCharacters: 0 });
  const begun = executing.then((execution): BegunStream => {
    const reply = respond(execution, context, routed, headers, ports);
    if (execution.kind === "failed") return shaper.fail(inBandError(execution.failure));
    if (reply.kind === "stream") return reply.stream;
    if (reply.kind !== "refusal") return reply.body;
    return shaper.fail({ code: reply.status, message: reply.detail, metadata: { error_type: reply.code } });
  });
  return { kind: "stream", stream: new LateStream(begun, context.caller, shaper), headers, isCalling: true };
}
