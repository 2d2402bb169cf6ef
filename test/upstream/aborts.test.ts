import { describe, expect, test } from "bun:test";
import type { ManualTime } from "#platform/manual-time.ts";
import { valuesOf } from "#platform/receiver.ts";
import type { UpstreamReply } from "#upstream/upstream.ts";
import { answer, contentChunk, failureOf, streamHead, turn } from "./passing-time.ts";
import { type Connection, callOf, headOf, jsonAnswer, withUpstream } from "./raw-server.ts";

describe("an abort", () => {
  /** The caller aborts when the server says so; returns the caller's view, after the server saw the connection close. */
  async function abortedCall(
    stream: boolean,
    serve: (connection: Connection, disconnect: () => void) => void | Promise<void>,
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
      const { reply } = await abortedCall(stream, async ({ request }, disconnect) => {
        await request();
        disconnect();
      });
      expect(reply).toMatchObject(aborted);
    });

    test(`after headers reaches the upstream (${stream ? "stream" : "whole"})`, async () => {
      const { reply } = await abortedCall(stream, async ({ socket, request }, disconnect) => {
        await request();
        socket.write(stream ? streamHead : headOf("application/json", 100), async () => {
          await turn();
          disconnect();
        });
      });
      expect(reply).toMatchObject(aborted);
    });
  }

  test("in the middle of an answer reaches the upstream", async () => {
    const { reply } = await abortedCall(false, async ({ socket, request }, disconnect) => {
      await request();
      socket.write(`${headOf("application/json", 100)}{"choices"`, () => disconnect());
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
        const events = valuesOf(reply.events);
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
