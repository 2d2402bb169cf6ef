import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import {
  after,
  chunk,
  completes,
  disconnects,
  fails,
  replies,
  silent,
  streams,
  usageChunk,
  writesRaw,
} from "#simulator/behaviours.ts";
import type { Behaviour, Outcome } from "#simulator/simulated-exchange.ts";
import { eventually, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../../harness/sse.ts";

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

const strict = {
  health: { failures_in_a_row: 1, garbage_in_a_row: 1 },
  stream: { max_event_bytes: 4_096, max_answer_bytes: 65_536 },
};

/** Deadlines are short only where the test is about them: on a busy machine a deadline must not turn one fault into another. */
function policyFor(row: Row): object {
  const beforeTheFirst = { connect: 75, headers: 75, first_event: 150, idle: 150, idle_data: 200 };
  const afterwards = { idle: 150, idle_data: 200 };
  const waits = /^(silence|comments)/.test(row.fault);
  const timeouts_ms = waits ? (row.caller === 504 ? beforeTheFirst : afterwards) : {};
  return { ...strict, upstream: { max_attempts: 1, timeouts_ms } };
}

const word = (content: string) => chunk({ role: "assistant", content });
const stop = chunk({ content: "" }, "stop");
const usage = usageChunk({ input: 10, output: 2, costUsd: 0.000002 });
const bill = 2_000;
const begun = [word("a")];
const json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const sse = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

type End = "done" | "clean" | "fin" | "rst" | "silence";

/** The first event, then the rest once the caller has received it. */
const afterFirst =
  (events: readonly (JsonObject | string)[], end: End, framing: "chunked" | "close" = "chunked") =>
  (contentRead: Promise<void>): Behaviour =>
    streams({
      events: [...begun, ...events],
      end,
      framing,
      bills: bill,
      gate: (index) => (index === 1 ? contentRead : undefined),
    });

/**
 * The same, and the end only once the caller has received all events: a connection that breaks may drop bytes that the other
 * side has not read yet, which would be another fault.
 */
const endAfterLast =
  (events: readonly (JsonObject | string)[], end: End, framing: "chunked" | "close" = "chunked") =>
  (contentRead: Promise<void>, usageRead: Promise<void>): Behaviour =>
    streams({
      events: [...begun, ...events],
      end,
      framing,
      bills: bill,
      gate: (index) => (index === 1 ? contentRead : index === events.length + 1 ? usageRead : undefined),
    });

/** Comments, one for each turn of the event loop, until the connection ends. */
const endlessComments =
  (first: readonly JsonObject[]) =>
  (contentRead: Promise<void>): Behaviour =>
  async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
    for (const event of first) await exchange.event(event);
    if (first.length > 0) await exchange.until(contentRead);
    while (!exchange.over) {
      await exchange.part(": PROCESSING\n\n");
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

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
    fault: "a break after usage had been usageRead",
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

/** Waits until no stream is counted and no call is open. */
async function idle(gateway: TestGateway): Promise<void> {
  await eventually(() => gateway.upstream.unfinished() === 0 && gateway.gateway.http.streams.count === 0);
}

describe("a stream cut at every byte", () => {
  // The whole answer on the wire, cut after each of its bytes: the caller never sees a clean end before the finish reason
  // has come, nor half an event ever, and always an end.
  const model = upstreamIds["vendor_v4_flash"] ?? "";
  const events = [
    { ...word("é🙂"), model },
    { ...stop, model },
    { ...usage, model },
  ];
  const text = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
  const bytes = Buffer.from(text);
  const finishAt = Buffer.from(text.slice(0, text.indexOf("\n\n", text.indexOf('"finish_reason":"stop"')))).length;
  const firstAt = Buffer.from(text.slice(0, text.indexOf("\n\n"))).length;

  for (const framing of ["chunked", "close"] as const)
    test(`${framing}: ${bytes.length} cuts`, async () => {
      await using gateway = await start({
        policy: {
          upstream: { max_attempts: 1, retry_budget_per_second: 0 },
          health: {
            failures_in_a_row: 1_000_000,
            unhealthy_minimum: 1_000_000,
            degraded_minimum: 1_000_000,
            degraded_in_a_row: 1_000_000,
          },
        },
      });
      const chunked = framing === "chunked";
      const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${chunked ? `transfer-encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n` : "\r\n"}`;
      const cutAt = async (length: number): Promise<void> => {
        const promised = length < firstAt ? "" : length < finishAt ? '"content":"é🙂"' : '"finish_reason":"stop"';
        const usageRead = Promise.withResolvers<void>();
        // A line that only lacks its line end becomes whole when the connection closes; waiting for it would be for ever.
        const lacksLineEnd = [0, 1].some((missing) => length === firstAt + missing || length === finishAt + missing);
        if (promised === "" || lacksLineEnd) usageRead.resolve();
        gateway.upstream.next(
          writesRaw(Buffer.concat([Buffer.from(head), bytes.subarray(0, length)]), "fin", { gate: usageRead.promise }),
        );
        const response = await gateway.chat({ stream: true, max_tokens: 10 });
        if (response.status === 502) {
          // Nothing had been promised, or the break overtook the one line that lacked its end.
          expect([length, length < firstAt || lacksLineEnd]).toEqual([length, true]);
          await response.text();
          return;
        }
        const read = await readStream(response, (text) => text.includes(promised) && usageRead.resolve());
        expect([length, response.status, read.done, contentOf(read.chunks)]).toEqual([length, 200, true, "é🙂"]);
        const reasons = finishReasonsOf(read.chunks);
        expect([length, reasons.length]).toEqual([length, 1]);
        if (!lacksLineEnd) expect([length, ...reasons]).toEqual([length, length < finishAt ? "error" : "stop"]);
      };
      for (let length = 0; length <= bytes.length; length++) await cutAt(length);
      await idle(gateway);
    });
});

describe("keep-alive", () => {
  test("a kept-alive connection that is closed on reuse is replaced once, without effect on health", async () => {
    await using gateway = await start({ policy: { health: { failures_in_a_row: 1 } } });
    await (await gateway.chat()).text();
    gateway.upstream.next(disconnects("rst"));
    const response = await gateway.chat();
    expect(response.status).toBe(200);
    const [, reused, fresh] = gateway.upstream.requests;
    expect(reused?.onConnection).toBeGreaterThan(0);
    expect(fresh?.onConnection).toBe(0);
    expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
  });

  test("a connection closed while idle costs nothing", async () => {
    await using gateway = await start({ policy: strict });
    for (let turn = 0; turn < 5; turn++) {
      expect((await gateway.chat()).status).toBe(200);
      gateway.upstream.closeIdleConnections();
      await eventually(() => gateway.upstream.connections() === 0);
    }
    expect(gateway.upstream.received()).toBe(5);
  });
});

describe("retry storms", () => {
  const calls = async (share: number): Promise<number> => {
    let turn = 0;
    await using gateway = await start({
      // Health never excludes a model here, and no retries are allowed per second, so that only the share of requests limits retries.
      policy: {
        upstream: { retry_budget_per_second: 0 },
        health: {
          failures_in_a_row: 1_000_000,
          unhealthy_minimum: 1_000_000,
          degraded_minimum: 1_000_000,
          degraded_in_a_row: 1_000_000,
          trips_to_quarantine: 1_000,
        },
      },
      script: () => (turn++ % 10 < share * 10 ? fails(503) : undefined),
    });
    const requests = 400;
    for (let sent = 0; sent < requests; sent += 20)
      await Promise.all(Array.from({ length: 20 }, async () => (await gateway.chat({ max_tokens: 10 })).text()));
    await idle(gateway);
    return gateway.upstream.received() / requests;
  };

  test("an upstream that fails a fifth of the time is called at most 1.2 times per request", async () => {
    expect(await calls(0.2)).toBeLessThanOrEqual(1.2);
  });

  test("an upstream that fails always is called at most 1.15 times per request", async () => {
    expect(await calls(1)).toBeLessThanOrEqual(1.15);
  });
});

describe("callers", () => {
  const charged = async (gateway: TestGateway): Promise<void> => {
    const books = await gateway.ledger();
    expect(books.spent).toBeGreaterThanOrEqual(gateway.upstream.billedNanoUsd());
  };

  for (const stream of [false, true])
    test(`who leave before the headers${stream ? ", streaming" : ""}: the upstream is aborted, the hold charged`, async () => {
      await using gateway = await start();
      gateway.upstream.next(silent({ bills: bill }));
      const caller = new AbortController();
      const pending = gateway
        .chat({ stream, max_tokens: 1_000 }, {}, { signal: caller.signal })
        .catch((error) => error.name);
      const request = await gateway.upstream.request(0);
      caller.abort();
      expect(await pending).toBe("AbortError");
      expect(await request.ended).toBe("caller_gone");
      await charged(gateway);
      expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
      await idle(gateway);
    });

  test("who disconnect while a whole answer is being read", async () => {
    await using gateway = await start();
    gateway.upstream.next(writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "silence", { bills: bill }));
    const caller = new AbortController();
    const pending = gateway.chat({ max_tokens: 1_000 }, {}, { signal: caller.signal }).catch((error) => error.name);
    const request = await gateway.upstream.request(0);
    await eventually(() => request.bytesSent > 0);
    caller.abort();
    expect(await pending).toBe("AbortError");
    expect(await request.ended).toBe("caller_gone");
    await charged(gateway);
    await idle(gateway);
  });

  test("who disconnect in mid-stream", async () => {
    await using gateway = await start();
    gateway.upstream.next(afterFirst([], "silence")(new Promise(() => undefined)));
    const caller = new AbortController();
    const response = await gateway.chat({ stream: true, max_tokens: 1_000 }, {}, { signal: caller.signal });
    await readStream(response, () => caller.abort());
    expect(await (await gateway.upstream.request(0)).ended).toBe("caller_gone");
    await charged(gateway);
    expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
    await idle(gateway);
  });

  test("who disconnect during the back-off before a retry", async () => {
    await using gateway = await start({
      policy: { upstream: { backoff_base_ms: 60_000, backoff_max_ms: 60_000 } },
      overrides: { random: () => 0.99 },
    });
    gateway.upstream.next(fails(503));
    const caller = new AbortController();
    const pending = gateway.chat({}, {}, { signal: caller.signal }).catch((error) => error.name);
    await (await gateway.upstream.request(0)).ended;
    caller.abort();
    expect(await pending).toBe("AbortError");
    await idle(gateway);
    expect(gateway.upstream.received()).toBe(1);
  });

  test("who disconnect while the scout is asked", async () => {
    await using gateway = await start({ policy: { routing: { flash_below: 0, pro_from: 100 } } });
    gateway.upstream.next(silent());
    const caller = new AbortController();
    const pending = gateway
      .chat({ model: "smart-router", metadata: { sensitive: false } }, {}, { signal: caller.signal })
      .catch((error) => error.name);
    const request = await gateway.upstream.request(0);
    caller.abort();
    expect(await pending).toBe("AbortError");
    expect(await request.ended).toBe("caller_gone");
    await idle(gateway);
    expect(gateway.upstream.received()).toBe(1);
  });

  test("who do not read pause the upstream, and are cut off in the end", async () => {
    await using gateway = await start({ policy: { stream: { write_stall_ms: 300, max_buffered_bytes: 65_536 } } });
    const filler = word("x".repeat(4_000));
    gateway.upstream.next(async (exchange) => {
      await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
      while (!exchange.over) await exchange.event(filler);
    });
    const socket = await unreadStream(gateway);
    const request = await gateway.upstream.request(0);
    expect(await request.ended).toBe("caller_gone");
    // Kernel buffers on both sides hold some megabytes; the gateway adds almost nothing.
    expect(request.bytesSent).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
    await idle(gateway);
  });

  test("who read slowly receive everything", async () => {
    await using gateway = await start();
    const words = Array.from({ length: 200 }, (_, index) => word(`${index} `));
    gateway.upstream.next(streams({ events: [...words, stop, usage] }));
    const response = await gateway.chat({ stream: true });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      text += decoder.decode(part.value, { stream: true });
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(text).toContain('"199 "');
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("many at once: each receives its own answer", async () => {
    await using gateway = await start();
    const gate = Promise.withResolvers<void>();
    gateway.upstream.follow((request) =>
      after(gate.promise, completes({ text: `answer to ${JSON.stringify(request.body?.["messages"])}` })),
    );
    const asked = Array.from({ length: 100 }, (_, index) =>
      gateway.chat({
        stream: index % 2 === 0,
        max_tokens: 100,
        messages: [{ role: "user", content: `question-${index}!` }],
      }),
    );
    await eventually(() => gateway.upstream.received() === 100);
    gate.resolve();
    const answers = await Promise.all(
      asked.map(async (answer) => {
        const response = await answer;
        if (!response.headers.get("content-type")?.includes("event-stream"))
          return (await response.json()).choices[0].message.content;
        return contentOf((await readStream(response)).chunks);
      }),
    );
    answers.forEach((answer, index) => void expect(answer).toContain(`question-${index}!`));
    const books = await gateway.ledger();
    expect(books.spent).toBe(gateway.upstream.billedNanoUsd());
    await idle(gateway);
  });
});

/** A streaming request on a raw socket that never reads its answer. */
async function unreadStream(gateway: TestGateway) {
  const { connect } = await import("node:net");
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  const body = JSON.stringify({
    model: "smart-router-flash",
    stream: true,
    messages: [{ role: "user", content: "x" }],
  });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a-token-of-a-test\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}
