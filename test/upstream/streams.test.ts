import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf } from "#platform/receiver.ts";
import { defaultAnswerLimits } from "#upstream/client.ts";
import type { UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { callOf, chunked, eventsOf, headOf, lastChunk, withUpstream } from "./raw-server.ts";

const folder = join(import.meta.dir, "../../src/upstream/fixtures");
const fixtures = readdirSync(folder).filter((name) => name.endsWith(".sse"));
const fixture = (name: string) => readFileSync(join(folder, `${name}.sse`));
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
      report: {
        usage: { input: 21, cachedInput: 5, output: 8, reasoning: 3 },
        costNanoUsd: 5_180,
        generationId: "gen-1763700000-a1",
        host: "Example",
        ownAccount: false,
      },
    });
    expect(await last("reasoning")).toEqual({
      kind: "end",
      report: {
        usage: { input: 10, cachedInput: 0, output: 12, reasoning: 9 },
        costNanoUsd: 15_000,
        generationId: "gen-2",
      },
    });
    expect(await last("tool-calls")).toEqual({
      kind: "end",
      report: { usage: { input: 100, cachedInput: 0, output: 20, reasoning: 0 }, generationId: "chatcmpl-3" },
    });
    expect(await last("two-choices")).toEqual({ kind: "end", report: {} });
  });

  test("that turns into an error is broken with the error's status, and known to have begun", async () => {
    const { events } = await streamed([fixture("error-mid-stream")]);
    expect(events.map(({ kind }) => kind)).toEqual(["chunk", "broken"]);
    expect(events.at(-1)).toEqual({
      kind: "broken",
      failure: {
        kind: "upstream_error",
        status: 502,
        message: "Upstream error from Example: overloaded",
        dispatched: true,
        begun: true,
      },
      report: { generationId: "gen-4", host: "Example" },
    });
  });
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

describe("the end of a stream", () => {
  const clean = [
    ["chunked", "finish"],
    ["close", "end"],
    ["close", "reset"],
  ] as const;
  for (const [framing, ending] of clean) {
    test(`is complete after a finish reason without [DONE] (${framing}, ${ending})`, async () => {
      expect((await outcome([contentChunk("a"), contentChunk("b", "stop")], { framing, ending })).last?.kind).toBe(
        "end",
      );
    });
  }

  for (const framing of ["chunked", "close"] as const) {
    for (const ending of ["finish", "end", "reset"] as const) {
      test(`is a cut before the finish reason (${framing}, ${ending})`, async () => {
        const { last, failure } = await outcome([contentChunk("a"), contentChunk("b")], { framing, ending });
        const broken = last?.kind === "broken" ? last.failure : failure;
        expect(broken).toMatchObject({ kind: "cut_off", dispatched: true });
      });
    }
  }

  test("is a cut at [DONE] without a finish reason", async () => {
    const { last } = await outcome([contentChunk("a"), done]);
    expect(last).toMatchObject({ kind: "broken", failure: { kind: "cut_off" } });
  });

  test("is [DONE]: later bytes are dropped", async () => {
    const { events } = await outcome([contentChunk("a", "stop") + done + contentChunk("late")]);
    expect(events.map(({ kind }) => kind)).toEqual(["chunk", "end"]);
  });

  test("keeps the usage that was reported before a cut", async () => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, cost: 0 } })}\n\n`;
    const { last } = await outcome([contentChunk("a"), usage], { framing: "close" });
    expect(last).toMatchObject({ kind: "broken", report: { usage: { input: 3, output: 4 }, costNanoUsd: 0 } });
  });
});

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

  test("of endless roles is garbage, and not stored", async () => {
    const reply = await withUpstream(
      async ({ socket, request, closed }) => {
        await request();
        socket.write(sseHead("close"));
        const more = () => {
          while (!socket.destroyed && socket.write(role.repeat(100)));
        };
        socket.on("drain", more);
        more();
        await closed;
      },
      async ({ send }) => send(callOf(true)),
      { limits: () => ({ ...defaultAnswerLimits, maxEventBytes: 100_000 }) },
    );
    expect(reply).toMatchObject({ failure: { kind: "garbage" } });
  });

  test("with an event of too many JSON values is garbage; a later such event breaks the stream", async () => {
    const event = `data: {"choices":[{"index":0,"delta":{"content":"x"},"more":[${"[],".repeat(3_000)}0]}]}\n\n`;
    const limits = () => ({ ...defaultAnswerLimits, maxValues: 3_000 });
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

describe("a malformed event in mid-stream", () => {
  for (const bad of ['data: {"choices":[\n\n', "data: nope\n\n", `data: {"choices":{}}\n\n`]) {
    test(`${JSON.stringify(bad)} breaks the stream and is not passed on`, async () => {
      const { events } = await outcome([contentChunk("a") + bad + contentChunk("b", "stop") + done]);
      expect(events).toMatchObject([{ kind: "chunk" }, { kind: "broken", failure: { kind: "garbage" } }]);
    });
  }

  test("larger than the bound breaks the stream and closes the connection", async () => {
    await withUpstream(
      async ({ socket, request, closed }) => {
        await request();
        socket.write(sseHead("close") + contentChunk("a"));
        const more = () => {
          while (!socket.destroyed && socket.write("x".repeat(10_000)));
        };
        socket.on("drain", more);
        socket.write("data: ", more);
        await closed;
      },
      async ({ send }) => {
        const events = await eventsOf(await send(callOf(true)));
        expect(events).toMatchObject([{ kind: "chunk" }, { kind: "broken", failure: { kind: "garbage" } }]);
      },
      { limits: () => ({ ...defaultAnswerLimits, maxEventBytes: 100_000 }) },
    );
  });

  test("with the finish reason `error` breaks it as a 500", async () => {
    const { last } = await outcome([contentChunk("a"), contentChunk("", "error"), done]);
    expect(last).toMatchObject({ kind: "broken", failure: { kind: "upstream_error", status: 500 } });
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
