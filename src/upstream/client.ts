import { isObject, type Json } from "#domain/chat.ts";
import { HttpAgent, isHeaderValue, type RequestHead, withHeader } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import { decompressed, type TextReader } from "#http-client/response/body-text.ts";
import type { ResponseHead } from "#http-client/response/response-head.ts";
import { retryAfterMs } from "#http-client/response/retry-after.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import { hasMoreValuesThan } from "#platform/json/json-scan.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { Attempt } from "./attempt.ts";
import { type ErrorBody, errorAnswerFailure, errorBodyOf, errorIn, garbageFailure, statusFailure } from "./failures.ts";
import { spliceBody } from "./received-body.ts";
import { StreamEvents } from "./stream/stream-events.ts";
import { hasOutput } from "./stream/stream-validator.ts";
import type { AnswerLimits, Upstream, UpstreamCall, UpstreamFailure, UpstreamReply, UsageReport } from "./upstream.ts";
import { usageReport } from "./usage.ts";
import { answerDefect, completionEvents, notJson, readBody } from "./whole-answer.ts";

export interface UpstreamClientOptions {
  /** Chat completions are posted to `{baseUrl}/chat/completions`. */
  readonly baseUrl: string;
  /** Sent as bearer token; local servers need none. */
  readonly apiKey?: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Limits of an answer; read for each answer, so that they can change. */
  readonly limits: () => AnswerLimits;
  /** Whether the aggregator may be asked what a call was billed; read for each one. */
  readonly asksBilling?: () => boolean;
}

/** Bytes read of an error answer at most. */
const maxErrorBytes = 65_536;

/** A dead idle connection shows at the first packet: a reset after so many milliseconds is a failure of the request itself. */
const staleWithinMs = 1_000;

/** The client of the aggregator: the only place that posts to it. Throws a RangeError for a key that no header can carry. */
export class UpstreamClient implements Upstream {
  readonly #options: UpstreamClientOptions;
  readonly #now: () => number;
  readonly #agent: HttpAgent;
  readonly #streamHead: RequestHead;
  readonly #wholeHead: RequestHead;

  constructor(options: UpstreamClientOptions) {
    const { baseUrl, apiKey, clock } = options;
    // Checked here, so that the error names the key and not a header.
    if (apiKey !== undefined && !isHeaderValue(apiKey)) {
      throw new RangeError("the upstream API key contains characters that cannot be sent in a header");
    }
    this.#options = options;
    this.#now = () => clock.monotonic();
    this.#agent = new HttpAgent({
      url: `${baseUrl.replace(/\/+$/, "")}/chat/completions`,
      now: this.#now,
      wallNow: () => clock.now(),
    });
    this.#streamHead = this.#headFor("text/event-stream, application/json;q=0.5", apiKey);
    this.#wholeHead = this.#headFor("application/json", apiKey);
  }

  #headFor(accept: string, apiKey: string | undefined): RequestHead {
    return this.#agent.head({
      ...(apiKey === undefined || apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
      "content-type": "application/json",
      accept,
      "accept-encoding": "identity",
      "user-agent": "smart-gateway/1",
    });
  }

  async send(call: UpstreamCall, signal: AbortSignalLike): Promise<UpstreamReply> {
    if (signal.aborted) {
      return failed({ kind: "aborted", message: "the caller disconnected", dispatched: false });
    }
    const { clock, timers, asksBilling } = this.#options;
    const attempt = new Attempt(call, signal, clock, timers, asksBilling?.());
    const { connect, headers } = call.timeoutsMs;
    const own = call.stream ? this.#streamHead : this.#wholeHead;
    // The caller's own tracestate is not sent on: it may hold anything.
    const requestHead = call.trace === undefined ? own : withHeader(own, "traceparent", call.trace.traceparent);
    attempt.deadlines.await("connect", attempt.startedAt + connect);
    const exchange = this.#agent.post(
      requestHead,
      call.received === undefined ? JSON.stringify(call.body) : spliceBody(call.body, call.received),
      attempt.freshConnection,
      () => attempt.deadlines.await("headers", attempt.startedAt + headers),
    );
    attempt.exchange = exchange;
    try {
      const head = await exchange.head();
      attempt.answered = true;
      attempt.identity.readHead(head.headers.get("x-generation-id"));
      return withIdentity(await this.#answer(head, exchange, attempt), attempt);
    } catch (error) {
      return this.#failed(error, exchange, attempt);
    }
  }

  #failed(error: unknown, exchange: HttpExchange, attempt: Attempt): UpstreamReply {
    attempt.end(true);
    const failure = attempt.failureFrom(error);
    const isSilent = exchange.reused && !attempt.answered;
    // Not a byte on a connection that had answered before: the network may have lost it, and the others that were idle.
    if (isSilent && failure.kind === "timed_out" && !attempt.isLeft) this.#agent.closeIdleSince(attempt.startedAt);
    const isEarly = isSilent && this.#now() - attempt.startedAt < staleWithinMs;
    const isStale = isEarly && (failure.kind === "cut_off" || failure.kind === "unreachable");
    return withIdentity(failed(isStale ? { ...failure, staleSocket: true } : failure), attempt);
  }

  async #answer(head: ResponseHead, exchange: HttpExchange, attempt: Attempt): Promise<UpstreamReply> {
    const { status, headers } = head;
    const wait = () => retryWaitMs(headers, this.#options.clock);
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (status >= 400 || status < 200) return this.#refused(status, body, attempt, wait);
    const contentType = headers.get("content-type") ?? "";
    let failure: UpstreamFailure | undefined;
    if (status >= 300) {
      failure = statusFailure(status, `the upstream redirects (${status}); redirects are not followed`);
    } else if (attempt.stream && /^\s*text\/html/i.test(contentType)) {
      failure = { ...garbageFailure("the upstream answered a web page instead of a stream"), isPage: true };
    } else if (body !== undefined) {
      // Servers often send a wrong content type for a stream, but not for JSON.
      const isStream = attempt.stream && !/\bjson\b/i.test(contentType);
      return isStream ? this.#stream(body, attempt, wait) : this.#whole(head, body, exchange.framed, attempt, wait);
    }
    attempt.end(true);
    return failed(failure ?? garbageFailure("the upstream's answer is compressed in a way that is not known"));
  }

  async #refused(
    status: number,
    body: TextReader | undefined,
    attempt: Attempt,
    wait: RetryAfter,
  ): Promise<UpstreamReply> {
    let answer: ErrorBody = { message: "" };
    try {
      if (body !== undefined)
        answer = errorBodyOf((await readBody(body, maxErrorBytes, attempt, this.#now, "idle")).text);
    } catch (error) {
      // The status is known and kept, even if the body is never received whole.
      if (attempt.failureFrom(error).kind === "aborted") throw error;
    }
    attempt.end(true);
    attempt.identity.readError(answer.error);
    return failed(errorAnswerFailure(status, answer, wait()));
  }

  async #whole(
    { headers }: ResponseHead,
    reader: TextReader,
    framed: boolean,
    attempt: Attempt,
    wait: RetryAfter,
  ): Promise<UpstreamReply> {
    const firstTokenMs = this.#now() - attempt.startedAt;
    const { maxAnswerBytes, maxValues } = this.#options.limits();
    const length = headers.get("content-length");
    // A server that knows the length had the answer ready when it sent the headers.
    const first = length === undefined ? "first_event" : "idle";
    const { text: raw, isWhole } = await readBody(reader, maxAnswerBytes, attempt, this.#now, first);
    // Closes nothing if the answer was read to its end.
    attempt.end(true);
    if (!isWhole) return failed(garbageFailure(`the upstream's answer is larger than ${maxAnswerBytes} bytes`));
    if (hasMoreValuesThan(raw, maxValues))
      return failed(garbageFailure(`the upstream's answer holds more than ${maxValues} JSON values`));
    let answer: Json;
    try {
      answer = JSON.parse(raw);
    } catch {
      return failed(notJson(raw, framed, headers.get("content-type") ?? ""));
    }
    if (!isObject(answer)) return failed(garbageFailure("the upstream's answer is not a JSON object"));
    attempt.identity.read(answer);
    const report = usageReport(answer["usage"]);
    const failure = errorIn(answer, wait) ?? answerDefect(answer);
    if (failure !== undefined) {
      const begun = hasOutput(answer["choices"], "message");
      return failed(begun ? { ...failure, begun } : failure, report);
    }
    const whole = attempt.identity.addTo(report);
    if (!attempt.stream) return { kind: "answer", answer, raw, report: whole, firstTokenMs };
    // Asked for a stream, given a whole completion: it is paid for, so it is passed on as a stream of one chunk.
    return { kind: "stream", events: completionEvents(answer, whole), firstTokenMs: this.#now() - attempt.startedAt };
  }

  async #stream(body: TextReader, attempt: Attempt, wait: RetryAfter): Promise<UpstreamReply> {
    const events = new StreamEvents(body, attempt, this.#options.limits(), this.#now);
    const failure = await events.open();
    if (failure !== undefined) {
      events.close();
      const retryAfter = failure.retryAfterMs ?? wait();
      return failed(retryAfter === undefined ? failure : { ...failure, retryAfterMs: retryAfter }, events.report);
    }
    return { kind: "stream", events, firstTokenMs: this.#now() - attempt.startedAt };
  }
}

/** The wait that an answer asks for, read from its head only where it is a failure. */
type RetryAfter = () => number | undefined;

/** Milliseconds, by `retry-after-ms` or `Retry-After`; undefined if absent or nonsense. */
function retryWaitMs(headers: ResponseHead["headers"], clock: Clock): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== undefined && /^\d{1,12}(\.\d{1,9})?$/.test(ms)) return Math.ceil(Number(ms));
  return retryAfterMs(headers.get("retry-after"), clock.now());
}

function failed(failure: UpstreamFailure, report: UsageReport = {}): UpstreamReply {
  const said = report.usage !== undefined || report.costNanoUsd !== undefined;
  return said ? { kind: "failure", failure, report } : { kind: "failure", failure };
}

/** The reply with what the aggregator has said of the call. The report of an answer or a stream includes it already. */
function withIdentity(reply: UpstreamReply, { identity }: Attempt): UpstreamReply {
  if (reply.kind !== "failure") return reply;
  const report = identity.addTo(reply.report ?? {});
  return Object.keys(report).length === 0 ? reply : { ...reply, report };
}
