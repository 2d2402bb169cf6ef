import { describe, expect, test } from "bun:test";
import type { ManualTime } from "#platform/manual-time.ts";
import { defaultAnswerLimits } from "#upstream/client.ts";
import type { UpstreamFailure, UpstreamReply } from "#upstream/upstream.ts";
import {
  type Connection,
  callOf,
  chunked,
  eventsOf,
  headOf,
  jsonAnswer,
  lastChunk,
  limits,
  withUpstream,
} from "./raw-server.ts";

const never = 1e12;
const noDeadlines = { connect: never, headers: never, first_event: never, idle: never, idle_data: never, total: never };
const streamHead = headOf("text/event-stream", "chunked");
const contentChunk = (content: string, finish: string | null = null) =>
  chunked(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`);
const answer = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] };

function failureOf(reply: UpstreamReply): UpstreamFailure {
  if (reply.kind !== "failure") throw new Error(`not a failure: ${reply.kind}`);
  return reply.failure;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Advances time in steps, letting the network run at each, until the promise settles. */
async function whileTimePasses<T>(time: ManualTime, stepMs: number, promise: Promise<T>): Promise<T> {
  let settled = false;
  const mark = () => {
    settled = true;
  };
  promise.then(mark, mark);
  const giveUpAt = performance.now() + 10_000;
  while (!settled) {
    if (performance.now() > giveUpAt) throw new Error("nothing came of it");
    time.advance(stepMs);
    await turn();
  }
  return promise;
}

/** Sends one comment (or other bytes) repeatedly until the connection ends. */
async function repeat({ socket }: Connection, bytes: Uint8Array | string): Promise<void> {
  while (!socket.destroyed) {
    socket.write(bytes);
    await turn();
  }
}

describe("a deadline", () => {
  const rows: {
    phase: "headers" | "first_event" | "idle" | "idle_data" | "total";
    what: string;
    stream: boolean;
    serve: (connection: Connection) => void | Promise<void>;
  }[] = [
    { phase: "headers", what: "silence before headers", stream: false, serve: () => {} },
    { phase: "headers", what: "silence before headers", stream: true, serve: () => {} },
    {
      phase: "headers",
      what: "headers that never end",
      stream: true,
      serve: (connection) => void connection.socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"),
    },
    {
      phase: "first_event",
      what: "silence after headers",
      stream: true,
      serve: ({ socket }) => void socket.write(streamHead),
    },
    {
      phase: "first_event",
      what: "comments for ever",
      stream: true,
      serve: (connection) => {
        connection.socket.write(streamHead);
        return repeat(connection, chunked(": alive\n\n"));
      },
    },
    {
      phase: "idle",
      what: "silence in mid-stream",
      stream: true,
      serve: ({ socket }) => void socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")])),
    },
    {
      phase: "idle_data",
      what: "comments for ever in mid-stream",
      stream: true,
      serve: (connection) => {
        connection.socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")]));
        return repeat(connection, chunked(": alive\n\n"));
      },
    },
    ...(
      [
        ["events without data", chunked("event: ping\n\n")],
        ["event lines that end in no event", chunked("event: ping\n")],
        ["the bytes of one event line", chunked("event: ping".repeat(9))],
        ["ids and retry times", chunked("id: 7\nretry: 10\n\n")],
        ["events with empty data", chunked("data:\n\n")],
        ["chunks that hold neither choices nor usage", chunked('data: {"id":"g","choices":[]}\n\n')],
        ["whitespace between events", chunked("\n")],
      ] as const
    ).flatMap(([what, bytes]) => [
      {
        phase: "idle_data" as const,
        what: `${what}, for ever, in mid-stream`,
        stream: true,
        serve: (connection: Connection) => {
          connection.socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")]));
          return repeat(connection, bytes);
        },
      },
      {
        phase: "first_event" as const,
        what: `${what}, for ever, before the first content`,
        stream: true,
        serve: (connection: Connection) => {
          connection.socket.write(streamHead);
          return repeat(connection, bytes);
        },
      },
    ]),
    {
      phase: "total",
      what: "a stream without end",
      stream: true,
      serve: (connection) => {
        connection.socket.write(streamHead);
        return repeat(connection, contentChunk("a"));
      },
    },
    {
      phase: "idle",
      what: "silence in the middle of an answer in chunks",
      stream: false,
      serve: ({ socket }) =>
        void socket.write(Buffer.concat([Buffer.from(headOf("application/json", "chunked")), chunked("{")])),
    },
    {
      phase: "idle",
      what: "silence in the middle of an answer",
      stream: false,
      serve: ({ socket }) => void socket.write(`${headOf("application/json", 100)}{`),
    },
    {
      phase: "first_event",
      what: "an answer whose body does not begin",
      stream: false,
      serve: ({ socket }) => void socket.write(headOf("application/json", "chunked")),
    },
    {
      phase: "total",
      what: "white space for ever",
      stream: false,
      serve: (connection) => {
        connection.socket.write(headOf("application/json", "chunked"));
        return repeat(connection, chunked(" "));
      },
    },
  ];
  for (const { phase, what, stream, serve } of rows) {
    test(`${phase} ends ${what} (${stream ? "stream" : "whole"}), and the upstream sees the abort`, async () => {
      let served: Promise<void> | undefined;
      await withUpstream(
        async (connection) => {
          await connection.request();
          served = connection.closed;
          await serve(connection);
        },
        async ({ time, send }) => {
          const timeoutsMs = { ...noDeadlines, [phase]: 1_000 };
          const call = async () => {
            const reply = await send(callOf(stream, { timeoutsMs }));
            if (reply.kind !== "stream") return failureOf(reply);
            const last = (await eventsOf(reply)).at(-1);
            if (last?.kind !== "broken") throw new Error(`not broken: ${last?.kind}`);
            return last.failure;
          };
          const failure = await whileTimePasses(time, 10, call());
          expect(failure).toMatchObject({ kind: "timed_out", dispatched: true });
          expect(failure.message).toEndWith(`(${phase}, 1000 ms)`);
          await served;
          expect(time.pending).toBe(0);
        },
      );
    });
  }

  test("is not the only bound on bytes without data: their size is bounded too", async () => {
    await withUpstream(
      async (connection) => {
        await connection.request();
        connection.socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")]));
        await repeat(connection, chunked("event: ping\n\n".repeat(50)));
      },
      async ({ send }) => {
        const reply = await send(callOf(true, { timeoutsMs: noDeadlines }));
        if (reply.kind !== "stream") throw new Error(JSON.stringify(reply));
        const last = (await eventsOf(reply)).at(-1);
        expect(last).toMatchObject({ kind: "broken", failure: { kind: "garbage" } });
      },
      { limits: () => ({ ...defaultAnswerLimits, maxEventBytes: 4_096 }) },
    );
  });

  test("during the body of an error answer does not hide its status", async () => {
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(headOf("application/json", 100, "429 X"));
      },
      async ({ time, send }) => {
        const timeoutsMs = { ...noDeadlines, idle: 1_000 };
        const reply = await whileTimePasses(time, 10, send(callOf(true, { timeoutsMs })));
        expect(failureOf(reply)).toMatchObject({ kind: "rate_limited", status: 429 });
        expect(time.pending).toBe(0);
      },
    );
  });

  test("for connecting ends a handshake that stalls; nothing was sent", async () => {
    await withUpstream(
      () => {},
      async ({ server }) => {
        await withUpstream(
          () => {},
          async ({ time, send }) => {
            const timeoutsMs = { ...noDeadlines, connect: 500, headers: 1_000 };
            const failure = failureOf(await whileTimePasses(time, 10, send(callOf(true, { timeoutsMs }))));
            expect(failure).toMatchObject({ kind: "timed_out", dispatched: false });
            expect(failure.message).toEndWith("(connect, 500 ms)");
            expect(time.pending).toBe(0);
          },
          { baseUrl: server.url.replace("http:", "https:") },
        );
      },
    );
  });

  test("does not run while the reader has stopped reading", async () => {
    const goOn = Promise.withResolvers<void>();
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")]));
        await goOn.promise;
        socket.write(Buffer.concat([contentChunk("b", "stop"), chunked("data: [DONE]\n\n"), Buffer.from(lastChunk)]));
      },
      async ({ time, send }) => {
        const timeoutsMs = { ...noDeadlines, idle: 1_000, idle_data: 1_000 };
        const reply = await send(callOf(true, { timeoutsMs }));
        if (reply.kind !== "stream") throw new Error(JSON.stringify(reply));
        const events = reply.events[Symbol.asyncIterator]();
        expect((await events.next()).value).toMatchObject([{ kind: "chunk" }]);
        for (let i = 0; i < 50; i++) {
          time.advance(1_000);
          await turn();
        }
        goOn.resolve();
        expect((await events.next()).value).toMatchObject([{ kind: "chunk" }, { kind: "end" }]);
      },
    );
  });

  test("is short once every choice has finished: only usage and [DONE] are missing", async () => {
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a"), contentChunk("", "stop")]));
      },
      async ({ time, send }) => {
        const reply = await send(callOf(true));
        if (reply.kind !== "stream") throw new Error("no stream");
        const batches = reply.events[Symbol.asyncIterator]();
        let finished = false;
        while (!finished) finished = JSON.stringify((await batches.next()).value).includes('"stop"');
        const end = batches.next();
        await turn();
        // The deadline releases its timer at once; the end of the connection shows only after some real time.
        const from = time.clock.monotonic();
        while (time.pending > 0) time.advance(100);
        expect(time.clock.monotonic() - from).toBeLessThan(limits.idle);
        expect((await end).value).toEqual([{ kind: "end", report: {} }]);
      },
    );
  });
});

describe("an abort", () => {
  /** The caller aborts when the server says so; returns the caller's view, after the server saw the connection close. */
  async function abortedCall(
    stream: boolean,
    serve: (connection: Connection, leave: () => void) => void | Promise<void>,
  ): Promise<{ reply: UpstreamReply; connections: number }> {
    const controller = new AbortController();
    let closed: Promise<void> | undefined;
    return withUpstream(
      (connection) => {
        closed = connection.closed;
        return serve(connection, () => controller.abort());
      },
      async ({ server, time, send }) => {
        const reply = await send(callOf(stream), controller.signal);
        await closed;
        expect(time.pending).toBe(0);
        return { reply, connections: server.connections };
      },
    );
  }
  const aborted = { kind: "failure", failure: { kind: "aborted", dispatched: true } };

  for (const stream of [false, true]) {
    test(`before headers reaches the upstream (${stream ? "stream" : "whole"})`, async () => {
      const { reply } = await abortedCall(stream, async ({ request }, leave) => {
        await request();
        leave();
      });
      expect(reply).toMatchObject(aborted);
    });

    test(`after headers reaches the upstream (${stream ? "stream" : "whole"})`, async () => {
      const { reply } = await abortedCall(stream, async ({ socket, request }, leave) => {
        await request();
        socket.write(stream ? streamHead : headOf("application/json", 100), async () => {
          await turn();
          leave();
        });
      });
      expect(reply).toMatchObject(aborted);
    });
  }

  test("in the middle of an answer reaches the upstream", async () => {
    const { reply } = await abortedCall(false, async ({ socket, request }, leave) => {
      await request();
      socket.write(`${headOf("application/json", 100)}{"choices"`, () => leave());
    });
    expect(reply).toMatchObject(aborted);
  });

  test("before the call means that nothing is sent", async () => {
    await withUpstream(
      () => {},
      async ({ server, send }) => {
        const failure = failureOf(await send(callOf(false), AbortSignal.abort()));
        expect(failure).toMatchObject({ kind: "aborted", dispatched: false });
        expect(server.connections).toBe(0);
      },
    );
  });

  /** A stream without end whose first batch has been read, with a promise of the end that the server sees. */
  async function midStream(
    use: (parts: {
      events: AsyncIterator<readonly { kind: string }[]>;
      controller: AbortController;
      time: ManualTime;
    }) => Promise<void>,
  ) {
    const controller = new AbortController();
    let closed: Promise<void> | undefined;
    await withUpstream(
      async (connection) => {
        closed = connection.closed;
        await connection.request();
        connection.socket.write(Buffer.concat([Buffer.from(streamHead), contentChunk("a")]));
      },
      async ({ time, send }) => {
        const reply = await send(callOf(true), controller.signal);
        if (reply.kind !== "stream") throw new Error(JSON.stringify(reply));
        const events = reply.events[Symbol.asyncIterator]();
        expect((await events.next()).value).toMatchObject([{ kind: "chunk" }]);
        await use({ events, controller, time });
        await closed;
        expect(time.pending).toBe(0);
      },
    );
  }
  const broken = { done: false, value: [{ kind: "broken", failure: { kind: "aborted" }, report: {} }] };

  test("in mid-stream ends a waiting reader and reaches the upstream", async () => {
    await midStream(async ({ events, controller }) => {
      const next = events.next();
      controller.abort();
      expect(await next).toMatchObject(broken);
      expect((await events.next()).done).toBe(true);
    });
  });

  test("while the reader has stopped reading reaches the upstream at once", async () => {
    let seen: AsyncIterator<readonly { kind: string }[]> | undefined;
    await midStream(async ({ events, controller }) => {
      seen = events;
      controller.abort();
    });
    expect(await seen?.next()).toMatchObject(broken);
  });

  test("is caused by leaving the loop early", async () => {
    await midStream(async ({ events }) => {
      await events.return?.();
      expect((await events.next()).done).toBe(true);
    });
  });

  test("after the end changes nothing", async () => {
    const controller = new AbortController();
    await withUpstream(
      async ({ socket, request }) => {
        for (;;) {
          await request();
          socket.write(jsonAnswer(answer));
        }
      },
      async ({ server, send }) => {
        expect((await send(callOf(false), controller.signal)).kind).toBe("answer");
        controller.abort();
        expect((await send(callOf(false))).kind).toBe("answer");
        expect(server.connections).toBe(1);
      },
    );
  });
});

describe("a connection", () => {
  /** The first connection answers `good` requests, then treats the next one as given; later connections answer all. */
  const failing = (good: number, fail: (connection: Connection) => void) => async (connection: Connection) => {
    for (let i = 0; connection.number > 1 || i < good; i++) {
      await connection.request();
      connection.socket.write(jsonAnswer(answer));
    }
    await connection.request();
    fail(connection);
  };
  const fails: [string, (connection: Connection) => void][] = [
    ["closed", ({ socket }) => void socket.end()],
    ["reset", ({ socket }) => void socket.resetAndDestroy()],
  ];
  for (const [how, fail] of fails) {
    test(`${how} on reuse is a stale socket; a new one is not`, async () => {
      await withUpstream(failing(1, fail), async ({ server, send }) => {
        expect((await send(callOf(false))).kind).toBe("answer");
        const failure = failureOf(await send(callOf(false)));
        expect(failure).toMatchObject({ kind: "cut_off", dispatched: true, staleSocket: true });
        expect((await send(callOf(false, { freshConnection: true }))).kind).toBe("answer");
        expect(server.connections).toBe(2);
      });
      await withUpstream(failing(0, fail), async ({ send }) => {
        const failure = failureOf(await send(callOf(false)));
        expect(failure).toMatchObject({ kind: "cut_off", dispatched: true });
        expect(failure.staleSocket).toBeUndefined();
      });
    });
  }

  test("that fails long after the request was sent is not a stale socket", async () => {
    const fail = Promise.withResolvers<void>();
    await withUpstream(
      failing(1, async ({ socket }) => {
        await fail.promise;
        socket.end();
      }),
      async ({ time, send }) => {
        expect((await send(callOf(false))).kind).toBe("answer");
        const reply = send(callOf(false));
        time.advance(5_000);
        fail.resolve();
        expect(failureOf(await reply).staleSocket).toBeUndefined();
      },
    );
  });

  test("requested as fresh is a new one, and is not kept", async () => {
    const heads: string[] = [];
    await withUpstream(
      async ({ socket, request }) => {
        for (;;) {
          heads.push(await request());
          socket.write(jsonAnswer(answer));
        }
      },
      async ({ server, send }) => {
        await send(callOf(false));
        await send(callOf(false, { freshConnection: true }));
        await send(callOf(false));
        expect(server.connections).toBe(2);
        expect(heads.filter((head) => /connection: keep-alive/i.test(head)).length).toBe(2);
      },
    );
  });

  test("is reused after a stream that was read to its end", async () => {
    await withUpstream(
      async ({ socket, request }) => {
        for (;;) {
          await request();
          socket.write(streamHead);
          socket.write(Buffer.concat([contentChunk("a", "stop"), chunked("data: [DONE]\n\n"), Buffer.from(lastChunk)]));
        }
      },
      async ({ server, time, send }) => {
        for (let i = 0; i < 3; i++) {
          expect((await eventsOf(await send(callOf(true)))).at(-1)?.kind).toBe("end");
          // The end of the body is read in the background.
          while (time.pending > 0) await turn();
        }
        expect(server.connections).toBe(1);
      },
    );
  });

  test("kept open by the server after [DONE] is closed", async () => {
    let closed: Promise<void> | undefined;
    await withUpstream(
      async (connection) => {
        closed = connection.closed;
        await connection.request();
        connection.socket.write(streamHead);
        connection.socket.write(Buffer.concat([contentChunk("a", "stop"), chunked("data: [DONE]\n\n")]));
      },
      async ({ time, send }) => {
        expect((await eventsOf(await send(callOf(true)))).at(-1)?.kind).toBe("end");
        time.advance(1_000);
        await closed;
      },
    );
  });

  test("that is refused, or whose name is not found, means that nothing was sent", async () => {
    const urls = ["http://127.0.0.1:1/v1", "http://nowhere.invalid/v1"];
    for (const baseUrl of urls) {
      const failure = await withUpstream(
        () => {},
        async ({ send }) => failureOf(await send(callOf(false))),
        { baseUrl },
      );
      expect(failure).toMatchObject({ kind: "unreachable", dispatched: false });
    }
  });

  test("to a server without TLS means that nothing was sent", async () => {
    await withUpstream(
      ({ socket }) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
      async ({ server }) => {
        const failure = await withUpstream(
          () => {},
          async ({ send }) => failureOf(await send(callOf(false))),
          { baseUrl: server.url.replace("http:", "https:") },
        );
        expect(failure).toMatchObject({ kind: "unreachable", dispatched: false });
      },
    );
  });
});

test("a reader that does not read pauses the upstream", async () => {
  let sent = 0;
  let blocked = false;
  const piece = Buffer.concat(Array(50).fill(contentChunk("x".repeat(1_000))));
  await withUpstream(
    async ({ socket, request }) => {
      await request();
      socket.write(streamHead);
      const pump = () => {
        blocked = false;
        // 256 MB represent an endless body: more than all buffers between the server and the reader.
        while (sent < 256_000_000) {
          sent += piece.length;
          if (!socket.write(piece)) {
            blocked = true;
            return;
          }
        }
      };
      socket.on("drain", pump);
      pump();
    },
    async ({ send }) => {
      const reply = await send(callOf(true));
      if (reply.kind !== "stream") throw new Error(JSON.stringify(reply));
      // Blocked for a hundred turns in a row: all buffers on the way are full.
      for (let still = 0, last = -1; still < 100; last = sent) {
        still = blocked && sent === last ? still + 1 : 0;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      expect(sent).toBeLessThan(64_000_000);
    },
  );
});
