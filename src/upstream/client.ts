import type { Aborted } from "#domain/abort.ts";
import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { retryAfterMs } from "#domain/retry-after.ts";
import type { Clock, Timers } from "#domain/time.ts";
import { Attempt } from "./attempt.ts";
import { isFramed, readAnswer, readBody } from "./body.ts";
import { chunkOf } from "./completion-chunk.ts";
import { cleanMessage, errorIn, messageOfBody, statusFailure } from "./failures.ts";
import { type ReachProbe, tcpReach } from "./reach.ts";
import { StreamEvents } from "./stream-events.ts";
import type { Upstream, UpstreamCall, UpstreamEvent, UpstreamFailure, UpstreamReply, UsageReport } from "./upstream.ts";
import { usageReport } from "./usage.ts";

export interface UpstreamClientOptions {
  /** Chat completions are posted to `{baseUrl}/chat/completions`. */
  readonly baseUrl: string;
  /** Sent as bearer token; local servers need none. */
  readonly apiKey?: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A whole (non-streaming) answer above this many bytes is refused as garbage. Default 32 MiB. */
  readonly maxAnswerBytes?: number;
  /** One stream event above this many bytes breaks the stream as garbage. Default 16 MiB. */
  readonly maxEventBytes?: number;
  /** Idle connections are dropped after this long; shorter than servers do, so that few are found dead. Default 30 s. */
  readonly keepAliveMs?: number;
  /** Finds out whether the upstream's host can be reached at all; by default by opening a connection. */
  readonly reach?: ReachProbe;
}

/** Of an error answer no more is read than this. */
const maxErrorBytes = 65_536;

/** A dead idle connection shows at the first packet: a reset later than this is the request's own fate. */
const staleWithinMs = 1_000;

/** The client of the aggregator: the only place that calls `fetch`. */
export function upstreamClient(options: UpstreamClientOptions): Upstream {
  const { clock, timers, apiKey } = options;
  const maxAnswerBytes = options.maxAnswerBytes ?? 32 * 1_048_576;
  const maxEventBytes = options.maxEventBytes ?? 16 * 1_048_576;
  const keepAliveMs = options.keepAliveMs ?? 30_000;
  const url = `${options.baseUrl.replace(/\/+$/, "")}/chat/completions`;
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout: Math.max(1, Math.round(keepAliveMs / 1000)) } });
  const headersFor = (accept: string) => ({
    "content-type": "application/json",
    accept,
    "accept-encoding": "identity",
    "user-agent": "smart-gateway/1",
    ...(apiKey === undefined || apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
  });
  const streamHeaders = headersFor("text/event-stream, application/json;q=0.5");
  const wholeHeaders = headersFor("application/json");
  checkHeaders(wholeHeaders);
  // The machine's proxy settings are for the outside; a server on loopback is never behind a proxy.
  const direct = isLoopback(url) ? { proxy: false as const } : {};
  const idle = new IdleConnections(keepAliveMs + 8_000);
  const now = () => clock.monotonic();
  const reach = options.reach ?? (behindProxy(url) ? undefined : tcpReach(url, timers));

  async function send(call: UpstreamCall, signal: Aborted): Promise<UpstreamReply> {
    if (signal.aborted) {
      return failed({ kind: "aborted", message: "the caller went away", dispatched: false });
    }
    const attempt = new Attempt(call, signal, clock, timers);
    // The runtime does not tell the connect phase from the wait for headers, so one deadline covers both, and when the
    // time for connecting is over without an answer, we see for ourselves whether a connection can be had.
    attempt.deadlines.checkpoint(attempt.startedAt + call.timeoutsMs.connect, () => void checkReach(attempt));
    attempt.deadlines.await("headers", attempt.startedAt + call.timeoutsMs.headers);
    const reused = call.freshConnection !== true && idle.take(attempt.startedAt);
    try {
      const response = await session.fetch(url, {
        method: "POST",
        headers: call.stream ? streamHeaders : wholeHeaders,
        body: JSON.stringify(call.body),
        redirect: "manual",
        signal: attempt.signal,
        // The deadlines are ours; the runtime's own five minutes would cut a patient operator short.
        timeout: false,
        keepalive: call.freshConnection !== true,
        ...direct,
      });
      attempt.answered = true;
      return await answer(response, attempt);
    } catch (error) {
      attempt.end(true);
      const failure = attempt.failureFrom(error);
      const stale =
        reused && !attempt.answered && failure.kind === "cut_off" && now() - attempt.startedAt < staleWithinMs;
      return failed(stale ? { ...failure, staleSocket: true } : failure);
    }
  }

  async function checkReach(attempt: Attempt): Promise<void> {
    if (attempt.answered || reach === undefined) return;
    const reached = await reach(attempt.timeoutsMs.connect);
    if (reached === "silence" && !attempt.answered) attempt.stop({ kind: "timed_out", phase: "connect" });
  }

  function answer(response: Response, attempt: Attempt): UpstreamReply | Promise<UpstreamReply> {
    const { status, headers } = response;
    const wait = () => waitAsked(headers, clock.now());
    if (status >= 300 && status < 400) {
      attempt.end(true);
      return failed(statusFailure(status, `the upstream redirects (${status}); redirects are not followed`));
    }
    if (status < 200 || status >= 400) {
      return refused(response, attempt, wait);
    }
    const type = headers.get("content-type") ?? "";
    if (attempt.stream && /^\s*text\/html/i.test(type)) {
      attempt.end(true);
      return failed(garbage("the upstream answered a web page instead of a stream"));
    }
    // Servers are careless about the type of a stream, but not about JSON.
    if (attempt.stream && !/\bjson\b/i.test(type)) return stream(response, attempt, wait);
    return whole(response, attempt, wait);
  }

  async function refused(response: Response, attempt: Attempt, wait: () => number | undefined): Promise<UpstreamReply> {
    return failed(statusFailure(response.status, await messageOf(response, attempt), wait()));
  }

  /** What an error answer says. Its status is known and stands, even if the rest of it never comes. */
  async function messageOf(response: Response, attempt: Attempt): Promise<string> {
    try {
      const body = await readBody(response.body, maxErrorBytes, attempt, now, "idle");
      release(attempt, response.headers, body.kind === "whole");
      return messageOfBody(body.text);
    } catch (error) {
      if (attempt.failureFrom(error).kind === "aborted") throw error;
      attempt.end(true);
      return "";
    }
  }

  async function whole(response: Response, attempt: Attempt, wait: () => number | undefined): Promise<UpstreamReply> {
    const firstByteMs = now() - attempt.startedAt;
    const { headers } = response;
    const tooLarge = garbage(`the upstream's answer is larger than ${maxAnswerBytes} bytes`);
    if (Number(headers.get("content-length") ?? 0) > maxAnswerBytes) {
      attempt.end(true);
      return failed(tooLarge);
    }
    const body = await readAnswer(response, maxAnswerBytes, attempt, now);
    release(attempt, headers, body.kind === "whole");
    if (body.kind === "too_large") return failed(tooLarge);
    let answer: Json;
    try {
      answer = JSON.parse(body.text);
    } catch {
      // Without framing a cut looks like a clean close, and half an object is what it leaves behind.
      const cut = !isFramed(headers) && /^\s*(\{|$)/.test(body.text);
      return failed(
        cut
          ? { kind: "cut_off", message: "the upstream's answer was cut off", dispatched: true }
          : garbage(
              `the upstream's answer is not JSON (${cleanMessage(headers.get("content-type") ?? "no content type")})`,
            ),
      );
    }
    if (!isObject(answer)) return failed(garbage("the upstream's answer is not a JSON object"));
    const report = usageReport(answer["usage"]);
    const failure = errorIn(answer, wait) ?? unusable(answer);
    if (failure !== undefined) return failed(failure, report);
    if (!attempt.stream) return { kind: "answer", answer, raw: body.text, report, firstByteMs };
    // Asked for a stream, given a whole completion: it is paid for, so it is passed on as a stream of one chunk.
    const chunk = chunkOf(answer);
    const only: UpstreamEvent[] = [
      { kind: "chunk", raw: JSON.stringify(chunk), chunk },
      { kind: "end", report },
    ];
    return { kind: "stream", events: once(only), firstEventMs: now() - attempt.startedAt };
  }

  async function stream(response: Response, attempt: Attempt, wait: () => number | undefined): Promise<UpstreamReply> {
    if (response.body === null) {
      release(attempt, response.headers, true);
      return failed(garbage("the upstream's stream is empty"));
    }
    const events = new StreamEvents(response.textStream(), attempt, {
      maxEventBytes,
      now,
      reusable: () => noteIdle(attempt, response.headers),
    });
    const failure = await events.open();
    if (failure !== undefined) {
      void events.return();
      const retryAfter = failure.retryAfterMs ?? wait();
      return failed(retryAfter === undefined ? failure : { ...failure, retryAfterMs: retryAfter }, events.report);
    }
    return { kind: "stream", events, firstEventMs: now() - attempt.startedAt };
  }

  function release(attempt: Attempt, headers: Headers, readToEnd: boolean): void {
    attempt.end(!readToEnd);
    if (readToEnd) noteIdle(attempt, headers);
  }

  function noteIdle(attempt: Attempt, headers: Headers): void {
    const closes = /\bclose\b/i.test(headers.get("connection") ?? "") || !isFramed(headers);
    if (!closes && !attempt.freshConnection) idle.put(now());
  }

  return { send };
}

/**
 * An upper bound of the connections that lie idle. The runtime does not say whether a request went out on a used
 * connection, but it cannot have when none was left over.
 */
class IdleConnections {
  readonly #forgetAfterMs: number;
  #count = 0;
  #lastPutAt = 0;

  constructor(forgetAfterMs: number) {
    this.#forgetAfterMs = forgetAfterMs;
  }

  put(now: number): void {
    this.#count++;
    this.#lastPutAt = now;
  }

  /** Whether the request that starts now may find a used connection. */
  take(now: number): boolean {
    if (now - this.#lastPutAt > this.#forgetAfterMs) this.#count = 0;
    if (this.#count === 0) return false;
    this.#count--;
    return true;
  }
}

/** Milliseconds to wait as the answer asks, by `retry-after-ms` or `Retry-After`; undefined if absent or nonsense. */
function waitAsked(headers: Headers, nowMs: number): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && /^\d{1,12}(\.\d{1,9})?$/.test(ms)) return Math.ceil(Number(ms));
  return retryAfterMs(headers.get("retry-after"), nowMs);
}

function failed(failure: UpstreamFailure, report: UsageReport = {}): UpstreamReply {
  const said = report.usage !== undefined || report.costNanoUsd !== undefined;
  return said ? { kind: "failure", failure, report } : { kind: "failure", failure };
}

function garbage(message: string): UpstreamFailure {
  return { kind: "garbage", message, dispatched: true };
}

/** What makes a JSON answer useless: no choices, a choice without a message, a choice that is an error. */
function unusable(answer: JsonObject): UpstreamFailure | undefined {
  const choices = answer["choices"];
  if (!Array.isArray(choices) || choices.length === 0) return garbage("the upstream's answer has no choices");
  for (const choice of choices) {
    if (!isObject(choice)) return garbage("the upstream's answer has a choice that is not an object");
    const error = errorIn(choice);
    if (error !== undefined) return error;
    if (choice["finish_reason"] === "error") return statusFailure(500, "the upstream ended its answer with an error");
    if (!isObject(choice["message"])) return garbage("the upstream's answer has a choice without a message");
  }
  return undefined;
}

async function* once(batch: readonly UpstreamEvent[]): AsyncGenerator<readonly UpstreamEvent[]> {
  yield batch;
}

function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

/** Whether the machine's settings send the runtime's fetch through a proxy, so that a connection of our own proves nothing. */
function behindProxy(url: string): boolean {
  if (isLoopback(url)) return false;
  return ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].some(
    (name) => process.env[name] || process.env[name.toLowerCase()],
  );
}

/** A header value that cannot be sent is found at start; the runtime's own message would show the key. */
function checkHeaders(headers: { readonly [name: string]: string }): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
      const what = name === "authorization" ? "the upstream API key" : `the header ${name}`;
      throw new RangeError(`${what} contains characters that cannot be sent in a header`);
    }
  }
}
