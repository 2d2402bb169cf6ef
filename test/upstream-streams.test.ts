import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { UpstreamEvent } from "#upstream/upstream.ts";
import { callOf, chunked, eventsOf, headOf, lastChunk, withUpstream } from "./upstream-raw-server.ts";

const folder = join(import.meta.dir, "../src/upstream/fixtures");
const fixtures = readdirSync(folder).filter((name) => name.endsWith(".sse"));
const fixture = (name: string) => readFileSync(join(folder, `${name}.sse`));
const sseHead = (framing: "chunked" | "close") => headOf("text/event-stream; charset=utf-8", framing);

/** A stream that answers with these pieces, each in a write of its own, and then closes as told. */
function streamed(
  pieces: readonly (string | Uint8Array)[],
  options: { framing?: "chunked" | "close"; ending?: "finish" | "end" | "reset" } = {},
) {
  const { framing = "chunked", ending = "finish" } = options;
  return withUpstream(
    async ({ socket, request }) => {
      await request();
      socket.setNoDelay(true);
      socket.write(sseHead(framing));
      for (const piece of pieces)
        await written(socket, framing === "chunked" ? chunked(piece) : Buffer.from(piece as string));
      if (ending === "finish" && framing === "chunked") socket.write(lastChunk);
      else if (ending === "reset") socket.resetAndDestroy();
      else socket.end();
    },
    async ({ send }) => {
      const reply = await send(callOf(true));
      return { reply, events: reply.kind === "stream" ? await eventsOf(reply) : [] };
    },
  );
}

function written(socket: { write(bytes: Uint8Array, then: () => void): boolean }, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

const chunksIn = (events: readonly UpstreamEvent[]) =>
  events.flatMap((event) => (event.kind === "chunk" ? [event] : []));
const dataLines = (bytes: Buffer) =>
  bytes
    .toString("utf8")
    .split("\n")
    .flatMap((line) => (line.startsWith("data: {") ? [line.slice(6)] : []));

describe("a recorded stream", () => {
  for (const name of fixtures.filter((name) => !name.startsWith("error"))) {
    for (const framing of ["chunked", "close"] as const) {
      test(`${name} (${framing}) is passed on byte for byte and ends`, async () => {
        const bytes = readFileSync(join(folder, name));
        const { events } = await streamed([bytes], { framing });
        expect(chunksIn(events).map(({ raw }) => raw)).toEqual(dataLines(bytes));
        expect(chunksIn(events).map(({ chunk }) => chunk)).toEqual(dataLines(bytes).map((line) => JSON.parse(line)));
        expect(events.at(-1)?.kind).toBe("end");
      });
    }
  }

  test("reports tokens and cost", async () => {
    const last = async (name: string) => (await streamed([fixture(name)])).events.at(-1);
    expect(await last("comments-and-usage")).toEqual({
      kind: "end",
      report: { usage: { input: 21, cachedInput: 5, output: 8, reasoning: 3 }, costNanoUsd: 5_180 },
    });
    expect(await last("reasoning")).toEqual({
      kind: "end",
      report: { usage: { input: 10, cachedInput: 0, output: 12, reasoning: 9 }, costNanoUsd: 15_000 },
    });
    expect(await last("tool-calls")).toEqual({
      kind: "end",
      report: { usage: { input: 100, cachedInput: 0, output: 20, reasoning: 0 } },
    });
    expect(await last("two-choices")).toEqual({ kind: "end", report: {} });
  });

  test("that turns into an error is broken with the error's status", async () => {
    const { events } = await streamed([fixture("error-mid-stream")]);
    expect(events.map(({ kind }) => kind)).toEqual(["chunk", "broken"]);
    expect(events.at(-1)).toEqual({
      kind: "broken",
      failure: {
        kind: "upstream_error",
        status: 502,
        message: "Upstream error from Example: overloaded",
        dispatched: true,
      },
      report: {},
    });
  });
});
