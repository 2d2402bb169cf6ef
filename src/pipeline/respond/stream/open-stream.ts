import type { JsonObject } from "#domain/chat.ts";
import { type Execution, redactFailure } from "#pipeline/execute/execute.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { RequestRecorder } from "#pipeline/request-recorder.ts";
import type { OpenAttempt } from "#pipeline/settle/attempt.ts";
import { settleAnswer, streamOutcomes } from "#pipeline/settle/settle.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import { AnswerStream } from "./answer-stream.ts";
import { type CompletionIdentity, type ReasoningMode, type ShapeOptions, StreamShaper } from "./shape-stream.ts";

/** The stream of an execution, for its caller. When it ends its attempt is settled and the request recorded. */
export function openStream(
  { attempt, events, firstTokenMs }: Extract<Execution, { kind: "streaming" }>,
  { configuration, request, redacted, caller, recorder }: RequestContext,
  ports: Ports,
): AnswerStream {
  const shaper = new StreamShaper({
    model: attempt.model.upstreamId,
    identity: identityOf(recorder.decisionId, ports),
    wantsUsage: request.wantsUsage,
    reasoning: reasoningModeOf(request.body, configuration),
    maxHeldCharacters: configuration.policy.stream.max_event_bytes,
    restore: redacted.restore,
    guard: configuration.privacy.answerGuard,
  } satisfies ShapeOptions);
  return new AnswerStream({ events, shaper, ...endingOf(attempt, firstTokenMs, recorder, caller, ports) });
}

/** Id and time of chunks for which the upstream has given none. */
export function identityOf(decisionId: string, ports: Ports): CompletionIdentity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

/** Reasoning in front of an answer would break the answer's format, where one is asked for. */
function reasoningModeOf({ response_format }: JsonObject, { policy }: Configuration): ReasoningMode {
  const mode = policy.stream.reasoning;
  return mode === "content" && response_format != null ? "field" : mode;
}

/**
 * How a stream ends. A function of its own, without access to the request context: a closure keeps its scope alive, and the
 * conversation must not live as long as thousands of streams that last for minutes.
 */
function endingOf(
  attempt: OpenAttempt,
  firstTokenMs: number,
  recorder: RequestRecorder,
  caller: AbortControllerLike,
  ports: Ports,
): Pick<ConstructorParameters<typeof AnswerStream>[0], "redactFailure" | "abort" | "ended"> {
  return {
    redactFailure: (failure) => redactFailure(failure, attempt.configuration),
    abort: () => caller.abort(),
    ended: (end) => {
      settleAnswer(end, attempt, firstTokenMs, recorder, ports);
      recorder.finish(streamOutcomes[end.kind], 200);
    },
  };
}
