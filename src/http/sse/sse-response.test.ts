import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { manualTime } from "#platform/testing/manual-time.ts";
import { openSse } from "./sse-response.ts";

const failure = { kind: "timed_out", message: "", dispatched: true } as const;

/** A server that answers with this stream, and a caller on a raw socket. */
async function setUp(stream: { next: () => Promise<string | undefined> }, with_: (caller: Socket) => void) {
  const time = manualTime();
  let cancelled = 0;
  let closed = 0;
  const sse = openSse(
    {
      read(receiver) {
        stream.next().then(
          (text) => (text === undefined ? receiver.onEnd() : receiver.onValue(text)),
          (error) => receiver.onError(error),
        );
      },
      cancel: () => void cancelled++,
      breakOff: () => "data: broken\n\n",
    },
    {
      timers: time.timers,
      clock: time.clock,
      keepaliveMs: 1_000,
      writeStallMs: 3_000,
      onClose: () => void closed++,
    },
  );
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    development: false,
    fetch: () => new Response(sse.body),
  });
  const caller = connect({ host: "127.0.0.1", port: Number(server.port) });
  caller.on("error", () => undefined);
  caller.on("connect", () => caller.write("GET / HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"));
  with_(caller);
  return {
    sse,
    server,
    caller,
    /** Advances time, and lets the sockets run, until the condition holds; the test's own time limit ends the wait. */
    async until(holds: () => boolean) {
      while (!holds()) {
        time.advance(500);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    seen: () => ({ cancelled, closed }),
    [Symbol.asyncDispose]: async () => {
      caller.destroy();
      await server.stop(true);
    },
  };
}

const never = () => new Promise<never>(() => undefined);

/** Everything that a caller reads, as it arrives. */
function reading() {
  let text = "";
  const decoder = new TextDecoder();
  const of = (caller: Socket) =>
    void caller.on("data", (bytes: Buffer) => (text += decoder.decode(bytes, { stream: true })));
  return { text: () => text, of };
}

describe("a stream to its caller", () => {
  const lengths = [64, 255, 256, 257, 20_000];
  test.each(lengths.flatMap((length) => ["x", "é", "—"].map((character) => [length, character] as const)))(
    "is written event by event, at once, with %d characters in each, all %s",
    async (length, character) => {
      const event = character.repeat(length);
      const words = [event, event, event, undefined];
      const read = reading();
      await using way = await setUp({ next: async () => words.shift() }, read.of);
      await way.until(() => way.caller.destroyed || way.caller.readableEnded);
      const chunk = `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
      expect(read.text().split("\r\n\r\n").slice(1).join("\r\n\r\n")).toBe(`${chunk.repeat(3)}0\r\n\r\n`);
    },
  );

  test("is kept alive with comments while the upstream is silent", async () => {
    const read = reading();
    await using way = await setUp({ next: never }, read.of);
    await way.until(() => read.text().split(": keep-alive\n\n").length > 3);
    expect(way.seen()).toEqual({ cancelled: 0, closed: 0 });
  });

  test("without a reader is not read further, and is cut off without waiting for its reader", async () => {
    let asked = 0;
    const next = async () => {
      asked += 1;
      return "x".repeat(65_536);
    };
    await using way = await setUp({ next }, (caller) => caller.pause());
    await way.until(() => way.seen().closed > 0 && way.server.pendingRequests === 0);
    expect(way.seen()).toEqual({ cancelled: 1, closed: 1 });
    // The system's buffers for the two sockets, some megabytes, but not everything that the upstream could send.
    const bytes = asked * 65_536;
    expect(bytes).toBeLessThan(64 * 1_048_576);
    await way.until(() => true);
    expect(asked * 65_536).toBe(bytes);
  });

  test("that the gateway breaks off has the reason, also before the server has begun to send it", async () => {
    for (const early of [true, false]) {
      const read = reading();
      await using way = await setUp({ next: never }, read.of);
      if (!early) await way.until(() => read.text().includes("keep-alive"));
      way.sse.endWithError(failure);
      await way.until(() => way.caller.destroyed || way.caller.readableEnded);
      expect(read.text()).toContain("data: broken\n\n");
      expect(way.seen()).toEqual({ cancelled: 0, closed: 1 });
    }
  });

  test("that fails resets the connection and stops its source", async () => {
    await using way = await setUp({ next: () => Promise.reject(new Error("no")) }, (caller) => caller.resume());
    await way.until(() => way.caller.destroyed);
    expect(way.seen()).toEqual({ cancelled: 1, closed: 1 });
  });
});
