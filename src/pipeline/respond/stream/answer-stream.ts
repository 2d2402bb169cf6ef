import { isObject, type Json } from "#domain/chat.ts";
import type { CallerStream } from "#pipeline/respond/reply.ts";
import { endedByLimit } from "#pipeline/respond/whole-answer.ts";
import type { AnswerEnd } from "#pipeline/settle/settle.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { ChunkEvent, EventBatch, EventStream, UpstreamFailure } from "#upstream/upstream.ts";
import type { StreamShaper } from "./shape-stream.ts";

/** What an event is beside its data. */
const eventFraming = "data: \n\n";

/** What it means when the events stop without an end event. */
const endless: EventBatch = [
  { kind: "broken", failure: { kind: "cut_off", message: "", dispatched: true }, report: {} },
];

/**
 * The caller's side of one streamed answer: text of whole server-sent events, pulled as fast as the caller reads. Leaving
 * (`cancel`) aborts the upstream at once; whatever happens, `ended` is called once.
 */
export class AnswerStream implements CallerStream, Receiver<EventBatch> {
  readonly #events: EventStream;
  readonly #shaper: StreamShaper;
  readonly #redactFailure: (failure: UpstreamFailure) => UpstreamFailure;
  readonly #abort: () => void;
  readonly #ended: (end: AnswerEnd) => void;
  #outputBytes = 0;
  #contentSeen = false;
  #receiver: Receiver<string> | undefined;
  #cancelled = false;
  #done = false;

  constructor(parts: {
    events: EventStream;
    shaper: StreamShaper;
    /** Redacts the message of an upstream failure: it may echo the prompt. */
    redactFailure: (failure: UpstreamFailure) => UpstreamFailure;
    /** Makes the upstream stop; the events end soon after. */
    abort: () => void;
    ended: (end: AnswerEnd) => void;
  }) {
    this.#events = parts.events;
    this.#shaper = parts.shaper;
    this.#redactFailure = parts.redactFailure;
    this.#abort = parts.abort;
    this.#ended = parts.ended;
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
    this.onValue(endless);
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
    this.#abort();
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
        const failure = this.#redactFailure(event.failure);
        text += this.#shaper.shape({ ...event, failure });
        const { report } = event;
        // The caller's abort may reach the upstream call before it reaches this stream.
        this.#end(
          this.#cancelled || failure.kind === "aborted"
            ? { kind: "caller_gone", report, outputBytesSeen: this.#outputBytes }
            : { kind: "broken", failure, report },
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
      const delta: Json | undefined = isObject(choice) ? choice.delta : undefined;
      if (!isObject(delta)) continue;
      if (delta.content || delta.tool_calls || delta.reasoning || delta.reasoning_content || delta.refusal) {
        this.#contentSeen = true;
      }
    }
  }

  #end(end: AnswerEnd): void {
    if (this.#done) return;
    this.#done = true;
    const { otherModel } = this.#shaper;
    this.#ended(otherModel === undefined ? end : { ...end, otherModel });
  }
}
