import { isObject, type Json } from "#domain/chat.ts";
import { endedByLimit } from "#pipeline/execute/caller-faults/caller-faults.ts";
import type { CallerReceiver, CallerStream } from "#pipeline/respond/reply.ts";
import type { GuardedStream } from "#privacy/redaction.ts";
import type {
  ChunkEvent,
  ContentTemplate,
  EventReceiver,
  EventStream,
  FastPath,
  UpstreamEvent,
  UpstreamFailure,
  UsageReport,
} from "#upstream/upstream.ts";
import type { StreamShaper } from "./shape-stream.ts";

/** How an answer stream ended; reported exactly once, for settlement. */
export type StreamEnd = {
  /** What the upstream calls the model that answered, if it is another than the one asked. */
  readonly otherModel?: string | undefined;
} & (
  | { readonly kind: "complete"; readonly report: UsageReport; readonly empty: boolean }
  | { readonly kind: "broken"; readonly failure: UpstreamFailure; readonly report: UsageReport }
  | { readonly kind: "caller_gone"; readonly report: UsageReport; readonly outputBytesSeen: number }
);

/** What an event is beside its data. */
const eventFraming = "data: \n\n";

/** What it means when the events stop without an end event. */
const endless: readonly UpstreamEvent[] = [
  { kind: "broken", failure: { kind: "cut_off", message: "", dispatched: true }, report: {} },
];

/**
 * The caller's side of one streamed answer: text of whole server-sent events, pulled as fast as the caller reads. Leaving
 * (`cancel`) aborts the upstream at once; whatever happens, `ended` is called once.
 */
export class AnswerStream implements CallerStream, EventReceiver, FastPath {
  // What the fast path needs comes first, side by side in memory.
  /** Who waits for the next text. */
  #receiver: CallerReceiver | undefined;
  #guarded: GuardedStream | undefined;
  #outputBytes = 0;
  #cancelled = false;
  readonly #events: EventStream;
  /** For events that do not offer `pull`. */
  readonly #iterator: AsyncIterator<readonly UpstreamEvent[]>;
  readonly #shaper: StreamShaper;
  readonly #redactFailure: (failure: UpstreamFailure) => UpstreamFailure;
  readonly #abort: () => void;
  readonly #ended: (end: StreamEnd) => void;
  #done = false;
  #contentSeen = false;

  constructor(parts: {
    events: EventStream;
    shaper: StreamShaper;
    /** Redacts the message of an upstream failure: it may echo the prompt. */
    redactFailure: (failure: UpstreamFailure) => UpstreamFailure;
    /** Makes the upstream stop; the events end soon after. */
    abort: () => void;
    ended: (end: StreamEnd) => void;
  }) {
    this.#events = parts.events;
    this.#iterator = parts.events[Symbol.asyncIterator]();
    this.#shaper = parts.shaper;
    this.#redactFailure = parts.redactFailure;
    this.#abort = parts.abort;
    this.#ended = parts.ended;
  }

  /** All of the text, in parts, if the upstream's end has come already; undefined, and nothing is taken, if not. */
  takeAll(): readonly string[] | undefined {
    const batch = this.#events.takeAll?.();
    return batch === undefined ? undefined : this.#take(batch);
  }

  /** The next text for the caller, undefined after the last. Not to be called again before it has answered. */
  next(): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const onText = (text: string) => {
        resolve(text);
        return false;
      };
      this.pull({ onText, onEnd: () => resolve(undefined), onError: reject });
    });
  }

  /** The same for a receiver: nothing waits for a promise between the upstream's socket and the caller's. */
  pull(receiver: CallerReceiver): void {
    if (this.#done) {
      receiver.onEnd();
      return;
    }
    this.#receiver = receiver;
    this.#readOn();
  }

  #readOn(): void {
    if (this.#events.pull !== undefined) this.#events.pull(this);
    else {
      this.#iterator.next().then(
        (step) => {
          if (this.onEvents(step.done === true ? endless : step.value)) this.#readOn();
        },
        (error) => this.onError(error),
      );
    }
  }

  onEvents(batch: readonly UpstreamEvent[]): boolean {
    let text: string;
    try {
      const parts = this.#take(batch);
      text = parts.length === 1 ? (parts[0] ?? "") : parts.join("");
    } catch (error) {
      this.onError(error);
      return false;
    }
    if (text === "" && !this.#done) return true;
    const receiver = this.#receiver;
    this.#receiver = undefined;
    if (text === "") {
      receiver?.onEnd();
    } else if (receiver?.onText(text) === true) {
      if (this.#done) {
        receiver.onEnd();
        return false;
      }
      this.#receiver = receiver;
      return true;
    }
    if (this.#cancelled) this.#readLeftovers();
    return false;
  }

  fastPathFor(template: ContentTemplate): FastPath | undefined {
    const fastPath = this.#contentSeen && !this.#done ? this.#shaper.fastPathFor(template) : undefined;
    if (fastPath === undefined) return undefined;
    this.#guarded = fastPath.guarded;
    return this;
  }

  forward(event: string, from: number, to: number): boolean | undefined {
    if (this.#guarded?.passesUnchanged(event, from, to) === false) return undefined;
    this.#outputBytes += event.length - eventFraming.length;
    if (this.#receiver?.onText(event) === true) return true;
    this.#receiver = undefined;
    if (this.#cancelled) this.#readLeftovers();
    return false;
  }

  onOver(): void {
    this.onEvents(endless);
  }

  onError(error: unknown): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onError(error);
  }

  /** The caller has disconnected. */
  cancel(): void {
    if (this.#done || this.#cancelled) return;
    this.#cancelled = true;
    this.#abort();
    this.#readLeftovers();
  }

  /** A read under way sees an abort itself; otherwise somebody has to read what it leaves behind. Only the end matters. */
  #readLeftovers(): void {
    if (this.#done || this.#receiver !== undefined) return;
    this.pull({
      onText: () => true,
      onEnd: () => {},
      onError: () => this.#end({ kind: "caller_gone", report: {}, outputBytesSeen: this.#outputBytes }),
    });
  }

  /** Ends the stream from our side: the text that tells the caller why. The upstream is aborted. */
  breakOff(failure: UpstreamFailure): string {
    if (this.#done) return "";
    const text = this.#shaper.shape({ kind: "broken", failure, report: {} });
    this.cancel();
    return text;
  }

  /** The text of a batch, in parts. */
  #take(batch: readonly UpstreamEvent[]): string[] {
    const parts: string[] = [];
    for (const event of batch) {
      if (this.#done) break;
      if (event.kind === "chunk") {
        this.#note(event);
        addText(parts, this.#shaper.shape(event));
      } else if (event.kind === "run") {
        this.#outputBytes += event.dataLength;
        this.#contentSeen = true;
        addText(parts, this.#shaper.shape(event));
      } else if (event.kind === "end") {
        addText(parts, this.#shaper.shape(event));
        this.#end({ kind: "complete", report: event.report, empty: !this.#contentSeen });
      } else if (event.kind === "broken") {
        const failure = this.#redactFailure(event.failure);
        addText(parts, this.#shaper.shape({ ...event, failure }));
        const { report } = event;
        // The caller's abort may reach the upstream call before it reaches this stream.
        this.#end(
          this.#cancelled || failure.kind === "aborted"
            ? { kind: "caller_gone", report, outputBytesSeen: this.#outputBytes }
            : { kind: "broken", failure, report },
        );
      }
    }
    return parts;
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

  #end(end: StreamEnd): void {
    if (this.#done) return;
    this.#done = true;
    const { otherModel } = this.#shaper;
    this.#ended(otherModel === undefined ? end : { ...end, otherModel });
  }
}

/** Texts up to so many characters are joined. Joining longer ones would copy them, which costs more than writing them one by one. */
const maxJoinedLength = 2_048;

/** Adds a text behind others. */
function addText(parts: string[], text: string): void {
  if (text === "") return;
  const last = parts.at(-1);
  if (last === undefined || last.length + text.length > maxJoinedLength) parts.push(text);
  else parts[parts.length - 1] = last + text;
}
