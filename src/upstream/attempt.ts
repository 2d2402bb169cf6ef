import type { HttpExchange } from "#http-client/http-exchange.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { CallIdentity } from "./call-identity.ts";
import { awaitedBy, transportFailure } from "./failures.ts";
import type { UpstreamCall, UpstreamFailure } from "./upstream.ts";

/**
 * One call in flight: ends it once (by the caller's abort, a deadline, or its own end) and keeps the reason. It has one
 * timer and one abort listener; `end` releases both.
 */
export class Attempt {
  // Not the call itself: its body, which is the whole conversation, must not live as long as the answer takes.
  readonly timeoutsMs: UpstreamCall["timeoutsMs"];
  readonly #slowAfterMs: number | undefined;
  readonly stream: boolean;
  readonly freshConnection: boolean;
  /** How many answers were asked for (`n`). */
  readonly choices: number;
  readonly startedAt: number;
  readonly deadlines: Deadlines;
  readonly #signal: AbortSignalLike;
  readonly #timers: Timers;
  readonly #onAbort = () => this.stop({ kind: "aborted" });
  #stopped: { readonly kind: "aborted" } | { readonly kind: "timed_out"; readonly phase: Phase } | undefined;
  /** What is cancelled when the attempt is ended early. */
  exchange: HttpExchange | undefined;
  /** Headers of an answer have come. */
  answered = false;
  /** They are those of an answer that is not streamed: it has been written, whether it is read or not. */
  isWhole = false;
  readonly identity: CallIdentity;

  constructor(call: UpstreamCall, signal: AbortSignalLike, clock: Clock, timers: Timers, asksBilling = false) {
    this.identity = new CallIdentity(asksBilling);
    this.timeoutsMs = call.timeoutsMs;
    this.#slowAfterMs = call.slow?.afterMs;
    this.stream = call.stream;
    this.freshConnection = call.freshConnection === true;
    const n = call.body["n"];
    this.choices = typeof n === "number" ? n : 1;
    this.#signal = signal;
    this.#timers = timers;
    this.startedAt = clock.monotonic();
    this.deadlines = new Deadlines(clock, timers, this.startedAt, call, (phase) =>
      this.stop({ kind: "timed_out", phase }),
    );
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Ends the attempt from outside; the reads that wait fail, and `failureFrom` gives the reason. The first reason is kept. */
  stop(why: { readonly kind: "aborted" } | { readonly kind: "timed_out"; readonly phase: Phase }): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = why;
    this.end(true);
  }

  /** The attempt is over; `close` also drops its connection, for when its answer was not read to the end. */
  end(close: boolean): void {
    this.deadlines.end();
    this.#signal.removeEventListener("abort", this.#onAbort);
    if (close) this.exchange?.cancel();
  }

  /** Drops the connection after a while, unless the function it gives back is called before. */
  closeAfter(ms: number): () => void {
    return this.#timers.after(ms, () => this.exchange?.cancel());
  }

  /** It was abandoned for another model, which says nothing about the connection. */
  get isAbandoned(): boolean {
    return this.#stopped?.kind === "timed_out" && this.#stopped.phase === "slow_first_event";
  }

  /** The failure of an exchange or a read: why the attempt was stopped, or else the error. */
  failureFrom(error: unknown): UpstreamFailure {
    const stopped = this.#stopped;
    if (stopped === undefined) return transportFailure(error, this.answered);
    const dispatched = this.exchange?.sent ?? false;
    if (stopped.kind === "aborted") return { kind: "aborted", message: "the caller disconnected", dispatched };
    const { phase } = stopped;
    const awaited = (dispatched ? undefined : awaitedBy(error)) ?? waitedFor[phase];
    const limitMs = phase === "slow_first_event" ? this.#slowAfterMs : this.timeoutsMs[phase];
    const message = `timed out waiting for ${awaited} (${phase}, ${limitMs} ms)`;
    return { kind: "timed_out", message, dispatched };
  }
}

const waitedFor: { readonly [phase in Phase]: string } = {
  connect: "a connection",
  headers: "an answer",
  first_event: "the first event",
  slow_first_event: "the first event, which mostly comes sooner",
  idle: "more of the answer",
  idle_data: "more data between keep-alives",
  total: "the whole answer",
};

const never = Number.POSITIVE_INFINITY;

/** What an attempt can wait for too long. */
type Phase = "connect" | "headers" | "first_event" | "slow_first_event" | "idle" | "idle_data" | "total";

/**
 * The deadlines of one attempt behind a single timer. Moving a deadline only writes a field; the timer, when it fires,
 * compares the deadlines and sleeps again. So a stream costs no timer per read.
 */
class Deadlines {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #expired: (phase: Phase) => void;
  readonly #totalAt: number;
  #slowAt: number;
  /** Leads to the request, and so is forgotten once the answer has begun. */
  #abandon: (() => boolean) | undefined;
  #phase: Phase = "total";
  #phaseAt = never;
  #wakesAt = never;
  #cancel: (() => void) | undefined;
  #ended = false;

  /** `expired` is called at most once. Times are those of `clock.monotonic()`. */
  constructor(
    clock: Clock,
    timers: Timers,
    startedAt: number,
    { timeoutsMs, slow }: Pick<UpstreamCall, "timeoutsMs" | "slow">,
    expired: (phase: Phase) => void,
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#totalAt = startedAt + timeoutsMs.total;
    this.#slowAt = startedAt + (slow?.afterMs ?? never);
    this.#abandon = slow?.abandon;
    this.#expired = expired;
  }

  /** Waits for `phase` until `at`, beside the total deadline; replaces what was waited for before. */
  await(phase: Phase, at: number): void {
    this.#phase = phase;
    this.#phaseAt = at;
    const next = this.#next();
    if (next < this.#wakesAt) this.#sleep(next);
  }

  /** Nothing is waited for but the total deadline: the answer has begun, and the reader is busy elsewhere. */
  pause(): void {
    this.#phaseAt = never;
    this.#slowAt = never;
    this.#abandon = undefined;
  }

  end(): void {
    this.#ended = true;
    this.#abandon = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(): number {
    return Math.min(this.#phaseAt, this.#totalAt, this.#slowAt);
  }

  #sleep(until: number): void {
    if (this.#ended) return;
    this.#cancel?.();
    this.#wakesAt = until;
    this.#cancel = this.#timers.after(Math.max(1, until - this.#clock.monotonic()), () => this.#wake());
  }

  #wake(): void {
    this.#cancel = undefined;
    if (this.#ended) return;
    const now = this.#clock.monotonic();
    const at = this.#next();
    if (now < at) {
      // A paused reader has only the total deadline left; `await` shortens the sleep again.
      this.#sleep(at);
      return;
    }
    if (now < Math.min(this.#phaseAt, this.#totalAt)) {
      this.#slowAt = never;
      if (this.#abandon?.() !== true) {
        this.#sleep(this.#next());
        return;
      }
      this.#phase = "slow_first_event";
    }
    this.end();
    this.#expired(now >= this.#totalAt ? "total" : this.#phase);
  }
}
