import type { JsonObject } from "#domain/chat.ts";
import type { OpenAttempt } from "#pipeline/execute/attempt.ts";
import { type Execution, execute } from "#pipeline/execute/execute.ts";
import { planExecution } from "#pipeline/execute/plan.ts";
import { redactFailure } from "#pipeline/execute/redact-failure.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import {
  type RequestContext,
  type RoutedDecision,
  type StreamContext,
  streamContextOf,
} from "#pipeline/request-context.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { answeredBy } from "./answer-head.ts";
import { refusalOfExecution } from "./failed-execution.ts";
import { inBandErrorOf } from "./failure-answer.ts";
import type { Head, Reply } from "./reply.ts";
import type { Settlement } from "./settlement.ts";
import { AnswerStream, type StreamEnd } from "./stream/answer-stream.ts";
import { type BegunStream, LateStream } from "./stream/late-stream.ts";
import { type CompletionIdentity, type ReasoningMode, StreamShaper } from "./stream/shape-stream.ts";
import { restorerOf } from "./text-restorer.ts";

/**
 * Executes a routed request whose answer is a stream. Waits for the upstream's first real event, so that a failure before
 * it keeps its own status and can be tried elsewhere; only after a long silence does the caller's answer begin without one. A stream
 * of which all has come by then is sent as a whole.
 */
export async function answerStreamed(
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  settlement: Settlement,
  ports: Ports,
): Promise<Reply> {
  const { caller, configuration, recorder } = context;
  const commitment = { committed: false };
  const plan = planExecution(context, routed, settlement, ports);
  const pending = execute(plan, ports, caller.signal, commitment);
  const silence = silenceOf(configuration.policy.stream.keepalive_ms, ports);
  const execution = await Promise.race([pending, silence.over]);
  silence.cancel();
  if (execution !== undefined) {
    recorder.attempts.push(...execution.attempts);
    if (execution.kind === "answered") throw new Error("unreachable: a stream was asked for");
    if (execution.kind !== "streaming") return refusalOfExecution(execution, context, routed, head, ports);
    const answered = answeredBy(execution.attempt.model, routed, head, context, execution.firstTokenMs, ports);
    const stream = streamOf(execution, context, head, settlement, ports);
    const body = stream.takeAll();
    return body === undefined
      ? { kind: "stream", stream, head: answered }
      : { kind: "whole_stream", body, head: answered };
  }
  commitment.committed = true;
  const begun = pending.then((late) => beginLate(late, context, routed, head, settlement, ports));
  const model = configuration.registry.models.get(routed.decision.model ?? "")?.upstreamId ?? "";
  const stream = new LateStream(begun, caller, model, identityOf(head, ports));
  return { kind: "stream", stream, head, isCalling: true };
}

/** The stream of an execution that began after the caller's answer, or the error to end that answer with. */
function beginLate(
  execution: Execution,
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  settlement: Settlement,
  ports: Ports,
): BegunStream {
  context.recorder.attempts.push(...execution.attempts);
  if (execution.kind === "answered") throw new Error("unreachable: a stream was asked for");
  if (execution.kind === "streaming") {
    answeredBy(execution.attempt.model, routed, head, context, execution.firstTokenMs, ports);
    return streamOf(execution, context, head, settlement, ports);
  }
  const refusal = refusalOfExecution(execution, context, routed, head, ports);
  if (execution.kind === "failed") return inBandErrorOf(execution.failure);
  return { code: refusal.status, message: refusal.detail, metadata: { error_type: refusal.code } };
}

/** Id and time of chunks for which the upstream has given none. */
function identityOf({ decisionId }: Head, ports: Ports): CompletionIdentity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

function streamOf(
  execution: Execution & { kind: "streaming" },
  context: RequestContext,
  head: Head,
  settlement: Settlement,
  ports: Ports,
): AnswerStream {
  const { attempt, events, firstTokenMs } = execution;
  const { configuration, request, redacted, caller } = context;
  const restorer = restorerOf(redacted);
  const shaper = new StreamShaper({
    model: attempt.model.upstreamId,
    identity: identityOf(head, ports),
    wantsUsage: request.wantsUsage,
    reasoning: reasoningModeOf(request.body, configuration),
    maxHeldCharacters: configuration.policy.stream.max_event_bytes,
    ...(restorer === undefined ? {} : { restorer }),
    ...(configuration.privacy.answerGuard === undefined ? {} : { guard: configuration.privacy.answerGuard }),
  });
  const streamContext = streamContextOf(context);
  return new AnswerStream({
    events,
    shaper,
    ...endingOf(attempt, firstTokenMs, streamContext, caller, settlement, ports),
  });
}

/** Reasoning in front of an answer would break the answer's format, where one is asked for. */
function reasoningModeOf({ response_format }: JsonObject, { policy }: Configuration): ReasoningMode {
  const mode = policy.stream.reasoning;
  return mode === "content" && response_format != null ? "field" : mode;
}

/** How a stream ends. A function of its own, without access to the request context: a closure keeps its scope alive. */
function endingOf(
  attempt: OpenAttempt,
  firstTokenMs: number,
  context: StreamContext,
  caller: AbortControllerLike,
  settlement: Settlement,
  ports: Ports,
) {
  return {
    redactFailure: (failure: UpstreamFailure) => redactFailure(failure, context.configuration),
    abort: () => caller.abort(),
    ended: (end: StreamEnd) => settlement.settleStream(end, attempt, firstTokenMs, context, ports),
  };
}

function silenceOf(ms: number, ports: Ports): { over: Promise<undefined>; cancel: () => void } {
  let cancel: () => void = () => {};
  const over = new Promise<undefined>((resolve) => {
    cancel = ports.timers.after(ms, () => resolve(undefined));
  });
  return { over, cancel };
}
