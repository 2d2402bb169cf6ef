import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { join } from "node:path";
import { root } from "../harness/process.ts";
import { failureOf, whileTimePasses } from "./passing-time.ts";
import { callOf, eventsOf, jsonAnswer, limits, withUpstream } from "./raw-server.ts";

const answer = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] };

/** Lets the network run until the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Less than the time that an idle connection is kept. */
const shortHeaderTimeout = { ...limits, headers: 5_000 };

describe("an idle connection", () => {
  const oneAnswerEach = async ({ socket, request }: { socket: Socket; request: () => Promise<string> }) => {
    for (;;) {
      await request();
      socket.write(jsonAnswer(answer));
    }
  };

  test("is not reused once the upstream has closed it", async () => {
    let first: Socket | undefined;
    await withUpstream(
      (connection) => {
        first ??= connection.socket;
        return oneAnswerEach(connection);
      },
      async ({ server, send }) => {
        expect((await send(callOf(false))).kind).toBe("answer");
        first?.end();
        await until(() => first?.destroyed === true);
        expect((await send(callOf(false))).kind).toBe("answer");
        expect(server.connections).toBe(2);
      },
    );
  });

  test("is closed if a request on another one that was idle gets no answer: the network has lost both", async () => {
    const lost: Socket[] = [];
    await withUpstream(
      async ({ socket, request, number }) => {
        if (number <= 3) lost.push(socket);
        for (let answered = 0; number > 3 || answered < 1; answered++) {
          await request();
          socket.write(jsonAnswer(answer));
        }
      },
      async ({ server, time, send }) => {
        await Promise.all([send(callOf(false)), send(callOf(false)), send(callOf(false))]);
        expect(server.connections).toBe(3);
        time.advance(1);
        const silent = send(callOf(false, { timeoutsMs: shortHeaderTimeout }));
        await until(() => server.open === 3);
        const reply = await whileTimePasses(time, 1_000, silent);
        expect(failureOf(reply)).toMatchObject({ kind: "timed_out", dispatched: true });
        expect((await send(callOf(false))).kind).toBe("answer");
        expect(server.connections).toBe(4);
        await until(() => lost.every(({ destroyed }) => destroyed));
      },
    );
  });

  test("is not reused after the machine was suspended, when the monotonic clock stood still", async () => {
    await withUpstream(oneAnswerEach, async ({ server, time, send }) => {
      expect((await send(callOf(false))).kind).toBe("answer");
      time.setWallClock(time.clock.now() + 8 * 3_600_000);
      expect((await send(callOf(false))).kind).toBe("answer");
      expect(server.connections).toBe(2);
      expect((await send(callOf(false))).kind).toBe("answer");
      expect(server.connections).toBe(2);
    });
  });

  test("is dropped if the upstream sends unrequested bytes, which would be taken for the next answer", async () => {
    await withUpstream(
      async ({ socket, request, closed, number }) => {
        await request();
        socket.write(jsonAnswer(answer));
        if (number === 1) {
          setImmediate(() => socket.write(jsonAnswer({ error: "forged" })));
          await closed;
        }
      },
      async ({ server, send }) => {
        expect((await send(callOf(false))).kind).toBe("answer");
        await until(() => server.open === 0);
        expect((await send(callOf(false))).kind).toBe("answer");
        expect(server.connections).toBe(2);
      },
    );
  });
});

describe("`Connection: close` in an answer's head", () => {
  const stream = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
  const sse = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  const rows: [what: string, streamed: boolean, bytes: string][] = [
    ["a whole answer", false, jsonAnswer(answer, "200 OK", "Connection: close\r\n")],
    ["a whole answer, in a list", false, jsonAnswer(answer, "200 OK", "connection: x, Close\r\n")],
    ["an error answer", false, jsonAnswer("{}", "400 X", "Connection: close\r\n")],
    ["a stream", true, `${sse}Connection: close\r\nContent-Length: ${stream.length}\r\n\r\n${stream}`],
  ];
  for (const [what, streamed, bytes] of rows) {
    test(`of ${what} is respected, although the upstream leaves the connection open`, async () => {
      let first: Promise<void> | undefined;
      await withUpstream(
        async ({ socket, request, closed }) => {
          first ??= closed;
          for (;;) {
            await request();
            socket.write(bytes);
          }
        },
        async ({ server, send }) => {
          for (let calls = 0; calls < 2; calls++) {
            const reply = await send(callOf(streamed));
            if (reply.kind === "stream") await eventsOf(reply);
          }
          expect(server.connections).toBe(2);
          await first;
        },
      );
    });
  }
});

describe("an upstream that supports only HTTP/2 is named as such", () => {
  const settings = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]);
  const rows: [what: string, bytes: string | Buffer][] = [
    ["by its first frame", settings],
    ["by its first bytes", "HTTP/2 400\r\n\r\n"],
    ["by status 505", jsonAnswer("", "505 HTTP Version Not Supported")],
    ["by its words on ALPN", jsonAnswer("Missing ALPN Protocol, expected `h2` to be available.", "403 Forbidden")],
  ];
  for (const [what, bytes] of rows) {
    test(what, async () => {
      await withUpstream(
        async ({ socket, request }) => {
          await request();
          socket.write(bytes);
        },
        async ({ send }) => {
          const reply = await send(callOf(true));
          if (reply.kind !== "failure") throw new Error(reply.kind);
          expect(reply.failure).toMatchObject({ kind: "unreachable", dispatched: false });
          expect(reply.failure.message).toStartWith("the upstream speaks only HTTP/2 and the gateway HTTP/1.1");
        },
      );
    });
  }
});

test("without free descriptors a call fails at once, and nothing was sent", async () => {
  await withUpstream(
    async ({ socket, request }) => {
      await request();
      socket.write(jsonAnswer(answer));
    },
    async ({ server }) => {
      const script = join(root, "test", "upstream", "calls.ts");
      // The deadline for connecting would hide a call that hangs; the test's own is shorter.
      const command = `ulimit -n 40 && exec "${process.execPath}" "${script}" ${server.url} 60 at-once`;
      const child = Bun.spawn(["sh", "-c", command], { cwd: root, stdout: "pipe", stderr: "inherit" });
      const replies: { kind: string; dispatched?: boolean }[] = JSON.parse(await new Response(child.stdout).text());
      const refused = replies.filter((reply) => reply.kind !== "answer");
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.length).toBeLessThan(60);
      for (const reply of refused) expect(reply).toMatchObject({ kind: "unreachable", dispatched: false });
    },
  );
}, 4_500);
