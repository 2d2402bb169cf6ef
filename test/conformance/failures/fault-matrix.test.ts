import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Behaviour, Outcome } from "#simulator/simulated-exchange.ts";
import { chunk, disconnects, silent, streams, writesRaw } from "#simulator/testing/scripted.ts";
import { eventually, start } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../../harness/sse.ts";
import {
  afterFirst,
  begun,
  bill,
  endAfterLast,
  endlessComments,
  idle,
  json,
  sse,
  stop,
  strict,
  usage,
  word,
} from "./faults.ts";

/**
 * Every way in which an upstream can fail, over real sockets. Each row has the result for the caller, for the upstream, in the
 * ledger, and for the model's health. Requests have a single attempt, and one failure changes the health, so that each fault
 * shows alone.
 */
interface Row {
  readonly fault: string;
  /** `contentRead` resolves when the caller has received its first content, `usageRead` when it has received its usage. */
  readonly upstream: (contentRead: Promise<void>, usageRead: Promise<void>) => Behaviour;
  readonly stream: boolean;
  /** A status; or, for a stream that had begun, `cut` (an error chunk, then `[DONE]`) or `complete`. */
  readonly caller: number | "cut" | "complete";
  readonly upstreamSaw: Outcome;
  /** `free`: nothing spent or held. `billed`: what the upstream bills, exactly. `held`: it may have been billed, so money stays held. */
  readonly ledger: "free" | "billed" | "held";
  /** The verdict of this fault; `unchanged` if it is none. */
  readonly health: "unchanged" | "failed" | "garbage" | "limited";
}

/** Deadlines are short only where the test is about them: on a busy machine a deadline must not turn one fault into another. */
function policyFor(row: Row): object {
  const beforeTheFirst = { connect: 75, headers: 75, first_event: 150, idle: 150, idle_data: 200 };
  const afterwards = { idle: 150, idle_data: 200 };
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

const rows: Row[] = [
  ...both("silence before the headers", () => silent({ bills: bill }), "504 caller_gone held failed"),
  ...both("FIN on arrival", () => disconnects("fin", { bills: bill }), "502 cut held failed"),
  ...both("RST on arrival", () => disconnects("rst", { bills: bill }), "502 cut held failed"),

  // Whole answers: nothing is sent to the caller before the answer is complete.
  row(
    "silence after the headers",
    false,
    () => writesRaw(`${json}content-length: 9\r\n\r\n`, "silence"),
    "504 caller_gone held failed",
  ),
  row(
    "silence in mid-body",
    false,
    () => writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "silence"),
    "504 caller_gone held failed",
  ),
  row(
    "a body that is cut short, by length",
    false,
    () => writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "fin"),
    "502 cut held failed",
  ),
  row(
    "a body that is cut short, in chunks",
    false,
    () => writesRaw(`${json}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n`, "fin"),
    "502 cut held failed",
  ),
  row(
    "a body that is cut short, delimited by closing",
    false,
    () => writesRaw(`${json}\r\n{"id"`, "fin"),
    "502 cut held failed",
  ),
  row("200 that is not JSON", false, () => replies(200, "<html>", { bills: bill }), "502 answered held garbage"),
  row("200 without choices", false, () => replies(200, "{}", { bills: bill }), "502 answered held garbage"),
  row(
    "200 with an error body",
    false,
    () => replies(200, { error: { code: 503, message: "x" } }),
    "500 answered held failed",
  ),
  row(
    "200 with an error body and usage",
    false,
    () => replies(200, { error: { code: 503, message: "x" }, usage: usage["usage"] ?? null }, { bills: bill }),
    "500 answered billed failed",
  ),
  row(
    "an answer that is too large",
    false,
    () => replies(200, { ...whole(), padding: "x".repeat(100_000) }, { bills: bill }),
    "502 answered held garbage",
  ),
  row(
    "an empty answer that claims to have stopped",
    false,
    () =>
      replies(
        200,
        whole({
          choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }],
          usage: usage["usage"] ?? null,
        }),
        { bills: bill },
      ),
    "200 answered billed garbage",
  ),

  // Statuses.
  ...[500, 502, 503, 529, 408].map((status) =>
    row(`status ${status}`, true, () => fails(status), "500 answered held failed"),
  ),
  ...[400, 413, 422].map((status) => row(`status ${status}`, true, () => fails(status), "500 answered free unchanged")),
  ...[401, 402, 403].map((status) =>
    row(`status ${status}: ours, not the model's`, true, () => fails(status), "500 answered free unchanged"),
  ),
  ...["1", "86400", "soon", new Date(Date.now() + 60_000).toUTCString()].map((value) =>
    row(
      `429 with Retry-After: ${value.length > 10 ? "a date" : value}`,
      true,
      () => fails(429, "slow", { "retry-after": value }),
      "500 answered free limited",
    ),
  ),
  row("429 without Retry-After", false, () => fails(429), "500 answered free limited"),

  // Streams, before the first event: a failure still has its own status.
  row("silence after the headers", true, () => writesRaw(sse, "silence"), "504 caller_gone held failed"),
  row("comments for ever", true, endlessComments([]), "504 caller_gone held failed"),
  row(
    "a stream that ends at once",
    true,
    () => streams({ events: [], end: "clean", bills: bill }),
    "502 answered held failed",
  ),
  row("[DONE] and nothing else", true, () => streams({ events: [], bills: bill }), "502 answered held failed"),
  row(
    "FIN before the first event",
    true,
    () => streams({ events: [], end: "fin", bills: bill }),
    "502 cut held failed",
  ),
  row(
    "a first event that is malformed",
    true,
    () => streams({ events: ["data: {not json\n\n"], end: "silence", bills: bill }),
    "502 caller_gone held garbage",
  ),
  row(
    "a first event that is an error",
    true,
    () => streams({ events: [{ error: { code: 502, message: "provider" } }], bills: bill }),
    "500 answered held failed",
  ),
  row(
    "an event that is too large",
    true,
    () => streams({ events: [word("x".repeat(2_000_000))], end: "silence", bills: bill }),
    "502 caller_gone held garbage",
  ),
  row(
    "an event that never ends",
    true,
    () => writesRaw(`${sse}data: ${"x".repeat(2_000_000)}`, "silence", { bills: bill }),
    "502 caller_gone held garbage",
  ),

  // Streams, after the caller has read something: errors are in the stream, never a regular end.
  row("silence in mid-stream", true, afterFirst([], "silence"), "cut caller_gone held failed"),
  row("comments for ever in mid-stream", true, endlessComments(begun), "cut caller_gone held failed"),
  ...(["chunked", "close"] as const).flatMap((framing) =>
    (["fin", "rst"] as const).flatMap((how): Row[] => [
      row(`${how} after one event, ${framing}`, true, afterFirst([], how, framing), "cut cut held failed"),
      row(
        `${how} after half an event, ${framing}`,
        true,
        afterFirst(['data: {"choices":[{"ind'], how, framing),
        "cut cut held failed",
      ),
    ]),
  ),
  ...(["chunked", "close"] as const).map((framing) =>
    row(
      `a clean end without a finish reason, ${framing}`,
      true,
      afterFirst([], "clean", framing),
      "cut answered held failed",
    ),
  ),
  row("[DONE] without a finish reason", true, afterFirst([], "done"), "cut answered held failed"),
  row(
    "a malformed event in mid-stream",
    true,
    afterFirst(["data: {not json\n\n"], "silence"),
    "cut caller_gone held garbage",
  ),
  row(
    "an event that is no object in mid-stream",
    true,
    afterFirst(["data: [1,2]\n\n"], "silence"),
    "cut caller_gone held garbage",
  ),
  row(
    "an oversized event in mid-stream",
    true,
    afterFirst([word("x".repeat(2_000_000))], "silence"),
    "cut caller_gone held garbage",
  ),
  row(
    "an error event in mid-stream",
    true,
    afterFirst([{ error: { code: 502, message: "provider gone" } }], "silence"),
    "cut caller_gone held failed",
  ),
  row(
    "finish_reason error in mid-stream",
    true,
    afterFirst([{ ...chunk({ content: "" }, "error"), error: { code: 500, message: "x" } }], "silence"),
    "cut caller_gone held failed",
  ),
  row("a break after usage, before the finish reason", true, endAfterLast([usage], "rst"), "cut cut billed failed"),

  // Not faults: unusual ends of complete answers.
  row("nothing wrong", true, afterFirst([stop, usage], "done"), "complete answered billed unchanged"),
  row(
    "no [DONE] after the finish reason",
    true,
    afterFirst([stop, usage], "clean"),
    "complete answered billed unchanged",
  ),
  row("FIN in place of [DONE], chunked", true, endAfterLast([stop, usage], "fin"), "complete cut billed unchanged"),
  row("the end by closing", true, endAfterLast([stop, usage], "fin", "close"), "complete cut billed unchanged"),
];

describe("fault matrix", () => {
  for (const row of rows)
    test(`${row.stream ? "stream" : "whole"}: ${row.fault}`, async () => {
      await using gateway = await start({ policy: policyFor(row) });
      const contentRead = Promise.withResolvers<void>();
      const usageRead = Promise.withResolvers<void>();
      gateway.upstream.next(row.upstream(contentRead.promise, usageRead.promise));
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
          if (text.includes('"usage":{')) usageRead.resolve();
        });
        expect([read.done, read.broken]).toEqual([true, undefined]);
        expect(contentOf(read.chunks)).toBe("a");
        if (row.caller === "cut") {
          const last = read.chunks.at(-1);
          expect(last.error).toMatchObject({
            code: expect.any(Number),
            message: expect.any(String),
            metadata: { error_type: expect.any(String) },
          });
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

      const states = { unchanged: "HEALTHY", limited: "HEALTHY", failed: "UNHEALTHY", garbage: "QUARANTINE" };
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
