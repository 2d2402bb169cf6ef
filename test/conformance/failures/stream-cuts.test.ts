import { describe, expect, test } from "bun:test";
import { writesRaw } from "#simulator/testing/scripted.ts";
import { start, upstreamIds } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../../harness/sse.ts";
import { idle, noExclusion, stop, usage, word } from "./faults.ts";

/** All cuts run in the long tests, a fifth of them and those around the ends of events always. */
const longTests = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";

describe("a stream cut at every byte", () => {
  // The whole answer is cut after each of its bytes. The caller never sees a regular end before the finish reason, never half an
  // event, and always an end.
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
    test(framing, async () => {
      await using gateway = await start({
        policy: { upstream: { max_attempts: 1, retry_budget_per_second: 0 }, health: noExclusion },
      });
      const chunked = framing === "chunked";
      const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${chunked ? `transfer-encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n` : "\r\n"}`;
      const cutAt = async (length: number): Promise<void> => {
        const promised = length < firstAt ? "" : '"content":"é🙂"';
        const promisedRead = Promise.withResolvers<void>();
        // A line that lacks only its line end is complete when the connection closes, so the test cannot wait for it before.
        const lacksLineEnd = [0, 1].some((missing) => length === firstAt + missing || length === finishAt + missing);
        if (promised === "" || lacksLineEnd) promisedRead.resolve();
        gateway.upstream.next(
          writesRaw(Buffer.concat([Buffer.from(head), bytes.subarray(0, length)]), "fin", {
            gate: promisedRead.promise,
          }),
        );
        const ask = () => gateway.chat({ stream: true, max_tokens: 10 });
        let response = await ask();
        // On a busy machine the gateway refuses requests as overloaded, or because its ledger is late, before it calls the upstream.
        for (; response.status === 503; response = await ask()) await response.text();
        if (response.status === 502) {
          // The caller could not receive anything, or the cut arrived before the one line without a line end.
          expect([length, length < firstAt || lacksLineEnd]).toEqual([length, true]);
          await response.text();
          return;
        }
        const read = await readStream(response, (text) => text.includes(promised) && promisedRead.resolve());
        expect([length, response.status, read.done, contentOf(read.chunks)]).toEqual([length, 200, true, "é🙂"]);
        const reasons = finishReasonsOf(read.chunks);
        expect([length, reasons.length]).toEqual([length, 1]);
        if (!lacksLineEnd) expect([length, ...reasons]).toEqual([length, length < finishAt ? "error" : "stop"]);
      };
      for (let length = 0; length <= bytes.length; length++) {
        const nearALineEnd = [firstAt, finishAt, bytes.length].some((at) => Math.abs(length - at) <= 3);
        if (longTests || nearALineEnd || length % 5 === 0) await cutAt(length);
      }
      await idle(gateway);
    });
});
