import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Behaviour, Outcome } from "#simulator/simulated-exchange.ts";
import { chunk, disconnects, type StreamScript, silent, streams, writesRaw } from "#simulator/testing/scripted.ts";
import { answerLimits } from "#upstream/upstream.ts";
import { eventually, start } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../../harness/sse.ts";
import { afterFirst, begun, bill, endlessComments, idle, json, sse, stop, strict, usage, word } from "./faults.ts";

/**
 * Every way in which an upstream can fail, over real sockets. Each row has the result for the caller, for the upstream, in the
 * ledger, and for the model's health. Requests have a single attempt, and one failure changes the health, so that each fault
 * shows alone.
 */
interface Row {
  readonly fault: string;
  /** `contentRead` resolves when the caller has received its first content. */
  readonly upstream: (contentRead: Promise<void>) => Behaviour;
  readonly stream: boolean;
  /** A status; or, for a stream that had begun, `cut` (an error chunk, then `[DONE]`) or `complete`. */
  readonly caller: number | "cut" | "complete";
  readonly upstreamSaw: Outcome;
  /** `free`: nothing spent or held. `billed`: what the upstream bills, exactly. `held`: it may have been billed, so money stays held. */
  readonly ledger: "free" | "billed" | "held";
  /** The verdict of this fault; `unchanged` if it is none. */
  readonly health: "unchanged" | "failed" | "limited";
}

/** Deadlines are short only where the test is about them: on a busy machine a deadline must not turn one fault into another. */
function policyFor(row: Row): object {
  const beforeTheFirst = { connect: 75, headers: 75, first_event: 150, idle: 150 };
  const afterwards = { idle: 150 };
  const waits = /^(silence|comments)/.test(row.fault);
  const timeouts_ms = waits ? (row.caller === 504 ? beforeTheFirst : afterwards) : {};
  return { ...strict, upstream: { max_attempts: 1, timeouts_ms } };
}

const whole = (fields: JsonObject = {}) => ({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  ...fields,
});

/** A fault, and what it ends in: for the caller, the upstream, the ledger and the model's health, as in `Row`. */
function row(fault: string, stream: boolean, upstream: Row["upstream"], ends: string): Row {
  const [caller = "", upstreamSaw, ledger, health] = ends.split(" ");
  return { fault, stream, upstream, caller: Number(caller) || caller, upstreamSaw, ledger, health } as Row; // spelled below
}

/** The same fault for a whole answer and for a stream. */
const both = (fault: string, upstream: Row["upstream"], ends: string): Row[] =>
  [false, true].map((stream) => row(fault, stream, upstream, ends));

const cutBody =
  (head: string, part: string, end: "fin" | "silence" = "fin") =>
  () =>
    writesRaw(`${json}${head}\r\n\r\n${part}`, end);
const bills = { bills: bill };
const answers = (body: object | string) => () => replies(200, body as JsonObject, bills);
const events =
  (list: readonly (JsonObject | string)[], end: StreamScript["end"] = "done") =>
  () =>
    streams({ events: list, end, bills: bill });
const large = "x".repeat(1.1 * answerLimits.maxEventBytes);
const errorBody = { error: { code: 503, message: "x" } };
const stopsWithNothing = whole({
  choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }],
  usage: usage["usage"] ?? null,
});
const finishError = { ...chunk({ content: "" }, "error"), error: { code: 500, message: "x" } };
const providerGone = { error: { code: 502, message: "provider gone" } };
const half = 'data: {"choices":[{"ind';

/** Whole answers: nothing is sent to the caller before the answer is complete. */
const wholeAnswers: [fault: string, upstream: Row["upstream"], ends: string][] = [
  ["silence after the headers", cutBody("content-length: 9", "", "silence"), "504 caller_gone held failed"],
  ["silence in mid-body", cutBody("content-length: 99", '{"id"', "silence"), "504 caller_gone held failed"],
  ["a body cut short, by length", cutBody("content-length: 99", '{"id"'), "502 cut held failed"],
  ["a body cut short, in chunks", cutBody("transfer-encoding: chunked", '5\r\n{"id"\r\n'), "502 cut held failed"],
  ["a body cut short, delimited by closing", cutBody("x-a: b", '{"id"'), "502 cut held failed"],
  ["200 that is not JSON", answers("<html>"), "502 answered held unchanged"],
  ["200 without choices", answers("{}"), "502 answered held unchanged"],
  ["200 with an error body", () => replies(200, errorBody), "500 answered held failed"],
  ["200 with an error body and usage", answers({ ...errorBody, ...usage }), "500 answered billed failed"],
  [
    "an answer that is too large",
    answers(whole({ padding: "x".repeat(answerLimits.maxAnswerBytes) })),
    "502 answered held unchanged",
  ],
  ["an empty answer that claims to have stopped", answers(stopsWithNothing), "200 answered billed unchanged"],
  ["429 without Retry-After", () => fails(429), "500 answered free limited"],
];

/** Streams, before the first event: a failure still has its own status. */
const beforeFirst: typeof wholeAnswers = [
  ...[500, 502, 503, 529, 408].map((status): (typeof wholeAnswers)[0] => [
    `status ${status}`,
    () => fails(status),
    "500 answered held failed",
  ]),
  // 401, 402 and 403 are about the gateway's account, not the model.
  ...[400, 401, 402, 403, 413, 422].map((status): (typeof wholeAnswers)[0] => [
    `status ${status}`,
    () => fails(status),
    "500 answered free unchanged",
  ]),
  ...["1", "86400", "soon", new Date(Date.now() + 60_000).toUTCString()].map((value): (typeof wholeAnswers)[0] => [
    `429 with Retry-After: ${value.length > 10 ? "a date" : value}`,
    () => fails(429, "slow", { "retry-after": value }),
    "500 answered free limited",
  ]),
  ["silence after the headers", () => writesRaw(sse, "silence"), "504 caller_gone held failed"],
  ["comments for ever", endlessComments([]), "504 caller_gone held failed"],
  ["a stream that ends at once", events([], "clean"), "502 answered held failed"],
  ["[DONE] and nothing else", events([]), "502 answered held failed"],
  ["FIN before the first event", events([], "fin"), "502 cut held failed"],
  ["a first event that is malformed", events(["data: {not json\n\n"], "silence"), "502 caller_gone held unchanged"],
  ["a first event that is an error", events([providerGone]), "500 answered held failed"],
  ["an event that is too large", events([word(large)], "silence"), "502 caller_gone held unchanged"],
  ["an event without end", () => writesRaw(`${sse}data: ${large}`, "silence", bills), "502 caller_gone held unchanged"],
];

/** Streams, after the caller has read something: errors are in the stream, never a regular end. */
const midStream: typeof wholeAnswers = [
  ["silence in mid-stream", afterFirst([], "silence"), "cut caller_gone held failed"],
  ["comments for ever in mid-stream", endlessComments(begun), "cut caller_gone held failed"],
  ...(["chunked", "close"] as const).flatMap((framing): typeof wholeAnswers => [
    [`fin after one event, ${framing}`, afterFirst([], "fin", framing), "cut cut held failed"],
    [`rst after one event, ${framing}`, afterFirst([], "rst", framing), "cut cut held failed"],
    [`fin after half an event, ${framing}`, afterFirst([half], "fin", framing), "cut cut held failed"],
    [`rst after half an event, ${framing}`, afterFirst([half], "rst", framing), "cut cut held failed"],
    [`an end without a finish reason, ${framing}`, afterFirst([], "clean", framing), "cut answered held failed"],
  ]),
  ["a malformed event", afterFirst(["data: {not json\n\n"], "silence"), "cut caller_gone held unchanged"],
  ["an event that is no object", afterFirst(["data: [1,2]\n\n"], "silence"), "cut caller_gone held unchanged"],
  ["an oversized event", afterFirst([word(large)], "silence"), "cut caller_gone held unchanged"],
  ["an error event", afterFirst([providerGone], "silence"), "cut caller_gone held failed"],
  ["finish_reason error", afterFirst([finishError], "silence"), "cut caller_gone held failed"],
  ["a break after usage, before the finish reason", afterFirst([usage], "fin"), "cut cut billed failed"],
  // Not faults: unusual ends of complete answers.
  ["nothing wrong", afterFirst([stop, usage], "done"), "complete answered billed unchanged"],
  ["[DONE] without a finish reason", afterFirst([usage], "done"), "complete answered billed unchanged"],
  ["no [DONE] after the finish reason", afterFirst([stop, usage], "clean"), "complete answered billed unchanged"],
  ["FIN in place of [DONE], chunked", afterFirst([stop, usage], "fin"), "complete cut billed unchanged"],
  ["the end by closing", afterFirst([stop, usage], "fin", "close"), "complete cut billed unchanged"],
];

const rows: Row[] = [
  ...both("silence before the headers", () => silent(bills), "504 caller_gone held failed"),
  ...both("FIN on arrival", () => disconnects("fin", bills), "502 cut held failed"),
  ...both("RST on arrival", () => disconnects("rst", bills), "502 cut held failed"),
  ...wholeAnswers.map(([fault, upstream, ends]) => row(fault, false, upstream, ends)),
  ...[...beforeFirst, ...midStream].map(([fault, upstream, ends]) => row(fault, true, upstream, ends)),
];

describe("fault matrix", () => {
  for (const row of rows)
    test(`${row.stream ? "stream" : "whole"}: ${row.fault}`, async () => {
      await using gateway = await start({ policy: policyFor(row) });
      const contentRead = Promise.withResolvers<void>();
      gateway.upstream.next(row.upstream(contentRead.promise));
      const asked = row.stream ? { stream: true, stream_options: { include_usage: true } } : {};
      const response = await gateway.chat({ ...asked, max_tokens: 1_000 });

      if (typeof row.caller === "number") {
        expect(response.status).toBe(row.caller);
        const body = await response.json();
        if (row.caller !== 200) expect(Object.keys(body)).toEqual(["detail"]);
      } else {
        expect(response.status).toBe(200);
        const read = await readStream(response, (text) => {
          if (text.includes('"content":"a"')) contentRead.resolve();
        });
        expect([read.done, read.broken, contentOf(read.chunks)]).toEqual([true, undefined, "a"]);
        if (row.caller === "cut") {
          const last = read.chunks.at(-1);
          const metadata = { error_type: expect.any(String) };
          expect(last.error).toMatchObject({ code: expect.any(Number), message: expect.any(String), metadata });
          expect(last.choices).toEqual([{ index: 0, delta: { content: "" }, finish_reason: "error" }]);
          expect(finishReasonsOf(read.chunks)).toEqual(["error"]);
        } else {
          expect(read.chunks.some((event) => event.error !== undefined)).toBe(false);
          expect(finishReasonsOf(read.chunks)).toEqual(["stop"]);
        }
      }

      expect(gateway.upstream.received()).toBe(1);
      expect(await (await gateway.upstream.request(0)).ended).toBe(row.upstreamSaw);

      const billed = gateway.upstream.billedNanoUsd();
      const settled = { free: { spent: 0, held: 0 }, billed: { spent: billed, held: 0 } };
      if (row.ledger === "held") {
        const totals = await gateway.ledger(({ spent, held }) => held > 0 && spent === 0);
        expect(totals.held).toBeGreaterThanOrEqual(billed);
      } else expect(await gateway.ledger()).toEqual(settled[row.ledger]);

      const states = { unchanged: "HEALTHY", limited: "HEALTHY", failed: "UNHEALTHY" };
      const routable = row.health === "unchanged";
      await eventually(
        () => {
          const model = gateway.gateway.ports.health.view()["vendor_v4_flash"];
          return model?.state === states[row.health] && model.routable === routable;
        },
        () => JSON.stringify(gateway.gateway.ports.health.view()["vendor_v4_flash"]),
      );
      await idle(gateway);
    });
});
