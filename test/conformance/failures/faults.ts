import type { JsonObject } from "#domain/chat.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { eventually, type TestGateway } from "../../harness/gateway.ts";

/** What the tests of this folder share about failing upstreams. */

/** One failure excludes the model. An unusable answer does not: other conversations have to meet one too. */
export const strict = { health: { failures_in_a_row: 1 } };

/** Health rules under which no failures exclude a model. */
export const noExclusion = { failures_in_a_row: 1_000_000 };

export const word = (content: string) => chunk({ role: "assistant", content });
export const stop = chunk({ content: "" }, "stop");
export const usage = usageChunk({ input: 10, output: 2, costUsd: 0.000002 });
export const bill = 2_000;
export const begun = [word("a")];
export const json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
export const sse = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

export type End = "done" | "clean" | "fin" | "rst" | "silence";

/** The first event, then the rest once the caller has received it. */
export const afterFirst =
  (events: readonly (JsonObject | string)[], end: End, framing: "chunked" | "close" = "chunked") =>
  (contentRead: Promise<void>): Behaviour =>
    streams({
      events: [...begun, ...events],
      end,
      framing,
      bills: bill,
      gate: (index) => (index === 1 ? contentRead : undefined),
    });

/** Comments, one for each turn of the event loop, until the connection ends. */
export const endlessComments =
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

/** Waits until no stream is counted and no call is open. */
export async function idle(gateway: TestGateway): Promise<void> {
  await eventually(() => gateway.upstream.unfinished() === 0 && gateway.gateway.http.streams.count === 0);
}
