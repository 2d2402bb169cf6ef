import { describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync } from "node:zlib";
import type { JsonObject } from "#domain/chat.ts";
import { type AnswerLimits, defaultAnswerLimits } from "#upstream/client.ts";
import type { UpstreamFailure, UpstreamReply } from "#upstream/upstream.ts";
import { callOf, chunked, eventsOf, headOf, jsonAnswer, withUpstream } from "./raw-server.ts";

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
    { limits: () => ({ ...defaultAnswerLimits, ...options.limits }) },
  );
}

describe("a call", () => {
  test("whose answer has too many JSON values is garbage; one with just as many as allowed is not", async () => {
    const answer = { ...completion, logprobs: Array.from({ length: 2_000 }, () => []) };
    const refused = failureOf(await answered(jsonAnswer(answer), { limits: { maxValues: 2_000 } }));
    expect(refused).toMatchObject({ kind: "garbage", message: expect.stringContaining("2000 JSON values") });
    expect((await answered(jsonAnswer(answer), { limits: { maxValues: 5_000 } })).kind).toBe("answer");
  });

  test("posts the body as JSON with the gateway's credentials and no header of the caller", async () => {
    const key = ["sk", "test", "key"].join("-");
    await withUpstream(
      async ({ socket, request }) => {
        const sent = await request();
        socket.write(jsonAnswer({ ...completion, sent }));
      },
      async ({ send }) => {
        const body = { model: "m", messages: [{ role: "user", content: "ü🌍" }], deep: [[[null]]], stop: null };
        const reply = await send(callOf(false, { body }));
        if (reply.kind !== "answer") throw new Error(JSON.stringify(reply));
        const [head = "", sent = ""] = String(reply.answer["sent"]).split("\r\n\r\n");
        expect(head.startsWith("POST /api/v1/chat/completions HTTP/1.1\r\n")).toBe(true);
        const names = head
          .split("\r\n")
          .slice(1)
          .map((line) => line.toLowerCase().split(":")[0])
          .sort();
        expect(names).toEqual([
          "accept",
          "accept-encoding",
          "authorization",
          "connection",
          "content-length",
          "content-type",
          "host",
          "user-agent",
        ]);
        expect(head.toLowerCase()).toContain(`authorization: bearer ${key}\r\n`);
        expect(head.toLowerCase()).toContain("content-type: application/json\r\n");
        expect(JSON.parse(sent)).toEqual(body);
      },
      { apiKey: key },
    );
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

  test("returns the whole answer unchanged, with usage and cost", async () => {
    const reply = await answered(jsonAnswer(completion));
    expect(reply).toMatchObject({
      kind: "answer",
      answer: completion,
      report: { usage: { input: 21, cachedInput: 0, output: 8, reasoning: 0 }, costNanoUsd: 5_180 },
    });
  });
});

describe("a status", () => {
  const kinds: [number, UpstreamFailure["kind"]][] = [
    [301, "redirected"],
    [302, "redirected"],
    [307, "redirected"],
    [400, "rejected"],
    [401, "unauthorized"],
    [402, "unauthorized"],
    [403, "unauthorized"],
    [404, "rejected"],
    [408, "upstream_error"],
    [409, "upstream_error"],
    [413, "rejected"],
    [422, "rejected"],
    [425, "upstream_error"],
    [429, "rate_limited"],
    [500, "upstream_error"],
    [502, "upstream_error"],
    [503, "upstream_error"],
    [529, "upstream_error"],
  ];
  for (const [status, kind] of kinds) {
    for (const stream of [false, true]) {
      test(`${status} is ${kind}${stream ? ", also for a stream" : ""}`, async () => {
        const body = { error: { message: "no\u0007 luck\n today", code: status } };
        const location = status < 400 ? "Location: http://127.0.0.1:1/\r\n" : "";
        const failure = failureOf(await answered(jsonAnswer(body, `${status} X`, location), { stream }));
        const message =
          status < 400 ? `the upstream redirects (${status}); redirects are not followed` : "no luck today";
        expect(failure).toEqual({ kind, status, message, dispatched: true });
      });
    }
  }

  test("its message is at most 300 characters, from JSON or text", async () => {
    const long = `${"é🌍".repeat(500)}`;
    for (const body of [JSON.stringify({ error: { message: long } }), JSON.stringify({ detail: long }), long]) {
      const { message } = failureOf(await answered(jsonAnswer(body, "500 X")));
      expect(message.length).toBeLessThanOrEqual(300);
      expect(message.startsWith("é🌍é🌍")).toBe(true);
      expect(message.isWellFormed()).toBe(true);
    }
    expect(failureOf(await answered(jsonAnswer("<html><h1>Bad\x00 gateway</h1>", "502 X"))).message).toBe(
      "Bad gateway",
    );
    expect(failureOf(await answered(jsonAnswer("", "502 X"))).message).toBe("the upstream answered 502");
  });

  test("of an endless error page does not read it to its end", async () => {
    const reply = await withUpstream(
      async ({ socket, request, closed }) => {
        await request();
        socket.write(headOf("text/plain", "close", "500 X"));
        const more = () => {
          while (!socket.destroyed && socket.write("x".repeat(65_536)));
        };
        socket.on("drain", more);
        more();
        await closed;
      },
      async ({ send }) => send(callOf(false)),
    );
    expect(failureOf(reply)).toMatchObject({ kind: "upstream_error", status: 500 });
  });

  const waits: [string, number | undefined][] = [
    ["Retry-After: 3", 3_000],
    ["Retry-After: 0", 0],
    ["Retry-After: 1.5", 1_500],
    ["Retry-After: 86400", 86_400_000],
    ["Retry-After: Sat, 21 Nov 2026 12:00:31 GMT", 30_000],
    ["Retry-After: Sat, 21 Nov 2026 11:00:00 GMT", 0],
    ["Retry-After: soon", undefined],
    ["Retry-After: -5", undefined],
    ["Retry-After: 1e9", undefined],
    ["Retry-After: NaN", undefined],
    ["retry-after-ms: 250", 250],
    ["Retry-After: 9\r\nretry-after-ms: 250", 250],
    ["Retry-After: 9\r\nretry-after-ms: x", 9_000],
    ["X-Nothing: 1", undefined],
  ];
  for (const [header, expected] of waits) {
    test(`${JSON.stringify(header)} asks to wait ${expected ?? "for no known time"}`, async () => {
      const failure = failureOf(await answered(jsonAnswer({}, "429 X", `${header}\r\n`)));
      expect(failure.retryAfterMs).toBe(expected as number);
    });
  }
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
        expect(failure).toEqual({ kind, status, message: "slow", dispatched: true });
      }
    });
  }

  const useless: [string, string][] = [
    ["a page", "<html>hello</html>"],
    ["nothing", ""],
    ["a list", "[]"],
    ["a number", "1"],
    ["no choices", "{}"],
    ["an empty list of choices", '{"choices":[]}'],
    ["a choice without a message", '{"choices":[{"index":0}]}'],
    ["half an object", '{"choices":'],
  ];
  for (const [what, body] of useless) {
    test(`with ${what} is garbage`, async () => {
      expect(failureOf(await answered(jsonAnswer(body)))).toMatchObject({ kind: "garbage", dispatched: true });
    });
  }

  test("with endless headers is garbage", async () => {
    // It does not close: one that waited for the end of the headers would time out.
    for (const line of [`x: ${"a".repeat(1_000)}\r\n`, "a".repeat(1_000)]) {
      const failure = failureOf(await answered(`HTTP/1.1 200 OK\r\nx: ${line.repeat(1_000)}`));
      expect(failure).toMatchObject({ kind: "garbage", dispatched: true });
    }
  });

  test("that is unusable still reports its cost", async () => {
    const reply = await answered(jsonAnswer({ choices: [], usage: completion["usage"] }));
    expect(reply).toMatchObject({ kind: "failure", failure: { kind: "garbage" }, report: { costNanoUsd: 5_180 } });
  });

  test("larger than the bound is garbage, with and without a declared length, and its connection is closed", async () => {
    const big = JSON.stringify({ ...completion, pad: "x".repeat(5_000) });
    for (const head of [headOf("application/json", Buffer.byteLength(big)), headOf("application/json", "close")]) {
      const failure = failureOf(await answered(head + big, { limits: { maxAnswerBytes: 4_000 }, ending: "end" }));
      expect(failure).toMatchObject({ kind: "garbage", message: "the upstream's answer is larger than 4000 bytes" });
    }
  });

  test("cut short is cut off, however its end is declared and however it was cut", async () => {
    const body = JSON.stringify(completion);
    const half = body.slice(0, 100);
    for (const ending of ["end", "reset"] as const) {
      const answers = [
        headOf("application/json", body.length + 100) + half,
        headOf("application/json", "chunked") + chunked(half).toString(),
        headOf("application/json", "close") + half,
        headOf("application/json", "close"),
        "HTTP/1.1 200 OK\r\nContent-Le",
        "",
      ];
      for (const answer of answers) {
        const failure = failureOf(await answered(answer, { ending }));
        expect([answer, failure.kind, failure.dispatched]).toEqual([answer, "cut_off", true]);
      }
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
        object: "chat.completion.chunk",
        choices: [
          { delta: { role: "assistant", tool_calls: [{ index: 0, id: "call_1" }] }, finish_reason: "tool_calls" },
        ],
      },
    });
    expect(events[1]).toMatchObject({ report: { costNanoUsd: 5_180 } });
  });
});
