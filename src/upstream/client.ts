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
import { type ErrorBody, errorAnswerFailure, errorBodyOf, garbageFailure, statusFailure } from "./failures.ts";
import { spliceBody } from "./received-body.ts";
import { StreamEvents } from "./stream/stream-events.ts";
import { StreamValidator } from "./stream/stream-validator.ts";
import {
  type AnswerLimits,
  answerLimits,
  type Upstream,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamReply,
  type UsageReport,
} from "./upstream.ts";
import { addFinishes, beginningOf, completionOf, notJson, readBody, withoutEndMark } from "./whole-answer.ts";

export interface UpstreamClientOptions {
  /** Chat completions are posted to `{baseUrl}/chat/completions`. */
  readonly baseUrl: string;
  /** Sent as bearer token; local servers need none. */
  readonly apiKey?: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits?: AnswerLimits;
  /** Whether the aggregator may be asked what a call was billed; read for each one. */
  readonly asksBilling?: () => boolean;
}

/** Content types of JSON values one after the other: each line is an event. */
const linesOfJson = /ndjson|jsonl|json-seq|stream\+json/i;

/** Bytes read of an error answer at most. */
const maxErrorBytes = 65_536;

/** A dead idle connection shows at the first packet: a reset after so many milliseconds is a failure of the request itself. */
const staleWithinMs = 1_000;

/** The client of the aggregator: the only place that posts to it. Throws a RangeError for a key that no header can carry. */
export class UpstreamClient implements Upstream {
  readonly #options: UpstreamClientOptions;
  readonly #limits: AnswerLimits;
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
    this.#limits = options.limits ?? answerLimits;
    this.#now = () => clock.monotonic();
    this.#agent = new HttpAgent({
      url: `${baseUrl.replace(/(?<!\/)\/+$/, "")}/chat/completions`,
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
    const failure: UpstreamFailure = { ...attempt.failureFrom(error), ...(attempt.isWhole && { begun: true }) };
    const isSilent = exchange.reused && !attempt.answered;
    // Not a byte on a connection that had answered before: the network may have lost it, and the others that were idle.
    if (isSilent && failure.kind === "timed_out" && !attempt.isAbandoned) this.#agent.closeIdleSince(attempt.startedAt);
    const isEarly = isSilent && this.#now() - attempt.startedAt < staleWithinMs;
    const isStale = isEarly && (failure.kind === "cut_off" || failure.kind === "unreachable");
    return withIdentity(failed(isStale ? { ...failure, staleSocket: true } : failure), attempt);
  }

  async #answer(head: ResponseHead, exchange: HttpExchange, attempt: Attempt): Promise<UpstreamReply> {
    const { status, headers } = head;
    const wait = () => retryWaitMs(headers, this.#options.clock);
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (status >= 400 || status < 200) return this.#refused(status, body, attempt, wait);
    if (status >= 300) {
      attempt.end(true);
      return failed(statusFailure(status, `the upstream redirects (${status}); redirects are not followed`));
    }
    if (body === undefined) {
      attempt.end(true);
      return failed(garbageFailure("the upstream's answer is compressed in a way that is not known"));
    }
    // A server that knows the length had the answer ready when it sent the headers.
    const wholeComes = !attempt.stream && headers.get("content-length") !== undefined;
    if (wholeComes) attempt.deadlines.await("idle", this.#now() + attempt.timeoutsMs.idle);
    else attempt.deadlines.await("first_event", attempt.startedAt + attempt.timeoutsMs.first_event);
    const firstTokenMs = this.#now() - attempt.startedAt;
    const first = await beginningOf(body, attempt, this.#now);
    const contentType = headers.get("content-type") ?? "";
    const isLines = first.text.startsWith("{") && linesOfJson.test(contentType);
    const isEvents = first.isEvents || isLines || (attempt.stream && first.text === "");
    if (isEvents) return this.#stream(first.text, false, body, attempt, wait);
    attempt.isWhole = true;
    const { maxAnswerBytes, maxValues } = this.#limits;
    const { text, isWhole } = await readBody(first.text, body, maxAnswerBytes, attempt, this.#now);
    // Closes nothing if the answer was read to its end.
    attempt.end(true);
    if (!isWhole) return failed(garbageFailure(`the upstream's answer is larger than ${maxAnswerBytes} bytes`));
    if (hasMoreValuesThan(text, maxValues))
      return failed(garbageFailure(`the upstream's answer holds more than ${maxValues} JSON values`));
    const raw = withoutEndMark(text);
    let answer: Json;
    try {
      answer = JSON.parse(raw);
    } catch {
      // Events of which the first is not framed as one: llama.cpp.
      if (raw.includes("\ndata:")) return this.#stream(raw, false, body, attempt, wait);
      return failed(notJson(raw, exchange.framed, contentType));
    }
    // Asked for a stream, given a whole completion: it is paid for, so it is passed on as a stream of one chunk.
    if (attempt.stream) return this.#stream(raw, true, body, attempt, wait);
    return this.#whole(answer, raw, attempt, wait, firstTokenMs);
  }

  #whole(answer: Json, raw: string, attempt: Attempt, wait: RetryAfter, firstTokenMs: number): UpstreamReply {
    if (!isObject(answer)) return failed(garbageFailure("the upstream's answer is not a JSON object"));
    const validator = new StreamValidator(this.#limits, attempt.choices, attempt.identity);
    const read = validator.read(answer, raw, "", "message");
    if (read.kind === "failed") return failed(withWait(read.failure, wait), validator.report);
    const { choices } = answer;
    if (read.kind !== "chunk" || !Array.isArray(choices) || choices.length === 0)
      return failed(garbageFailure("the upstream's answer has no choices"), validator.report);
    // Calls that are cut off have come all the same: nobody has said that the answer is not whole.
    validator.finishAll("tool_calls");
    const { report, finishes, isEmpty } = validator;
    const isChanged = addFinishes(choices, finishes) || read.raw !== raw;
    return { kind: "answer", answer, raw: isChanged ? JSON.stringify(answer) : raw, report, isEmpty, firstTokenMs };
  }

  /** An answer in events. Where no stream was asked for, it is paid for all the same, and so it is passed on as one answer. */
  async #stream(first: string, isWhole: boolean, body: TextReader, attempt: Attempt, wait: RetryAfter) {
    const events = new StreamEvents(body, attempt, this.#limits, this.#now);
    const failure = await events.open(first, isWhole);
    if (failure !== undefined) return failed(withWait(failure, wait), events.stop().report);
    const firstTokenMs = this.#now() - attempt.startedAt;
    if (attempt.stream) return { kind: "stream", events, firstTokenMs } as const;
    const end = await completionOf(events, this.#limits.maxAnswerBytes);
    if (end.kind === "broken") return failed(end.failure, end.report);
    const { answer, report, isEmpty } = end;
    return { kind: "answer", answer, raw: JSON.stringify(answer), report, isEmpty, firstTokenMs } as const;
  }

  async #refused(
    status: number,
    body: TextReader | undefined,
    attempt: Attempt,
    wait: RetryAfter,
  ): Promise<UpstreamReply> {
    let answer: ErrorBody = { message: "" };
    try {
      if (body !== undefined) answer = errorBodyOf((await readBody("", body, maxErrorBytes, attempt, this.#now)).text);
    } catch (error) {
      // The status is known and kept, even if the body is never received whole.
      if (attempt.failureFrom(error).kind === "aborted") throw error;
    }
    attempt.end(true);
    attempt.identity.readError(answer.error);
    return failed(errorAnswerFailure(status, answer, wait()));
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

function withWait(failure: UpstreamFailure, wait: RetryAfter): UpstreamFailure {
  const retryAfterMs = failure.retryAfterMs ?? wait();
  return retryAfterMs === undefined ? failure : { ...failure, retryAfterMs };
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
