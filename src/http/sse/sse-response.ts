import { type CallerStream, keepAlive } from "#pipeline/respond/reply.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

export interface SseOptions {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonic">;
  /** A comment goes out after so long without an event. */
  readonly keepaliveMs: number;
  /** A caller that takes nothing for so long is cut off. */
  readonly writeStallMs: number;
  /** Is sent before the first event. */
  readonly comment?: string | undefined;
  readonly onClose: () => void;
}

/** The runtime sends a text of so many characters when it is written. Flushing it would only make a promise. */
const sentAtOnce = 256;

/**
 * The body of a streamed answer. Text is read only when the caller has taken the text before it, so a slow caller slows
 * the upstream and nothing is queued here. A caller that disconnects cancels the upstream call.
 */
export class SseBody implements Receiver<string> {
  #open = true;
  /** Where to write; provided by the server when it sends the answer. */
  #sink: ReadableStreamDirectController | undefined;
  // Here and not in an object of options: each object that an event looks at is one more wait for memory.
  readonly #clock: Pick<Clock, "monotonic">;
  /** Which side the stream waits for, and since when: the upstream to send, or the caller to read. */
  #waitsFor: "upstream" | "caller" = "upstream";
  #sinceMs: number;
  /** A stream of the runtime's direct type, which writes without a queue; to be given to the server unchanged. */
  readonly body: ReadableStream;
  readonly #stream: CallerStream;
  readonly #options: SseOptions;
  #stopWatching: () => void;
  /** The error event of `endWithError`, kept until there is a sink. */
  #finalText = "";

  constructor(stream: CallerStream, options: SseOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#clock = options.clock;
    this.#sinceMs = this.#clock.monotonic();
    // One timer for the stream compares the recorded times: a timer for each event would cost more than the event.
    this.#stopWatching = this.#watchIn(Math.min(options.keepaliveMs, options.writeStallMs));
    this.body = new ReadableStream({
      type: "direct",
      pull: (sink) => {
        this.#sink = sink;
        if (!this.#open) this.#finish(sink, this.#finalText);
        else if (options.comment !== undefined) this.onValue(options.comment);
        else stream.read(this);
      },
      cancel: () => this.#cancel(),
    });
  }

  /** Ends the stream with an error event that says why. */
  endWithError(failure: UpstreamFailure): void {
    if (!this.#open) return;
    // Closed before: what the abort makes of the stream is not to be sent besides.
    this.#close();
    const text = this.#stream.breakOff(failure);
    if (this.#sink === undefined) this.#finalText = text;
    else this.#finish(this.#sink, text);
  }

  onValue(text: string): void {
    const sink = this.#sink;
    if (!this.#open || sink === undefined) return;
    try {
      const taken = this.#write(sink, text);
      // The write may have found out that the caller has left.
      if (!this.#open) return;
      if (taken === undefined) this.#stream.read(this);
      else
        taken.then(
          () => this.#open && this.#stream.read(this),
          (error) => this.onError(error),
        );
    } catch (error) {
      this.onError(error);
    }
  }

  onEnd(): void {
    if (!this.#open) return;
    this.#close();
    if (this.#sink !== undefined) this.#finish(this.#sink, "");
  }

  onError(error: unknown): void {
    if (!this.#open) return;
    this.#cancel();
    this.#sink?.close(error instanceof Error ? error : new Error("the stream failed"));
  }

  /** Writes at once. The promise, if any, resolves when a slow caller has read the text. */
  #write(sink: ReadableStreamDirectController, text: string): Promise<void> | undefined {
    const taken = sink.write(text);
    if (text.length < sentAtOnce) void sink.flush();
    this.#sinceMs = this.#clock.monotonic();
    if (typeof taken === "number") return undefined;
    this.#waitsFor = "caller";
    return taken.then(() => {
      this.#waitsFor = "upstream";
      this.#sinceMs = this.#clock.monotonic();
    });
  }

  #finish(sink: ReadableStreamDirectController, text: string): void {
    try {
      if (text !== "") void sink.write(text);
      sink.close();
    } catch {
      // The caller has gone in this moment: there is nothing left to end.
    }
  }

  #watchIn(ms: number): () => void {
    return this.#options.timers.after(ms, () => this.#watch());
  }

  #watch(): void {
    const { keepaliveMs, writeStallMs } = this.#options;
    const sink = this.#sink;
    if (!this.#open) return;
    let nextMs = Math.min(keepaliveMs, writeStallMs);
    const waitedMs = this.#clock.monotonic() - this.#sinceMs;
    const limitMs = this.#waitsFor === "upstream" ? keepaliveMs : writeStallMs;
    if (this.#waitsFor === "caller" && waitedMs >= limitMs) {
      this.onError(new Error("the caller stopped reading"));
      return;
    }
    if (waitedMs < limitMs) nextMs = Math.min(nextMs, limitMs - waitedMs);
    else if (sink !== undefined) void this.#write(sink, keepAlive);
    this.#stopWatching = this.#watchIn(nextMs);
  }

  #cancel(): void {
    this.#close();
    this.#stream.cancel();
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stopWatching();
    this.#options.onClose();
  }
}
