import type { JsonObject } from "#domain/chat.ts";
import { redactFailure, withoutKey } from "#pipeline/execute/execute.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import type { RequestContext, RequestRecorder } from "#pipeline/request-context.ts";
import { completionIdentity } from "#pipeline/respond/completion-identity.ts";
import type { CallerStream } from "#pipeline/respond/reply.ts";
import type { OpenAttempt } from "#pipeline/settle/attempt.ts";
import { type AnswerEnd, settleAnswer, streamOutcomes } from "#pipeline/settle/settle.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { Receiver } from "#platform/receiver.ts";
import {
  answerLimits,
  type EventBatch,
  type EventStream,
  type UpstreamAnswer,
  type UpstreamFailure,
} from "#upstream/upstream.ts";
import { type ReasoningMode, StreamShaper } from "./shape-stream.ts";

/** The stream of an execution, for its caller. When it ends its attempt is settled and the request recorded. */
export function openStream(
  attempt: OpenAttempt,
  { events, firstTokenMs }: Extract<UpstreamAnswer, { kind: "stream" }>,
  { configuration, request, redacted, caller, recorder }: RequestContext,
  ports: Ports,
): AnswerStream {
  const shaper = new StreamShaper({
    model: attempt.model.upstreamId,
    identity: completionIdentity(recorder.decisionId, ports),
    wantsUsage: request.wantsUsage,
    reasoning: reasoningMode(request.body, configuration),
    maxHeldCharacters: answerLimits.maxEventBytes,
    restore: redacted.restore,
  });
  return new AnswerStream(events, shaper, { attempt, firstTokenMs, recorder, caller, ports });
}

/** Reasoning in front of an answer would break the answer's format, where one is asked for. */
function reasoningMode({ response_format }: JsonObject, { policy }: Configuration): ReasoningMode {
  const mode = policy.stream.reasoning;
  return mode === "content" && response_format != null ? "field" : mode;
}

/** What it means when the events stop without an end event. */
const endless: UpstreamFailure = { kind: "cut_off", message: "the upstream's answer stopped", dispatched: true };

/** What the end of a stream needs. Not the request's context: no conversation must live as long as a stream. */
interface StreamContext {
  readonly attempt: OpenAttempt;
  readonly firstTokenMs: number;
  readonly recorder: RequestRecorder;
  readonly caller: AbortControllerLike;
  readonly ports: Ports;
}

/**
 * The caller's side of one streamed answer: text of whole server-sent events, pulled as fast as the caller reads. The
 * way of an event: `upstream/stream/` reads and validates it, the shaper brings it into the form that callers rely on
 * and restores what was redacted, the gateway's own key is taken out here, and `http/sse/` writes it. Whatever happens,
 * the attempt is settled and the request recorded once.
 */
export class AnswerStream implements CallerStream, Receiver<EventBatch> {
  readonly #events: EventStream;
  readonly #shaper: StreamShaper;
  readonly #context: StreamContext;
  #receiver: Receiver<string> | undefined;
  #done = false;

  constructor(events: EventStream, shaper: StreamShaper, context: StreamContext) {
    this.#events = events;
    this.#shaper = shaper;
    this.#context = context;
  }

  read(receiver: Receiver<string>): void {
    if (this.#done) {
      receiver.onEnd();
      return;
    }
    this.#receiver = receiver;
    this.#events.read(this);
  }

  onValue(batch: EventBatch): void {
    if (this.#done) return;
    let text: string;
    try {
      text = this.#take(batch);
    } catch (error) {
      this.onError(error);
      return;
    }
    if (text === "" && !this.#done) {
      this.#events.read(this);
      return;
    }
    const receiver = this.#receiver;
    this.#receiver = undefined;
    if (text === "") receiver?.onEnd();
    else receiver?.onValue(text);
  }

  onEnd(): void {
    this.onValue([{ kind: "broken", failure: endless, report: {} }]);
  }

  onError(error: unknown): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onError(error);
  }

  /** The caller has left, or is cut off. The one place that settles such a stream, whoever sees it first. */
  cancel(): void {
    if (this.#done) return;
    const { report, outputBytes } = this.#events.stop();
    this.#end({ kind: "caller_gone", report, outputBytesSeen: outputBytes });
    this.#context.caller.abort();
  }

  /** Ends the stream from our side: the text that tells the caller why. The upstream is aborted. */
  breakOff(failure: UpstreamFailure): string {
    if (this.#done) return "";
    const text = this.#shaper.shape({ kind: "broken", failure, report: {} });
    this.cancel();
    return withoutKey(text, this.#context.attempt.configuration);
  }

  /** The text of a batch. */
  #take(batch: EventBatch): string {
    const { configuration } = this.#context.attempt;
    let text = "";
    for (const event of batch) {
      if (event.kind !== "broken") {
        text += this.#shaper.shape(event);
        if (event.kind === "end") this.#end({ kind: "complete", report: event.report, empty: event.isEmpty });
        continue;
      }
      const failure = redactFailure(event.failure, configuration);
      text += this.#shaper.shape({ ...event, failure });
      // The caller's abort may reach the upstream call before it reaches this stream.
      if (failure.kind === "aborted") this.cancel();
      else this.#end({ kind: "broken", failure, report: event.report });
    }
    return withoutKey(text, configuration);
  }

  #end(end: AnswerEnd): void {
    if (this.#done) return;
    this.#done = true;
    const { otherModel } = this.#shaper;
    const { attempt, firstTokenMs, recorder, ports } = this.#context;
    settleAnswer(otherModel === undefined ? end : { ...end, otherModel }, attempt, firstTokenMs, recorder, ports);
    recorder.finish(streamOutcomes[end.kind], 200);
  }
}
