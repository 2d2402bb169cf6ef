import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { chunk, disconnects, fails, replies, silent, streams, writesRaw } from "#simulator/behaviours.ts";
import type { Behaviour, Outcome } from "#simulator/simulated-exchange.ts";
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

/** The same fault for a whole answer and for a stream. */
const wholeAndStreamed = (row: Omit<Row, "stream">): Row[] => [false, true].map((stream) => ({ ...row, stream }));

const rows: Row[] = [
  ...wholeAndStreamed({
    fault: "silence before the headers",
    upstream: () => silent({ bills: bill }),
    caller: 504,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  }),
  ...wholeAndStreamed({
    fault: "FIN on arrival",
    upstream: () => disconnects("fin", { bills: bill }),
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  }),
  ...wholeAndStreamed({
    fault: "RST on arrival",
    upstream: () => disconnects("rst", { bills: bill }),
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  }),

  // Whole answers: nothing is sent to the caller before the answer is complete.
  {
    fault: "silence after the headers",
    upstream: () => writesRaw(`${json}content-length: 9\r\n\r\n`, "silence"),
    stream: false,
    caller: 504,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "silence in mid-body",
    upstream: () => writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "silence"),
    stream: false,
    caller: 504,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a body that is cut short, by length",
    upstream: () => writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "fin"),
    stream: false,
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a body that is cut short, in chunks",
    upstream: () => writesRaw(`${json}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n`, "fin"),
    stream: false,
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a body that is cut short, delimited by closing",
    upstream: () => writesRaw(`${json}\r\n{"id"`, "fin"),
    stream: false,
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "200 that is not JSON",
    upstream: () => replies(200, "<html>", { bills: bill }),
    stream: false,
    caller: 502,
    upstreamSaw: "answered",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "200 without choices",
    upstream: () => replies(200, "{}", { bills: bill }),
    stream: false,
    caller: 502,
    upstreamSaw: "answered",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "200 with an error body",
    upstream: () => replies(200, { error: { code: 503, message: "x" } }),
    stream: false,
    caller: 500,
    upstreamSaw: "answered",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "200 with an error body and usage",
    upstream: () =>
      replies(200, { error: { code: 503, message: "x" }, usage: usage["usage"] ?? null }, { bills: bill }),
    stream: false,
    caller: 500,
    upstreamSaw: "answered",
    ledger: "billed",
    health: "failed",
  },
  {
    fault: "an answer that is too large",
    upstream: () => replies(200, { ...whole(), padding: "x".repeat(100_000) }, { bills: bill }),
    stream: false,
    caller: 502,
    upstreamSaw: "answered",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "an empty answer that claims to have stopped",
    upstream: () =>
      replies(
        200,
        whole({
          choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }],
          usage: usage["usage"] ?? null,
        }),
        { bills: bill },
      ),
    stream: false,
    caller: 200,
    upstreamSaw: "answered",
    ledger: "billed",
    health: "garbage",
  },

  // Statuses.
  ...[500, 502, 503, 529, 408].map(
    (status): Row => ({
      fault: `status ${status}`,
      upstream: () => fails(status),
      stream: true,
      caller: 500,
      upstreamSaw: "answered",
      ledger: "held",
      health: "failed",
    }),
  ),
  ...[400, 413, 422].map(
    (status): Row => ({
      fault: `status ${status}`,
      upstream: () => fails(status),
      stream: true,
      caller: 500,
      upstreamSaw: "answered",
      ledger: "free",
      health: "unchanged",
    }),
  ),
  ...[401, 402, 403].map(
    (status): Row => ({
      fault: `status ${status}: ours, not the model's`,
      upstream: () => fails(status),
      stream: true,
      caller: 500,
      upstreamSaw: "answered",
      ledger: "free",
      health: "unchanged",
    }),
  ),
  ...["1", "86400", "soon", new Date(Date.now() + 60_000).toUTCString()].map(
    (value): Row => ({
      fault: `429 with Retry-After: ${value.length > 10 ? "a date" : value}`,
      upstream: () => fails(429, "slow", { "retry-after": value }),
      stream: true,
      caller: 500,
      upstreamSaw: "answered",
      ledger: "free",
      health: "limited",
    }),
  ),
  {
    fault: "429 without Retry-After",
    upstream: () => fails(429),
    stream: false,
    caller: 500,
    upstreamSaw: "answered",
    ledger: "free",
    health: "limited",
  },

  // Streams, before the first event: a failure still has its own status.
  {
    fault: "silence after the headers",
    upstream: () => writesRaw(sse, "silence"),
    stream: true,
    caller: 504,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "comments for ever",
    upstream: endlessComments([]),
    stream: true,
    caller: 504,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a stream that ends at once",
    upstream: () => streams({ events: [], end: "clean", bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "answered",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "[DONE] and nothing else",
    upstream: () => streams({ events: [], bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "answered",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "FIN before the first event",
    upstream: () => streams({ events: [], end: "fin", bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "cut",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a first event that is malformed",
    upstream: () => streams({ events: ["data: {not json\n\n"], end: "silence", bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "a first event that is an error",
    upstream: () => streams({ events: [{ error: { code: 502, message: "provider" } }], bills: bill }),
    stream: true,
    caller: 500,
    upstreamSaw: "answered",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "an event that is too large",
    upstream: () => streams({ events: [word("x".repeat(2_000_000))], end: "silence", bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "an event that never ends",
    upstream: () => writesRaw(`${sse}data: ${"x".repeat(2_000_000)}`, "silence", { bills: bill }),
    stream: true,
    caller: 502,
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },

  // Streams, after the caller has read something: errors are in the stream, never a regular end.
  {
    fault: "silence in mid-stream",
    upstream: afterFirst([], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "comments for ever in mid-stream",
    upstream: endlessComments(begun),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  ...(["chunked", "close"] as const).flatMap((framing) =>
    (["fin", "rst"] as const).flatMap((how): Row[] => [
      {
        fault: `${how} after one event, ${framing}`,
        upstream: afterFirst([], how, framing),
        stream: true,
        caller: "cut",
        upstreamSaw: "cut",
        ledger: "held",
        health: "failed",
      },
      {
        fault: `${how} after half an event, ${framing}`,
        upstream: afterFirst(['data: {"choices":[{"ind'], how, framing),
        stream: true,
        caller: "cut",
        upstreamSaw: "cut",
        ledger: "held",
        health: "failed",
      },
    ]),
  ),
  ...(["chunked", "close"] as const).map(
    (framing): Row => ({
      fault: `a clean end without a finish reason, ${framing}`,
      upstream: afterFirst([], "clean", framing),
      stream: true,
      caller: "cut",
      upstreamSaw: "answered",
      ledger: "held",
      health: "failed",
    }),
  ),
  {
    fault: "[DONE] without a finish reason",
    upstream: afterFirst([], "done"),
    stream: true,
    caller: "cut",
    upstreamSaw: "answered",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a malformed event in mid-stream",
    upstream: afterFirst(["data: {not json\n\n"], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "an event that is no object in mid-stream",
    upstream: afterFirst(["data: [1,2]\n\n"], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "an oversized event in mid-stream",
    upstream: afterFirst([word("x".repeat(2_000_000))], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "garbage",
  },
  {
    fault: "an error event in mid-stream",
    upstream: afterFirst([{ error: { code: 502, message: "provider gone" } }], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "finish_reason error in mid-stream",
    upstream: afterFirst([{ ...chunk({ content: "" }, "error"), error: { code: 500, message: "x" } }], "silence"),
    stream: true,
    caller: "cut",
    upstreamSaw: "caller_gone",
    ledger: "held",
    health: "failed",
  },
  {
    fault: "a break after usage, before the finish reason",
    upstream: endAfterLast([usage], "rst"),
    stream: true,
    caller: "cut",
    upstreamSaw: "cut",
    ledger: "billed",
    health: "failed",
  },

  // Not faults: unusual ends of complete answers.
  {
    fault: "nothing wrong",
    upstream: afterFirst([stop, usage], "done"),
    stream: true,
    caller: "complete",
    upstreamSaw: "answered",
    ledger: "billed",
    health: "unchanged",
  },
  {
    fault: "no [DONE] after the finish reason",
    upstream: afterFirst([stop, usage], "clean"),
    stream: true,
    caller: "complete",
    upstreamSaw: "answered",
    ledger: "billed",
    health: "unchanged",
  },
  {
    fault: "FIN in place of [DONE], chunked",
    upstream: endAfterLast([stop, usage], "fin"),
    stream: true,
    caller: "complete",
    upstreamSaw: "cut",
    ledger: "billed",
    health: "unchanged",
  },
  {
    fault: "the end by closing",
    upstream: endAfterLast([stop, usage], "fin", "close"),
    stream: true,
    caller: "complete",
    upstreamSaw: "cut",
    ledger: "billed",
    health: "unchanged",
  },
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
