import type { Attempt } from "#upstream/attempt.ts";
import type { TextRead, TextReader } from "#upstream/body.ts";
import type { UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { SseReader } from "./sse-reader.ts";
import { StreamJudge } from "./stream-validator.ts";

/** What one event may be at most, in bytes and in JSON values. */
export interface StreamLimits {
  readonly maxEventBytes: number;
  readonly maxValues: number;
}

export type Batch = readonly UpstreamEvent[];

/** How long a finished stream may keep us waiting for its usage or `[DONE]`, and, after that, for its end, in milliseconds. */
const lingerMs = 5_000;
const drainMs = 1_000;

const over: IteratorResult<Batch> = { done: true, value: undefined };

/**
 * The events of one SSE answer, in batches of what one read brought. Nothing is read ahead: a reader that does not ask
 * pauses the network, and the idle deadlines with it. Calls of `next` must not overlap.
 */
export class StreamEvents implements AsyncIterableIterator<Batch> {
  readonly #attempt: Attempt;
  readonly #text: TextReader;
  readonly #now: () => number;
  readonly #sse: SseReader;
  readonly #judge: StreamJudge;
  /** Bound of what is held until the first real event comes, in characters. */
  readonly #maxHeld: number;
  /** Choices to expect: `n` of the request. */
  readonly #choices: number;
  /** The first batch, read by `open`, not yet handed out. */
  #opening: Batch | undefined;
  #batch: UpstreamEvent[] = [];
  #over = false;
  #idleFrom: number;
  #dataFrom: number;
  #pausedAt: number | undefined;
  /** Characters, other than comments, that have come since the last event that counted. */
  #withoutData = 0;

  constructor(body: TextReader, attempt: Attempt, limits: StreamLimits, now: () => number, keepsId = false) {
    this.#text = body;
    this.#attempt = attempt;
    this.#now = now;
    this.#maxHeld = limits.maxEventBytes;
    this.#judge = new StreamJudge(limits.maxValues, keepsId, attempt.generationId);
    this.#sse = new SseReader(limits.maxEventBytes, this.#shortcut);
    this.#choices = Math.max(1, attempt.choices);
    this.#idleFrom = this.#now();
    this.#dataFrom = this.#idleFrom;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get report() {
    return this.#judge.report;
  }

  /**
   * Reads until the first event that carries something; the first batch is what came up to then, comments left out. An
   * answer that fails before that is still a plain failure, which is given back.
   */
  async open(): Promise<UpstreamFailure | undefined> {
    const { deadlines, timeoutsMs, startedAt } = this.#attempt;
    deadlines.await("first_event", startedAt + timeoutsMs.first_event);
    const opening: UpstreamEvent[] = [];
    let held = 0;
    for (;;) {
      const batch = await this.#text.read().then(
        (read) => this.#took(read),
        (error) => this.#lost(error),
      );
      for (const event of batch) {
        if (event.kind === "broken") {
          if (!this.#judge.real) return event.failure;
        } else if (event.kind === "end" && !this.#judge.real) {
          return { kind: "garbage", message: "the upstream's stream ended without content", dispatched: true };
        }
        if (event.kind !== "alive") opening.push(event);
        if (event.kind === "chunk") held += event.raw.length;
      }
      if (this.#judge.real) {
        this.#pausedAt = this.#now();
        this.#idleFrom = this.#pausedAt;
        this.#dataFrom = this.#pausedAt;
        if (!this.#over) deadlines.pause();
        this.#opening = opening;
        return undefined;
      }
      if (held > this.#maxHeld) {
        return { kind: "garbage", message: "the upstream's stream opens without end", dispatched: true };
      }
    }
  }

  next(): Promise<IteratorResult<Batch>> {
    const opening = this.#opening;
    if (opening !== undefined) {
      this.#opening = undefined;
      return Promise.resolve({ done: false, value: opening });
    }
    if (this.#over) return Promise.resolve(over);
    this.#resume();
    return this.#readOn();
  }

  /** No async functions here, and one promise for a read: more of them would cost more than the event itself. */
  #readOn(): Promise<IteratorResult<Batch>> {
    return this.#text.read().then(this.#stepped, this.#stumbled);
  }

  readonly #stepped = (read: TextRead) => this.#step(this.#took(read));
  readonly #stumbled = (error: unknown) => this.#step(this.#lost(error));

  /** Hands out what a read brought, or reads on if that was nothing. */
  #step(batch: Batch): IteratorResult<Batch> | Promise<IteratorResult<Batch>> {
    if (batch.length === 0) {
      this.#await();
      return this.#readOn();
    }
    if (!this.#over) {
      this.#pausedAt = this.#idleFrom;
      this.#attempt.deadlines.pause();
    }
    return { done: false, value: batch };
  }

  /** Leaving early aborts the call. */
  return(): Promise<IteratorResult<Batch>> {
    this.#opening = undefined;
    if (!this.#over) {
      this.#over = true;
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
    this.#await();
  }

  #await(): void {
    const { idle, idle_data } = this.#attempt.timeoutsMs;
    const idleAt = this.#idleFrom + (this.#finished() ? Math.min(idle, lingerMs) : idle);
    const dataAt = this.#dataFrom + idle_data;
    if (idleAt <= dataAt) this.#attempt.deadlines.await("idle", idleAt);
    else this.#attempt.deadlines.await("idle_data", dataAt);
  }

  #finished(): boolean {
    return this.#judge.complete && this.#judge.finishedChoices >= this.#choices;
  }

  /** What one read from the network brought; the last batch ends in `end` or `broken`. */
  #took(read: TextRead): UpstreamEvent[] {
    this.#batch = [];
    if (read.done) return this.#closed();
    const comments = this.#sse.comments;
    this.#idleFrom = this.#now();
    if (this.#sse.push(read.value, this.#sink) === "too_large" && !this.#over) {
      this.#break({ kind: "garbage", message: "the upstream sent an event that is too large", dispatched: true });
    }
    if (this.#batch.length > 0) {
      this.#dataFrom = this.#idleFrom;
      this.#withoutData = 0;
      return this.#batch;
    }
    if (this.#sse.comments > comments) {
      this.#batch.push({ kind: "alive" });
      return this.#batch;
    }
    // One event may be as large as the bound; twice that without one is neither data nor a sign of life.
    this.#withoutData += read.value.length;
    if (this.#withoutData > 2 * this.#maxHeld) {
      this.#break({ kind: "garbage", message: "the upstream sends much, but no data", dispatched: true });
    }
    return this.#batch;
  }

  readonly #shortcut = (text: string, from: number, to: number): boolean => {
    const chunk = this.#over ? undefined : this.#judge.known(text, from, to);
    if (chunk === undefined) return false;
    this.#batch.push(chunk);
    return true;
  };

  readonly #sink = (data: string, name: string): void => {
    if (this.#over) return;
    const judged = this.#judge.judge(data, name);
    switch (judged.kind) {
      case "chunk":
        this.#batch.push(judged);
        return;
      case "done":
        this.#done();
        return;
      case "failed":
        this.#break(judged.failure);
        return;
      case "nothing":
        return;
    }
  };

  #done(): void {
    if (!this.#judge.complete) {
      this.#break({
        kind: "cut_off",
        message: "the upstream ended its stream without a finish reason",
        dispatched: true,
      });
      return;
    }
    this.#over = true;
    this.#batch.push({ kind: "end", report: this.#judge.report });
    this.#attempt.end(false);
    if (!this.#text.ended) void this.#drain();
  }

  /** The connection closed: the content says whether that was the end. */
  #closed(): UpstreamEvent[] {
    this.#sse.finish((data, name) => {
      const judged = this.#over ? undefined : this.#judge.judge(data, name);
      // An unfinished event that cannot be read is the mark of a cut, not garbage; what follows decides.
      if (judged?.kind === "chunk") {
        this.#batch.push(judged);
      } else if (judged?.kind === "failed" && judged.failure.kind !== "garbage") this.#break(judged.failure);
    });
    if (!this.#over) this.#endOr({ kind: "cut_off", message: "the upstream's stream was cut off", dispatched: true });
    return this.#batch;
  }

  /** The read failed: reset, aborted, timed out. After the last finish reason only the caller's abort is still bad news. */
  #lost(error: unknown): UpstreamEvent[] {
    this.#batch = [];
    const failure = this.#attempt.failureFrom(error);
    if (failure.kind === "aborted") this.#break(failure);
    else this.#endOr(failure);
    return this.#batch;
  }

  #endOr(failure: UpstreamFailure): void {
    if (!this.#judge.complete) {
      this.#break(failure);
      return;
    }
    this.#over = true;
    this.#batch.push({ kind: "end", report: this.#judge.report });
    this.#attempt.end(true);
  }

  #break(failure: UpstreamFailure): void {
    this.#over = true;
    this.#batch.push({ kind: "broken", failure, report: this.#judge.report });
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
