import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf } from "#platform/receiver.ts";
import type { UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { answerLimits } from "#upstream/upstream.ts";
import { callOf, chunked, eventsOf, headOf, lastChunk, withUpstream } from "./raw-server.ts";

const folder = join(import.meta.dir, "../../src/upstream/fixtures");
const fixtures = readdirSync(folder).filter((name) => name.endsWith(".sse"));
const sseHead = (framing: "chunked" | "close") => headOf("text/event-stream; charset=utf-8", framing);

/** A stream with these pieces, each in a separate write, that then closes as given. */
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
      const reply = await send(callOf(true, { body: { n: 2 } }));
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
});

/** The events of a stream of these pieces, and the failure if none began. */
async function outcome(pieces: readonly (string | Uint8Array)[], options: Parameters<typeof streamed>[1] = {}) {
  const { reply, events } = await streamed(pieces, options);
  return { failure: reply.kind === "failure" ? reply.failure : undefined, events, last: events.at(-1) };
}

const contentChunk = (content: string, finish: string | null = null, index = 0) =>
  `data: ${JSON.stringify({ choices: [{ index, delta: { content }, finish_reason: finish }] })}\n\n`;
const role = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] })}\n\n`;
const done = "data: [DONE]\n\n";

describe("the beginning of a stream", () => {
  test("is the first event with content; all events before it are in the first batch", async () => {
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(sseHead("close"));
        for (const piece of [": hello\n\n", role, ": hello\n\n", contentChunk("a"), contentChunk("", "stop"), done]) {
          await written(socket, Buffer.from(piece));
        }
        socket.end();
      },
      async ({ send }) => {
        const reply = await send(callOf(true));
        if (reply.kind !== "stream") throw new Error(JSON.stringify(reply));
        const batch = await nextOf(reply.events);
        expect(batch?.slice(0, 2)).toMatchObject([{ raw: role.slice(6, -2) }, { raw: contentChunk("a").slice(6, -2) }]);
      },
    );
  });

  const openings: [string, string[], UpstreamFailure["kind"], number | undefined][] = [
    ["an error event", [`data: {"error":{"code":429,"message":"m"}}\n\n`], "rate_limited", 429],
    ["an error event by name", [`event: error\ndata: {"code":503,"message":"m"}\n\n`], "upstream_error", 503],
    ["an error after a role", [role, `data: {"error":{"code":"x","message":"m"}}\n\n`], "upstream_error", 500],
    ["an error in a choice", [`data: {"choices":[{"error":{"code":502,"message":"m"}}]}\n\n`], "upstream_error", 502],
    ["nothing", [], "cut_off", undefined],
    ["comments only", [": a\n\n", ": b\n\n"], "cut_off", undefined],
    ["a role only", [role], "cut_off", undefined],
    ["[DONE] at once", [done], "cut_off", undefined],
    ["an event that is not JSON", ["data: hello\n\n"], "garbage", undefined],
    ["an event that is a list", ["data: []\n\n"], "garbage", undefined],
    ["choices that are no list", [`data: {"choices":1}\n\n`], "garbage", undefined],
    ["a choice that is no object", [`data: {"choices":[1]}\n\n`], "garbage", undefined],
    ["an absurd index", [`data: {"choices":[{"index":1e9,"delta":{"content":"a"}}]}\n\n`], "garbage", undefined],
  ];
  for (const [what, pieces, kind, status] of openings) {
    test(`of ${what} is a plain ${kind} failure`, async () => {
      const { failure } = await outcome(pieces, { framing: "close" });
      expect(failure).toMatchObject({
        kind,
        dispatched: true,
        ...(status === undefined ? {} : { status, message: "m" }),
      });
    });
  }

  test("with an event of too many JSON values is garbage; a later such event breaks the stream", async () => {
    const event = `data: {"choices":[{"index":0,"delta":{"content":"x"},"more":[${"[],".repeat(3_000)}0]}]}\n\n`;
    const limits = { ...answerLimits, maxValues: 3_000 };
    const asked = (before: string) =>
      withUpstream(
        async ({ socket, request }) => {
          await request();
          socket.end(`${sseHead("close")}${before}${event}`);
        },
        async ({ send }) => {
          const reply = await send(callOf(true));
          return reply.kind === "stream" ? eventsOf(reply) : reply;
        },
        { limits },
      );
    expect(await asked("")).toMatchObject({ failure: { kind: "garbage" } });
    expect((await asked(contentChunk("a"))) as unknown[]).toContainEqual(
      expect.objectContaining({ kind: "broken", failure: expect.objectContaining({ kind: "garbage" }) }),
    );
  });
});

test("a recorded stream split in any way gives the same events", async () => {
  for (const name of fixtures) {
    const bytes = readFileSync(join(folder, name));
    const whole = (await streamed([bytes])).events;
    const single = [...bytes].map((_, i) => bytes.subarray(i, i + 1));
    expect((await streamed(single)).events).toEqual(whole);
  }
});
