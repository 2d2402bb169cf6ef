import { describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync } from "node:zlib";
import type { JsonObject } from "#domain/chat.ts";
import { type AnswerLimits, answerLimits, type UpstreamFailure, type UpstreamReply } from "#upstream/upstream.ts";
import { callOf, eventsOf, headOf, jsonAnswer, withUpstream } from "./raw-server.ts";

const completion: JsonObject = {
  id: "gen-1",
  object: "chat.completion",
  created: 1_763_700_000,
  model: "deepseek/deepseek-v4-flash",
  choices: [{ index: 0, message: { role: "assistant", content: "Grüße 🌍" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29, cost: 0.00000518 },
};

function failureOf(reply: UpstreamReply): UpstreamFailure {
  if (reply.kind !== "failure") throw new Error(`not a failure: ${reply.kind}`);
  return reply.failure;
}

/** The reply of one call to a server that answers each request with these bytes and then, if `close` is set, closes. */
function answered(
  bytes: string | Buffer,
  options: { stream?: boolean; ending?: "end" | "reset"; limits?: Partial<AnswerLimits> } = {},
) {
  return withUpstream(
    async ({ socket, request }) => {
      await request();
      socket.write(bytes, () => {
        if (options.ending === "end") socket.end();
        if (options.ending === "reset") socket.resetAndDestroy();
      });
    },
    async ({ send }) => send(callOf(options.stream ?? false)),
    { limits: { ...answerLimits, ...options.limits } },
  );
}

describe("a call", () => {
  test("whose answer has too many JSON values is garbage; one with just as many as allowed is not", async () => {
    const answer = { ...completion, logprobs: Array.from({ length: 2_000 }, () => []) };
    const refused = failureOf(await answered(jsonAnswer(answer), { limits: { maxValues: 2_000 } }));
    expect(refused).toMatchObject({ kind: "garbage", message: expect.stringContaining("2000 JSON values") });
    expect((await answered(jsonAnswer(answer), { limits: { maxValues: 5_000 } })).kind).toBe("answer");
  });

  test("refuses a key that is not valid in a header, without showing it", async () => {
    const key = `secret${"\n"}line`;
    await expect(
      withUpstream(
        () => {},
        async () => {},
        { apiKey: key },
      ),
    ).rejects.toThrow(/^the upstream API key contains characters/);
  });
});

describe("a status", () => {
  test("that redirects is not followed", async () => {
    for (const stream of [false, true]) {
      const reply = await answered(jsonAnswer({}, "302 X", "Location: http://127.0.0.1:1/\r\n"), { stream });
      const message = "the upstream redirects (302); redirects are not followed";
      expect(failureOf(reply)).toEqual({ kind: "redirected", status: 302, message, dispatched: true });
    }
  });
});

describe("a 200", () => {
  const codes: [JsonObject, number, UpstreamFailure["kind"]][] = [
    [{ code: 429, message: "slow" }, 429, "rate_limited"],
    [{ code: 502, message: "slow" }, 502, "upstream_error"],
    [{ code: "503", message: "slow" }, 503, "upstream_error"],
    [{ code: 403, message: "slow" }, 403, "unauthorized"],
    [{ code: 200, message: "slow" }, 500, "upstream_error"],
    [{ code: "overloaded", message: "slow" }, 500, "upstream_error"],
    [{ message: "slow" }, 500, "upstream_error"],
  ];
  for (const [error, status, kind] of codes) {
    test(`with error code ${JSON.stringify(error["code"])} counts as ${status}`, async () => {
      for (const stream of [false, true]) {
        const failure = failureOf(await answered(jsonAnswer({ error }), { stream }));
        expect(failure).toEqual({ kind, status, message: "slow", dispatched: true, hasErrorBody: true });
      }
    });
  }

  test("with endless headers is garbage", async () => {
    // It does not close: one that waited for the end of the headers would time out.
    for (const line of [`x: ${"a".repeat(1_000)}\r\n`, "a".repeat(1_000)]) {
      const failure = failureOf(await answered(`HTTP/1.1 200 OK\r\nx: ${line.repeat(1_000)}`));
      expect(failure).toMatchObject({ kind: "garbage", dispatched: true });
    }
  });

  const text = Buffer.from(JSON.stringify(completion));
  const codings: [string, Uint8Array][] = [
    ["gzip", Bun.gzipSync(text)],
    ["x-gzip", Bun.gzipSync(text)],
    ["GZIP", Bun.gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", Bun.zstdCompressSync(text)],
    ["identity", text],
  ];
  for (const [coding, bytes] of codings) {
    const head = headOf(`application/json\r\nContent-Encoding: ${coding}`, bytes.length);
    test(`that is compressed by ${coding} although not accepted is read, and bounded`, async () => {
      const whole = Buffer.concat([Buffer.from(head), bytes]);
      expect(await answered(whole)).toMatchObject({ kind: "answer", answer: completion });
      const bounded = failureOf(await answered(whole, { limits: { maxAnswerBytes: text.length - 1 } }));
      expect(bounded).toMatchObject({ kind: "garbage", message: expect.stringContaining("larger than") });
    });
  }

  test("that is not compressed as declared, or in an unknown coding, is garbage", async () => {
    for (const coding of ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unknown"]) {
      const head = headOf(`application/json\r\nContent-Encoding: ${coding}`, text.length);
      const failure = failureOf(await answered(Buffer.concat([Buffer.from(head), text])));
      expect([coding, failure.kind, failure.dispatched]).toEqual([coding, "garbage", true]);
    }
  });

  test("with a whole completion instead of a requested stream becomes a stream of one chunk", async () => {
    const calls = [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }];
    const message = { role: "assistant", content: null, tool_calls: calls };
    const whole = { ...completion, choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    const events = await eventsOf(await answered(jsonAnswer(whole), { stream: true }));
    expect(events.map((event) => event.kind)).toEqual(["chunk", "end"]);
    expect(events[0]).toMatchObject({
      chunk: {
        id: "gen-1",
        choices: [
          { delta: { role: "assistant", tool_calls: [{ index: 0, id: "call_1" }] }, finish_reason: "tool_calls" },
        ],
      },
    });
    expect(events[1]).toMatchObject({ report: { costNanoUsd: 5_180 } });
  });
});
