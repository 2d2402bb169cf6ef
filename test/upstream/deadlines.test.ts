import { describe, expect, test } from "bun:test";
import { contentChunk, failureOf, noDeadlines, repeat, streamHead, turn, whileTimePasses } from "./passing-time.ts";
import {
  type Connection,
  callOf,
  chunked,
  eventsOf,
  headOf,
  lastChunk,
  limits,
  valuesOf,
  withUpstream,
} from "./raw-server.ts";

describe("a deadline", () => {
  type Phase = "headers" | "first_event" | "idle" | "idle_data" | "total";
  type Serve = (connection: Connection) => void | Promise<void>;
  const begun = Buffer.concat([Buffer.from(streamHead), contentChunk("a")]);
  const jsonHead = headOf("application/json", "chunked");
  const sends =
    (...bytes: (string | Uint8Array)[]): Serve =>
    ({ socket }) =>
      void socket.write(Buffer.concat(bytes.map((each) => Buffer.from(each as string))));
  /** These bytes once, then the others for ever. */
  const repeats =
    (first: string | Uint8Array, bytes: Uint8Array): Serve =>
    (connection) => {
      connection.socket.write(first);
      return repeat(connection, bytes);
    };
  const withoutData: [what: string, bytes: Uint8Array][] = [
    ["comments", chunked(": alive\n\n")],
    ["events without data", chunked("event: ping\n\n")],
    ["event lines that end in no event", chunked("event: ping\n")],
    ["the bytes of one event line", chunked("event: ping".repeat(9))],
    ["ids and retry times", chunked("id: 7\nretry: 10\n\n")],
    ["events with empty data", chunked("data:\n\n")],
    ["chunks that hold neither choices nor usage", chunked('data: {"id":"g","choices":[]}\n\n')],
    ["whitespace between events", chunked("\n")],
  ];
  const rows: [phase: Phase, what: string, stream: boolean, serve: Serve][] = [
    ["headers", "headers that never end", true, sends("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")],
    ...withoutData.flatMap(([what, bytes]): typeof rows => [
      ["idle_data", `${what}, for ever, in mid-stream`, true, repeats(begun, bytes)],
      ["first_event", `${what}, for ever, before the first content`, true, repeats(streamHead, bytes)],
    ]),
    ["total", "a stream without end", true, repeats(streamHead, contentChunk("a"))],
    ["idle", "silence in the middle of an answer in chunks", false, sends(jsonHead, chunked("{"))],
    ["first_event", "an answer whose body does not begin", false, sends(jsonHead)],
    ["total", "white space for ever", false, repeats(jsonHead, chunked(" "))],
  ];
  for (const [phase, what, stream, serve] of rows) {
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
        const events = valuesOf(reply.events);
        expect((await events.next()).value).toMatchObject([{ kind: "chunk" }]);
        for (let i = 0; i < 50; i++) {
          time.advance(1_000);
          await turn();
        }
        goOn.resolve();
        expect((await events.next()).value).toMatchObject([{ kind: "chunk" }]);
        expect((await events.next()).value).toMatchObject([{ kind: "end" }]);
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
        const batches = valuesOf(reply.events);
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
