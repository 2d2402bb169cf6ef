import { describe, expect, test } from "bun:test";
import { answer, failureOf } from "./passing-time.ts";
import { type Connection, callOf, jsonAnswer, withUpstream } from "./raw-server.ts";

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
