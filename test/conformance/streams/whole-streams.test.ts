import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { chunk, streams, usageChunk, writesRaw } from "#simulator/testing/scripted.ts";
import { start, type TestGateway } from "../../harness/gateway.ts";
import { readStream } from "../../harness/sse.ts";

/** Streams of which all has come before their caller's answer begins are sent as a whole. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 }, stream: { reasoning: "field" } } });
});
afterAll(() => gateway.stop());

const words = Array.from({ length: 200 }, (_, at) => chunk({ role: "assistant", content: `word ${at} — ` }));
const stop = chunk({ content: "" }, "stop");
const usage = usageChunk({ input: 10, output: 5, costUsd: 0.00001 });

/** The bytes of an upstream's answer, which come in one write. */
function atOnce(events: readonly JsonObject[], end: string): string {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end;
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
  return head + body;
}

async function read(body: JsonObject = {}) {
  const response = await gateway.chat({ stream: true, ...body });
  const length = response.headers.get("content-length");
  return { ...(await readStream(response)), type: response.headers.get("content-type"), length };
}

describe("a stream that has come to its end before anything of it was sent", () => {
  const kinds: [string, readonly JsonObject[]][] = [
    ["short", [...words.slice(0, 3), stop, usage]],
    ["long", [...words, stop, usage]],
    ["one that begins with reasoning", [chunk({ reasoning: "why" }), ...words.slice(0, 9), stop, usage]],
    [
      "one that names another model meanwhile",
      [...words.slice(0, 4), { ...words[4], model: "vendor/other" }, stop, usage],
    ],
    ["one that calls a tool", [chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f" } }] }), stop, usage]],
  ];
  test.each(kinds)("is sent with its length, as the same events as one that comes in pieces: %s", async (_, events) => {
    for (const body of [{}, { stream_options: { include_usage: true } }]) {
      gateway.upstream.next(streams({ events, gate: () => Bun.sleep(0), end: "done" }));
      const inPieces = await read(body);
      gateway.upstream.next(writesRaw(atOnce(events, "data: [DONE]\n\n"), "fin"));
      const whole = await read(body);
      expect(inPieces.length).toBeNull();
      expect(whole.length).toBe(String(Buffer.byteLength(whole.text)));
      expect(whole.text).toBe(inPieces.text);
      expect(whole.type).toBe(inPieces.type);
      expect(whole.done).toBe(true);
    }
  });
});
