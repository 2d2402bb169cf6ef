import type { TextReader, TextReadResult, TextReceiver } from "#http-client/response/text-reader.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import type { Attempt } from "#upstream/attempt.ts";
import type { ExtendedWait } from "#upstream/deadlines.ts";
import { cutOffFailure, garbageFailure } from "#upstream/failures.ts";
import type { EventReceiver, EventStream, FastPath, UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { endOfOnlyContent } from "./chunk-template.ts";
import { LargeEvents } from "./large-events.ts";
import { SseReader } from "./sse-reader.ts";
import { StreamValidator, type ValidatedEvent } from "./stream-validator.ts";

/** What one event may be at most, in bytes and in JSON values. */
export interface StreamLimits {
  readonly maxEventBytes: number;
  readonly maxValues: number;
}

export type EventBatch = readonly UpstreamEvent[];

/** How long a finished stream may keep us waiting for its usage or `[DONE]`, and, after that, for its end, in milliseconds. */
const lingerMs = 5_000;
const drainMs = 1_000;

const over: IteratorResult<EventBatch> = { done: true, value: undefined };

/**
 * The events of one SSE answer, in batches of what one read brought. Nothing is read ahead: a reader that does not ask
 * pauses the network, and the idle deadlines with it. Calls of `next` and `pull` must not overlap.
 */
export class StreamEvents implements AsyncIterableIterator<EventBatch>, EventStream, TextReceiver, ExtendedWait {
  // What the fast path needs comes first, side by side in memory.
  /** Where events of the template go that come alone in a read, while nothing is to be done but to look at their content. */
  #fastPath: FastPath | undefined;
  /** What such events begin and end with. Not in the template's object: each object that an event looks at is one more wait for memory. */
  #head = "";
  #tail = "";
  /** How many went there. */
  #forwarded = 0;
  /** Who waits for the next batch. */
  #receiver: EventReceiver | undefined;
  readonly #now: () => number;
  #idleFrom: number;
  #dataFrom: number;
  #pausedAt: number | undefined;
  #ended = false;
  readonly #silenceMs: number;
  readonly #attempt: Attempt;
  readonly #text: TextReader;
  readonly #sse: SseReader;
  readonly #validator: StreamValidator;
  /** What has been read of the stream and not handed out, because it takes several turns. Nothing more is read meanwhile. */
  readonly #large: LargeEvents;
  /** Bound of what is held until the first real event comes, in characters. */
  readonly #maxHeld: number;
  /** Choices to expect: `n` of the request. */
  readonly #choices: number;
  /** The first batch, read by `open`, not yet handed out. */
  #openingBatch: EventBatch | undefined;
  #batch: UpstreamEvent[] = [];
  /** Characters, other than comments, that have come since the last event that counted. */
  #charsWithoutData = 0;

  constructor(body: TextReader, attempt: Attempt, limits: StreamLimits, now: () => number) {
    this.#text = body;
    this.#attempt = attempt;
    this.#now = now;
    this.#maxHeld = limits.maxEventBytes;
    this.#validator = new StreamValidator(limits.maxValues, attempt.identity);
    this.#large = new LargeEvents(this.#validator);
    this.#sse = new SseReader(limits.maxEventBytes, this.#shortcut);
    this.#choices = Math.max(1, attempt.choices);
    this.#idleFrom = this.#now();
    this.#dataFrom = this.#idleFrom;
    this.#silenceMs = Math.min(attempt.timeoutsMs.idle, attempt.timeoutsMs.idle_data);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get report() {
    return this.#validator.report;
  }

  /**
   * Reads until the first event that carries something; the first batch is what came up to then, comments left out. An
   * answer that fails before that is still a plain failure, which is given back.
   */
  async open(): Promise<UpstreamFailure | undefined> {
    const { deadlines, timeoutsMs, startedAt } = this.#attempt;
    const firstEventAt = startedAt + timeoutsMs.first_event;
    deadlines.await("first_event", firstEventAt);
    const opening: UpstreamEvent[] = [];
    let held = 0;
    for (;;) {
      const batch = await this.#nextBatch();
      deadlines.await("first_event", firstEventAt);
      for (const event of batch) {
        if (event.kind === "broken") {
          if (!this.#validator.hasContent) return event.failure;
        } else if (event.kind === "end" && !this.#validator.hasContent) {
          return garbageFailure("the upstream's stream ended without content");
        }
        if (event.kind !== "keepalive") opening.push(event);
        if (event.kind === "chunk") held += event.raw.length;
        else if (event.kind === "run") held += event.events.length;
      }
      if (this.#validator.hasContent) {
        this.#pausedAt = this.#now();
        this.#idleFrom = this.#pausedAt;
        this.#dataFrom = this.#pausedAt;
        if (!this.#ended) deadlines.pause();
        this.#openingBatch = opening;
        return undefined;
      }
      if (held > this.#maxHeld) return garbageFailure("the upstream's stream opens without end");
    }
  }

  #nextBatch(): Promise<EventBatch> {
    if (!this.#large.isEmpty) return this.#readLarge();
    return this.#text
      .read()
      .then((read: TextReadResult) => (read.done ? this.#onClose() : this.#onText(read.value)), this.#onReadError);
  }

  next(): Promise<IteratorResult<EventBatch>> {
    return new Promise((resolve, reject) => {
      this.pull({
        onEvents: (value) => {
          resolve({ done: false, value });
          return false;
        },
        onOver: () => resolve(over),
        onError: reject,
      });
    });
  }

  /** Nothing waits for a promise between the socket and the receiver: that would cost as much as the event itself. */
  pull(receiver: EventReceiver): void {
    this.#leaveFastPath();
    const opening = this.#openingBatch;
    if (opening !== undefined) {
      this.#openingBatch = undefined;
      if (!receiver.onEvents(opening)) return;
    }
    if (this.#ended) receiver.onOver();
    else if (!this.#large.isEmpty) {
      this.#receiver = receiver;
      this.#deliverLarge();
    } else {
      this.#receiver = receiver;
      this.#resume();
      this.#readOn();
    }
  }

  takeAll(): EventBatch | undefined {
    const opening = this.#openingBatch;
    if (!this.#ended || opening === undefined) return undefined;
    this.#openingBatch = undefined;
    return opening;
  }

  #readOn(): void {
    if (this.#text.pull !== undefined) this.#text.pull(this);
    else {
      this.#text.read().then(
        (read) => {
          if (read.done) this.onEnd();
          else if (this.onText(read.value)) this.#readOn();
        },
        (error) => this.onError(error),
      );
    }
  }

  onText(text: string): boolean {
    if (this.#fastPath !== undefined) {
      const goesOn = this.#forwardFast(text, this.#fastPath);
      if (goesOn !== undefined) return goesOn;
      this.#leaveFastPath();
    }
    return this.#deliver(this.#onText, text);
  }

  /**
   * Takes a text that is one more event of the template, as nearly every read of a stream brings; undefined for another. Does for
   * it what `deliver` does in general, with few looks at few objects: in a paced stream each of them waits for memory. The deadlines
   * ask for `extendedTo`.
   */
  #forwardFast(text: string, fastPath: FastPath): boolean | undefined {
    const end = text.length > largeBodyBytes ? -1 : endOfOnlyContent(text, this.#head, this.#tail);
    if (end < 0) return undefined;
    const receiver = this.#receiver;
    const now = this.#now();
    this.#receiver = undefined;
    this.#idleFrom = now;
    this.#dataFrom = now;
    this.#pausedAt = now;
    const goesOn = fastPath.forward(text, this.#head.length, end);
    if (goesOn !== undefined) this.#forwarded += 1;
    if (goesOn === false || this.#ended) {
      // Unless the receiver has pulled again meanwhile.
      if (this.#pausedAt !== undefined) this.#attempt.deadlines.pause();
      if (goesOn === true) receiver?.onOver();
      return false;
    }
    this.#receiver = receiver;
    this.#pausedAt = undefined;
    return goesOn;
  }

  get extendedTo(): number {
    return this.#idleFrom + this.#silenceMs;
  }

  /** Looks after a batch whether further events like its only one may take the fast path. */
  #enterFastPath(batch: EventBatch, receiver: EventReceiver | undefined): void {
    const [event] = batch;
    if (batch.length !== 1 || event?.kind !== "run" || receiver?.fastPathFor === undefined) return;
    const { template } = this.#validator;
    if (event.template !== template || !this.#sse.isBetweenEvents || this.#finished()) return;
    this.#head = template.head;
    this.#tail = template.tail;
    this.#fastPath = receiver.fastPathFor(template);
  }

  #leaveFastPath(): void {
    if (this.#fastPath === undefined) return;
    this.#fastPath = undefined;
    this.#validator.addMatches(this.#forwarded);
    this.#forwarded = 0;
  }

  onEnd(): void {
    if (this.#deliver(this.#onClose, undefined)) this.#readOn();
  }

  onError(error: unknown): void {
    if (this.#deliver(this.#onReadError, error)) this.#readOn();
  }

  /** Hands out what a read brought. True if more is to be read: it was nothing, or the receiver goes on waiting. */
  #deliver<T>(take: (read: T) => EventBatch, read: T): boolean {
    const receiver = this.#receiver;
    let batch: EventBatch;
    try {
      batch = take(read);
    } catch (error) {
      this.#receiver = undefined;
      receiver?.onError(error);
      return false;
    }
    if (batch.length > 0) {
      this.#receiver = undefined;
      if (!this.#ended) this.#pausedAt = this.#idleFrom;
      const goesOn = receiver?.onEvents(batch) === true;
      if (!goesOn || this.#ended) {
        // Unless the receiver has pulled again meanwhile.
        if (this.#pausedAt !== undefined) this.#attempt.deadlines.pause();
        if (goesOn) receiver?.onOver();
        return false;
      }
      this.#pausedAt = undefined;
      this.#receiver = receiver;
      this.#enterFastPath(batch, receiver);
    }
    if (!this.#large.isEmpty) {
      this.#deliverLarge();
      return false;
    }
    if (this.#ended) {
      this.#receiver = undefined;
      receiver?.onOver();
      return false;
    }
    this.#setDeadline();
    return true;
  }

  /** Hands out what is queued. */
  #deliverLarge(): void {
    const same = (batch: EventBatch) => batch;
    this.#readLarge().then(
      (batch) => {
        if (this.#deliver(same, batch)) this.#readOn();
      },
      (error) => this.onError(error),
    );
  }

  /** Events up to the end of the next piece of a large one. The upstream is not waited for in the meantime. */
  async #readLarge(): Promise<EventBatch> {
    this.#attempt.deadlines.pause();
    const pausedAt = this.#now();
    const batch: UpstreamEvent[] = [];
    this.#batch = batch;
    while (batch.length === 0 && !this.#ended) {
      const validated = await this.#large.next();
      if (validated === undefined) break;
      if (!this.#ended) this.#take(validated);
    }
    const paused = this.#now() - pausedAt;
    this.#idleFrom += paused;
    this.#dataFrom += paused;
    return batch;
  }

  /** Leaving early aborts the call. */
  return(): Promise<IteratorResult<EventBatch>> {
    this.#openingBatch = undefined;
    this.#large.clear();
    if (!this.#ended) {
      this.#ended = true;
      this.#attempt.end(true);
    }
    return Promise.resolve(over);
  }

  /** The time the reader took does not count as the upstream's silence. */
  #resume(): void {
    if (this.#pausedAt !== undefined) {
      const paused = this.#now() - this.#pausedAt;
      this.#idleFrom += paused;
      this.#dataFrom += paused;
      this.#pausedAt = undefined;
    }
    this.#setDeadline();
  }

  #setDeadline(): void {
    const { idle, idle_data } = this.#attempt.timeoutsMs;
    const idleAt = this.#idleFrom + (this.#finished() ? Math.min(idle, lingerMs) : idle);
    const dataAt = this.#dataFrom + idle_data;
    const extended = this.#fastPath === undefined ? undefined : this;
    if (idleAt <= dataAt) this.#attempt.deadlines.await("idle", idleAt, extended);
    else this.#attempt.deadlines.await("idle_data", dataAt, extended);
  }

  #finished(): boolean {
    return this.#validator.complete && this.#validator.finishedChoices >= this.#choices;
  }

  /** What one read from the network brought; the last batch ends in `end` or `broken`. */
  readonly #onText = (text: string): UpstreamEvent[] => {
    this.#batch = [];
    const comments = this.#sse.comments;
    this.#idleFrom = this.#now();
    if (this.#sse.push(text, this.#sink) === "too_large" && !this.#ended) {
      const tooLarge = garbageFailure("the upstream sent an event that is too large");
      if (!this.#large.fail(tooLarge)) this.#endBroken(tooLarge);
    }
    if (this.#batch.length > 0 || !this.#large.isEmpty) {
      this.#dataFrom = this.#idleFrom;
      this.#charsWithoutData = 0;
      return this.#batch;
    }
    if (this.#sse.comments > comments) {
      this.#batch.push({ kind: "keepalive" });
      return this.#batch;
    }
    // One event may be as large as the bound; twice that without one is neither data nor a sign of life.
    this.#charsWithoutData += text.length;
    if (this.#charsWithoutData > 2 * this.#maxHeld)
      this.#endBroken(garbageFailure("the upstream sends much, but no data"));
    return this.#batch;
  };

  readonly #shortcut = (text: string, from: number, until: number): number => {
    if (this.#ended || !this.#large.isEmpty) return from;
    const run = this.#validator.matchTemplate(text, from, Math.min(until, from + largeBodyBytes));
    if (run === undefined) return from;
    this.#batch.push(run);
    return from + run.events.length;
  };

  readonly #sink = (data: string, name: string): void => {
    if (this.#ended || this.#large.take(data, name)) return;
    this.#take(this.#validator.validate(data, name));
  };

  #take(validated: ValidatedEvent): void {
    switch (validated.kind) {
      case "chunk":
        this.#batch.push(validated);
        return;
      case "done":
        this.#onDone();
        return;
      case "failed":
        this.#endBroken(validated.failure);
        return;
      case "nothing":
        return;
    }
  }

  #onDone(): void {
    if (!this.#validator.complete) {
      this.#endBroken(cutOffFailure("the upstream ended its stream without a finish reason"));
      return;
    }
    this.#ended = true;
    this.#batch.push({ kind: "end", report: this.#validator.report });
    this.#attempt.end(false);
    if (!this.#text.ended) void this.#drain();
  }

  /** The connection closed: the content decides whether that was the end. */
  readonly #onClose = (): UpstreamEvent[] => {
    this.#batch = [];
    this.#sse.finish((data, name) => {
      const validated = this.#ended ? undefined : this.#validator.validate(data, name);
      // An unfinished event that cannot be read is the mark of a cut, not garbage; what follows decides.
      if (validated?.kind === "chunk") this.#batch.push(validated);
      else if (validated?.kind === "failed" && validated.failure.kind !== "garbage") this.#endBroken(validated.failure);
    });
    if (!this.#ended) this.#endOrFail(cutOffFailure("the upstream's stream was cut off"));
    return this.#batch;
  };

  /** The read failed: reset, aborted, timed out. After the last finish reason only the caller's abort is still bad news. */
  readonly #onReadError = (error: unknown): UpstreamEvent[] => {
    this.#batch = [];
    const failure = this.#attempt.failureFrom(error);
    if (failure.kind === "aborted") this.#endBroken(failure);
    else this.#endOrFail(failure);
    return this.#batch;
  };

  #endOrFail(failure: UpstreamFailure): void {
    if (!this.#validator.complete) {
      this.#endBroken(failure);
      return;
    }
    this.#ended = true;
    this.#batch.push({ kind: "end", report: this.#validator.report });
    this.#attempt.end(true);
  }

  #endBroken(failure: UpstreamFailure): void {
    this.#ended = true;
    this.#batch.push({ kind: "broken", failure, report: this.#validator.report });
    this.#attempt.end(true);
  }

  /**
   * After `[DONE]` only the end of the body is missing, mostly in the same packet. Reading up to it lets the connection
   * be used again; a server that keeps it open loses it.
   */
  async #drain(): Promise<void> {
    const keep = this.#attempt.closeAfter(drainMs);
    try {
      const { done } = await this.#text.read();
      if (!done) this.#attempt.end(true);
    } catch {
      // The answer is whole; how its connection dies is of no interest.
    }
    keep();
  }
}
