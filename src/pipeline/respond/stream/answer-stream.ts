import { isObject, type JsonObject } from "#domain/chat.ts";
import { redactFailure } from "#pipeline/execute/execute.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import type { RequestContext, RequestRecorder } from "#pipeline/request-context.ts";
import type { CallerStream } from "#pipeline/respond/reply.ts";
import { endedByLimit, hasAnswer } from "#pipeline/respond/whole-answer.ts";
import type { OpenAttempt } from "#pipeline/settle/attempt.ts";
import { type AnswerEnd, settleAnswer, streamOutcomes } from "#pipeline/settle/settle.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { ChunkEvent, EventBatch, EventStream, UpstreamAnswer, UpstreamFailure } from "#upstream/upstream.ts";
import { type CompletionIdentity, type ReasoningMode, StreamShaper } from "./shape-stream.ts";

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
    maxHeldCharacters: configuration.policy.stream.max_event_bytes,
    restore: redacted.restore,
    guard: configuration.privacy.answerGuard,
  });
  return new AnswerStream(events, shaper, { attempt, firstTokenMs, recorder, caller, ports });
}

/** Id and time of chunks for which the upstream has given none. */
export function completionIdentity(decisionId: string, ports: Ports): CompletionIdentity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

/** Reasoning in front of an answer would break the answer's format, where one is asked for. */
function reasoningMode({ response_format }: JsonObject, { policy }: Configuration): ReasoningMode {
  const mode = policy.stream.reasoning;
  return mode === "content" && response_format != null ? "field" : mode;
}

/** What an event is beside its data. */
const eventFraming = "data: \n\n";

/** What it means when the events stop without an end event. */
const endless: UpstreamFailure = { kind: "cut_off", message: "the upstream's answer stopped", dispatched: true };

/** What the end of a stream needs. Not the request's context: no conversation must live as long as a stream that lasts for minutes. */
interface StreamContext {
  readonly attempt: OpenAttempt;
  readonly firstTokenMs: number;
  readonly recorder: RequestRecorder;
  readonly caller: AbortControllerLike;
  readonly ports: Ports;
}

/**
 * The caller's side of one streamed answer: text of whole server-sent events, pulled as fast as the caller reads. Leaving
 * (`cancel`) aborts the upstream at once; whatever happens, it is settled and recorded once.
 */
export class AnswerStream implements CallerStream, Receiver<EventBatch> {
  readonly #events: EventStream;
  readonly #shaper: StreamShaper;
  readonly #context: StreamContext;
  #outputBytes = 0;
  #contentSeen = false;
  #receiver: Receiver<string> | undefined;
  #cancelled = false;
  #done = false;

  constructor(events: EventStream, shaper: StreamShaper, context: StreamContext) {
    this.#events = events;
    this.#shaper = shaper;
    this.#context = context;
  }

  /** All of the text, if the upstream's end has come already; undefined, and nothing is taken, if not. */
  takeAll(): string | undefined {
    const batch = this.#events.takeAll?.();
    return batch === undefined ? undefined : this.#take(batch);
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
    let text: string;
    try {
      text = this.#take(batch);
    } catch (error) {
      this.onError(error);
      return;
    }
    // What comes after a cancellation is read to its end and thrown away.
    const isSent = text !== "" && !this.#cancelled;
    if (!isSent && !this.#done) {
      this.#events.read(this);
      return;
    }
    const receiver = this.#receiver;
    this.#receiver = undefined;
    if (isSent) receiver?.onValue(text);
    else receiver?.onEnd();
  }

  onEnd(): void {
    this.onValue([{ kind: "broken", failure: endless, report: {} }]);
  }

  onError(error: unknown): void {
    if (this.#cancelled) this.#end({ kind: "caller_gone", report: {}, outputBytesSeen: this.#outputBytes });
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onError(error);
  }

  /** The caller has disconnected. */
  cancel(): void {
    if (this.#done || this.#cancelled) return;
    this.#cancelled = true;
    // A read under way sees the abort itself; otherwise somebody has to read what it leaves behind.
    const isReading = this.#receiver !== undefined;
    this.#context.caller.abort();
    if (!isReading && !this.#done) this.#events.read(this);
  }

  /** Ends the stream from our side: the text that tells the caller why. The upstream is aborted. */
  breakOff(failure: UpstreamFailure): string {
    if (this.#done) return "";
    const text = this.#shaper.shape({ kind: "broken", failure, report: {} });
    this.cancel();
    return text;
  }

  /** The text of a batch. */
  #take(batch: EventBatch): string {
    let text = "";
    for (const event of batch) {
      if (this.#done) break;
      if (event.kind === "broken") {
        const failure = redactFailure(event.failure, this.#context.attempt.configuration);
        text += this.#shaper.shape({ ...event, failure });
        // The caller's abort may reach the upstream call before it reaches this stream.
        this.#end(
          this.#cancelled || failure.kind === "aborted"
            ? { kind: "caller_gone", report: event.report, outputBytesSeen: this.#outputBytes }
            : { kind: "broken", failure, report: event.report },
        );
        break;
      }
      if (event.kind === "chunk") {
        this.#note(event);
      } else if (event.kind === "run") {
        this.#outputBytes += event.events.length - event.contentEnds.length * eventFraming.length;
        this.#contentSeen = true;
      }
      text += this.#shaper.shape(event);
      if (event.kind === "end") this.#end({ kind: "complete", report: event.report, empty: !this.#contentSeen });
    }
    return text;
  }

  #note(event: ChunkEvent): void {
    // The text of a chunk is longer than the tokens in it are many: a bound that costs nothing.
    this.#outputBytes += event.raw.length;
    if (this.#contentSeen) return;
    const { choices } = event.chunk;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (endedByLimit(choice)) this.#contentSeen = true; // there was something to be seen, but for the limit
      if (isObject(choice) && isObject(choice.delta) && hasAnswer(choice.delta)) this.#contentSeen = true;
    }
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
