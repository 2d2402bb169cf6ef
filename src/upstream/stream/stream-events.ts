import type { TextReader } from "#http-client/response/body-text.ts";
import { nextOf, type Receiver } from "#platform/receiver.ts";
import type { Attempt } from "#upstream/attempt.ts";
import { cutOffFailure, garbageFailure } from "#upstream/failures.ts";
import type { AnswerLimits, EventBatch, EventStream, UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { SseReader } from "./sse-reader.ts";
import { StreamValidator, type ValidatedEvent } from "./stream-validator.ts";

/** How long a finished stream may keep us waiting for its usage or `[DONE]`, and, after that, for its end, in milliseconds. */
const lingerMs = 5_000;
const drainMs = 1_000;

/** What an event is beside its data. */
const eventFraming = "data: \n\n";

/**
 * The events of one answer, in batches of what one read brought. Nothing is read ahead: a reader that does not ask
 * pauses the network, and the idle deadlines with it. Each read is handed over in the very call that brings it
 * (`Receiver`): a promise for each costs a quarter of an event.
 */
export class StreamEvents implements EventStream, Receiver<string> {
  readonly #text: TextReader;
  readonly #attempt: Attempt;
  readonly #now: () => number;
  readonly #sse: SseReader;
  readonly #validator: StreamValidator;
  /** Bound of what is held until the first real event comes, in characters. */
  readonly #maxHeld: number;
  #receiver: Receiver<EventBatch> | undefined;
  #idleFrom: number;
  #dataFrom: number;
  #pausedAt: number | undefined;
  #isOpen = false;
  #ended = false;
  /** `[DONE]` has come, and no usage before it: some hosts state it behind. */
  #awaitsUsage = false;
  /** The first batch, read by `open`, not yet handed out. */
  #openingBatch: EventBatch | undefined;
  #batch: UpstreamEvent[] = [];
  #outputBytes = 0;

  constructor(body: TextReader, attempt: Attempt, limits: AnswerLimits, now: () => number) {
    this.#text = body;
    this.#attempt = attempt;
    this.#now = now;
    this.#maxHeld = limits.maxEventBytes;
    this.#validator = new StreamValidator(limits, attempt.choices, attempt.identity);
    this.#sse = new SseReader(limits.maxEventBytes, attempt.stream ? this.#takeRun : undefined);
    this.#idleFrom = this.#now();
    this.#dataFrom = this.#idleFrom;
  }

  /**
   * Reads until the first event that carries something; the first batch is what came up to then, beginning with
   * `first`, which has been read already; `isWhole`: that is a whole answer, and so the only event. An answer that
   * fails before that is still a plain failure, which is given back.
   */
  async open(first: string, isWhole = false): Promise<UpstreamFailure | undefined> {
    const { deadlines, timeoutsMs, startedAt } = this.#attempt;
    deadlines.await("first_event", startedAt + timeoutsMs.first_event);
    const opening: UpstreamEvent[] = [...(isWhole ? this.#onWhole(first) : this.#onText(first))];
    while (!this.#validator.hasContent) {
      const last = opening.at(-1);
      if (last?.kind === "broken") return last.failure;
      if (this.#outputBytes > this.#maxHeld) return garbageFailure("the upstream's stream opens without end");
      opening.push(...((await nextOf(this)) ?? []));
    }
    this.#isOpen = true;
    this.#pausedAt = this.#now();
    this.#idleFrom = this.#pausedAt;
    this.#dataFrom = this.#pausedAt;
    if (!this.#ended) deadlines.pause();
    this.#openingBatch = opening;
    return undefined;
  }

  read(receiver: Receiver<EventBatch>): void {
    const opening = this.#openingBatch;
    if (opening !== undefined) {
      this.#openingBatch = undefined;
      receiver.onValue(opening);
    } else if (this.#ended) {
      receiver.onEnd();
    } else {
      this.#receiver = receiver;
      this.#resume();
      this.#text.read(this);
    }
  }

  stop() {
    this.#openingBatch = undefined;
    this.#receiver = undefined;
    if (!this.#ended) {
      this.#ended = true;
      this.#attempt.end(true);
    }
    return { report: this.#validator.report, outputBytes: this.#outputBytes };
  }

  onValue(text: string): void {
    this.#deliver(this.#onText(text));
  }

  onEnd(): void {
    this.#deliver(this.#onClose());
  }

  onError(error: unknown): void {
    this.#deliver(this.#onReadError(error));
  }

  /** Hands out what a read brought, or reads on. */
  #deliver(batch: EventBatch): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return;
    if (batch.length === 0) {
      this.#setDeadline();
      this.#text.read(this);
      return;
    }
    this.#receiver = undefined;
    receiver.onValue(batch);
    // Mostly it has read again meanwhile.
    if (!this.#isOpen || this.#ended || this.#receiver !== undefined || this.#pausedAt !== undefined) return;
    this.#pausedAt = this.#idleFrom;
    this.#attempt.deadlines.pause();
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
    // Until the stream is open the deadline of its first event stands.
    if (!this.#isOpen) return;
    const { idle, idle_data } = this.#attempt.timeoutsMs;
    const waitMs = this.#awaitsUsage ? drainMs : this.#validator.finished ? lingerMs : idle;
    const idleAt = this.#idleFrom + Math.min(idle, waitMs);
    const dataAt = this.#dataFrom + idle_data;
    if (idleAt <= dataAt) this.#attempt.deadlines.await("idle", idleAt);
    else this.#attempt.deadlines.await("idle_data", dataAt);
  }

  /** The events of one read; the last batch ends in `end` or `broken`. */
  #onText(text: string): EventBatch {
    this.#batch = [];
    this.#idleFrom = this.#now();
    if (this.#sse.push(text, this.#takeEvent) === "too_large" && !this.#ended)
      this.#endBroken(garbageFailure("the upstream sent an event that is too large"));
    if (this.#batch.length > 0) this.#dataFrom = this.#idleFrom;
    if (this.#awaitsUsage && !this.#ended && (this.#validator.hasUsage || this.#text.ended)) this.#onDone();
    return this.#batch;
  }

  #onWhole(json: string): EventBatch {
    this.#takeEvent(json, "");
    if (!this.#ended) this.#onDone();
    return this.#batch;
  }

  readonly #takeRun = (text: string, from: number, until: number): number => {
    const run = this.#ended || this.#awaitsUsage ? undefined : this.#validator.matchTemplate(text, from, until);
    if (run === undefined) return from;
    this.#batch.push(run);
    this.#outputBytes += run.events.length - run.contentEnds.length * eventFraming.length;
    return from + run.events.length;
  };

  readonly #takeEvent = (data: string, name: string): void => {
    if (this.#ended) return;
    const validated = this.#validate(data, name);
    if (validated.kind === "failed") this.#endBroken(validated.failure);
    else if (validated.kind === "done") {
      if (this.#validator.hasContent && !this.#validator.hasUsage) this.#awaitsUsage = true;
      else this.#onDone();
    } else if (validated.kind === "chunk") {
      // The text of a chunk is longer than the tokens in it are many: a bound that costs nothing.
      this.#outputBytes += data.length;
      this.#batch.push(validated);
    }
  };

  /** What comes behind `[DONE]` counts for nothing but the usage that it states. */
  #validate(data: string, name: string): ValidatedEvent {
    return this.#awaitsUsage ? this.#validator.readUsage(data) : this.#validator.validate(data, name);
  }

  #onDone(): void {
    if (!this.#validator.finishAll()) {
      this.#endBroken(cutOffFailure("the upstream ended its stream without content, or within a tool call"));
      return;
    }
    this.#end(false);
    if (!this.#text.ended) void this.#drain();
  }

  /** The connection closed: the content decides whether that was the end. */
  #onClose(): EventBatch {
    this.#batch = [];
    this.#sse.finish((data, name) => {
      const validated = this.#ended ? undefined : this.#validate(data, name);
      // An unfinished event that cannot be read is the mark of a cut, not garbage; what follows decides.
      if (validated?.kind === "chunk") this.#batch.push(validated);
      else if (validated?.kind === "done" && this.#validator.finishAll()) this.#end(true);
      else if (validated?.kind === "failed" && validated.failure.kind !== "garbage") this.#endBroken(validated.failure);
    });
    if (!this.#ended) this.#endOrFail(cutOffFailure("the upstream's stream was cut off"));
    return this.#batch;
  }

  /** The read failed: reset, aborted, timed out. After the last finish reason only the caller's abort is still bad news. */
  #onReadError(error: unknown): EventBatch {
    this.#batch = [];
    const failure = this.#attempt.failureFrom(error);
    if (failure.kind === "aborted") this.#endBroken(failure);
    else this.#endOrFail(failure);
    return this.#batch;
  }

  #endOrFail(unfinished: UpstreamFailure): void {
    if (this.#awaitsUsage ? this.#validator.finishAll() : this.#validator.complete) this.#end(true);
    else this.#endBroken(unfinished);
  }

  #end(close: boolean): void {
    this.#ended = true;
    const { report, finishes, isEmpty } = this.#validator;
    this.#batch.push({ kind: "end", report, finishes, isEmpty });
    this.#attempt.end(close);
  }

  #endBroken(failure: UpstreamFailure): void {
    this.#ended = true;
    const { report, finishes } = this.#validator;
    this.#batch.push({ kind: "broken", failure, report, finishes });
    this.#attempt.end(true);
  }

  /**
   * After `[DONE]` only the end of the body is missing, mostly in the same packet. Reading up to it lets the connection
   * be used again; a server that keeps it open loses it.
   */
  async #drain(): Promise<void> {
    const keep = this.#attempt.closeAfter(drainMs);
    try {
      if ((await nextOf(this.#text)) !== undefined) this.#attempt.end(true);
    } catch {
      // The answer is whole; how its connection dies is of no interest.
    }
    keep();
  }
}
