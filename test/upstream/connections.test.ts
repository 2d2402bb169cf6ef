import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import fc from "fast-check";
import { type GenerateResult, generate } from "selfsigned";
import type { UpstreamReply } from "#upstream/upstream.ts";
import { root } from "../harness/process.ts";
import { callOf, chunked, eventsOf, headOf, jsonAnswer, lastChunk, withUpstream } from "./raw-server.ts";

const answer = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] };
const contentChunk = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

/** Lets the network run until the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

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

  test("is closed after its time limit", async () => {
    const closed: Promise<void>[] = [];
    await withUpstream(
      (connection) => {
        closed.push(connection.closed);
        return oneAnswerEach(connection);
      },
      async ({ server, time, send }) => {
        await Promise.all([send(callOf(false)), send(callOf(false))]);
        expect(server.connections).toBe(2);
        time.advance(1_001);
        expect((await send(callOf(false))).kind).toBe("answer");
        expect(server.connections).toBe(3);
        await Promise.all(closed.slice(0, 2));
      },
      { keepAliveMs: 1_000 },
    );
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

  test("is not reused after an answer that arrived before the request was sent", async () => {
    await withUpstream(
      ({ socket, number }) => {
        // The first request is far larger than the buffers of the system.
        if (number === 1) socket.pause();
        socket.write(jsonAnswer(answer));
      },
      async ({ server, send }) => {
        const body = { messages: [{ role: "user", content: "x".repeat(32_000_000) }] };
        expect((await send(callOf(false, { body }))).kind).toBe("answer");
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
            if (reply.kind === "stream") for await (const _ of reply.events);
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

test("an error that quotes words on HTTP/2 is taken for what its status says: the caller may have written them", async () => {
  const said = "Missing ALPN Protocol, expected `h2` to be available.";
  const rows: [status: string, message: string, kind: string][] = [
    ["400 Bad Request", `invalid tool_choice: ALPN h2 ${said}`, "rejected"],
    ["403 Forbidden", `the input was flagged: ${said}`, "unauthorized"],
    ["500 Internal Server Error", said, "upstream_error"],
  ];
  for (const [status, message, kind] of rows) {
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(jsonAnswer({ error: { message } }, status));
      },
      async ({ send }) => {
        const reply = await send(callOf(false));
        if (reply.kind !== "failure") throw new Error(reply.kind);
        expect(reply.failure).toMatchObject({ kind, dispatched: true });
      },
    );
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

test("a large request arrives complete, whatever its characters", async () => {
  for (const text of ["x", "é", "🌍"]) {
    await withUpstream(
      async ({ socket, request }) => {
        const sent = await request();
        const { length } = JSON.parse(sent.slice(sent.indexOf("\r\n\r\n"))).messages[0].content;
        socket.write(jsonAnswer({ ...answer, length }));
      },
      async ({ send }) => {
        const content = text.repeat(8_000_000 / text.length);
        const reply = await send(callOf(false, { body: { messages: [{ role: "user", content }] } }));
        if (reply.kind !== "answer") throw new Error(JSON.stringify(reply));
        expect(reply.answer["length"]).toBe(content.length);
      },
    );
  }
});

test("a request that is known to be large is serialized in turns of the event loop before it connects, and arrives complete", async () => {
  const content = `${'"🌍é\n'.repeat(1_200_000)}\ud83d`;
  let turns = 0;
  let turnsToConnect: number | undefined;
  await withUpstream(
    async ({ socket, request }) => {
      turnsToConnect ??= turns;
      for (;;) {
        const sent = await request();
        const body = JSON.parse(sent.slice(sent.indexOf("\r\n\r\n")));
        socket.write(jsonAnswer({ ...answer, whole: body.messages[0].content === content && body.seed === 7 }));
      }
    },
    async ({ server, send }) => {
      let over = false;
      const count = () => {
        turns++;
        if (!over) setImmediate(count);
      };
      setImmediate(count);
      for (const _ of [1, 2]) {
        const body = { messages: [{ role: "user", content }], seed: 7 };
        const reply = await send(callOf(false, { body, bodyBytes: 16_000_000 }));
        if (reply.kind !== "answer") throw new Error(JSON.stringify(reply));
        expect(reply.answer["whole"]).toBe(true);
      }
      over = true;
      expect(server.connections).toBe(1);
      // At least one for every million characters.
      expect(turnsToConnect).toBeGreaterThan(5);
    },
  );
});

test("text received before a cut is delivered before the cut is reported", async () => {
  for (const ending of ["end", "resetAndDestroy"] as const) {
    await withUpstream(
      async ({ socket, request }) => {
        await request();
        socket.write(headOf("text/event-stream", "chunked"));
        socket.write(Buffer.concat([chunked(contentChunk("a")), chunked(contentChunk("b"))]), () => socket[ending]());
      },
      async ({ send }) => {
        const kinds = (await eventsOf(await send(callOf(true)))).map((event) => event.kind);
        expect(kinds).toEqual(["chunk", "chunk", "broken"]);
      },
    );
  }
});

test("a stream is read in the same way, however the network splits and frames it", async () => {
  const texts = ["Grüße ", "🌍", " 你好", "!"];
  const body = Buffer.from(
    `${texts.map((text) => contentChunk(text)).join("")}${contentChunk("", "stop")}data: [DONE]\n\n`,
  );
  const cuts = fc.array(fc.nat(body.length), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(cuts, cuts, async (frames, writes) => {
      const split = (bytes: Buffer, at: readonly number[]) => {
        const ends = [...at.filter((cut) => cut > 0 && cut < bytes.length).sort((a, b) => a - b), bytes.length];
        return ends.map((to, i) => bytes.subarray(ends[i - 1] ?? 0, to)).filter((part) => part.length > 0);
      };
      const wire = Buffer.concat([
        Buffer.from(headOf("text/event-stream", "chunked")),
        ...split(body, frames).map(chunked),
        Buffer.from(lastChunk),
      ]);
      await withUpstream(
        async ({ socket, request }) => {
          for (;;) {
            await request();
            for (const part of split(wire, writes)) {
              socket.write(part);
              await new Promise((resolve) => setImmediate(resolve));
            }
          }
        },
        async ({ server, time, send }) => {
          const events = await eventsOf(await send(callOf(true)));
          const said = events.map((event) => (event.kind === "chunk" ? contentOf(event.raw) : event.kind));
          expect(said).toEqual([...texts, "", "end"]);
          await until(() => time.pending === 0);
          await send(callOf(true)).then(eventsOf);
          expect(server.connections).toBe(1);
        },
      );
    }),
    { numRuns: 25 },
  );
});

function contentOf(raw: string): string {
  return JSON.parse(raw).choices[0].delta.content;
}

describe("TLS", () => {
  const directory = mkdtempSync(join(tmpdir(), "smart-gateway-tls-"));
  const authority = join(directory, "authority.pem");
  const servers: Server[] = [];
  let ca: GenerateResult;

  beforeAll(async () => {
    ca = await generate([{ name: "commonName", value: "Test Authority" }], {
      keyType: "ec",
      extensions: [
        { name: "basicConstraints", cA: true, critical: true },
        { name: "keyUsage", keyCertSign: true, critical: true },
      ],
    });
    await Bun.write(authority, ca.cert);
  });
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function listening(server: Server): Promise<number> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port; // Not a pipe.
  }

  /** An upstream with TLS and a certificate for this name. */
  async function upstreamNamed(name: string) {
    const { private: key, cert } = await generate([{ name: "commonName", value: name }], {
      keyType: "ec",
      ca: { key: ca.private, cert: ca.cert },
      extensions: [
        {
          name: "subjectAltName",
          altNames: [/^[\d.]+$/.test(name) ? { type: 7, ip: name } : { type: 2, value: name }],
        },
      ],
    });
    const seen = { connections: 0, bytes: 0, requests: [] as string[] };
    const server = createTlsServer({ key, cert }, (socket) => {
      seen.connections++;
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => {
        seen.bytes += bytes.length;
        seen.requests.push(bytes.toString());
        socket.write(jsonAnswer(answer));
      });
    });
    server.on("tlsClientError", () => {});
    return { port: await listening(server), seen };
  }

  /** A proxy that connects every name to this machine, and records the requests. */
  async function proxy(answerTo = "HTTP/1.1 200 Connection established\r\n\r\n") {
    const told: string[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes: Buffer) => {
        const head = bytes.toString("latin1");
        told.push(head);
        const port = /^(?:CONNECT [^ ]+:|POST http:\/\/[^/ ]+:)(\d+)/.exec(head)?.[1];
        if (!answerTo.startsWith("HTTP/1.1 200")) {
          socket.end(answerTo);
          return;
        }
        const upstream = connect(Number(port), "127.0.0.1", () => {
          if (head.startsWith("CONNECT")) socket.write(answerTo);
          else upstream.write(bytes);
          socket.pipe(upstream).pipe(socket);
        });
        upstream.on("error", () => socket.destroy());
      });
    });
    return { port: await listening(server), told };
  }

  async function call(url: string, env: { [name: string]: string } = {}, calls = 1): Promise<UpstreamReply[]> {
    const child = Bun.spawn([process.execPath, join(root, "test", "upstream", "calls.ts"), url, String(calls)], {
      cwd: root,
      env: { PATH: process.env.PATH ?? "", ...env },
      stdout: "pipe",
      stderr: "inherit",
    });
    return JSON.parse(await new Response(child.stdout).text());
  }

  test("with a certificate of a trusted authority for this host: answers, on one connection", async () => {
    for (const name of ["localhost", "127.0.0.1"]) {
      const { port, seen } = await upstreamNamed(name);
      const replies = await call(`https://${name}:${port}/v1`, { NODE_EXTRA_CA_CERTS: authority }, 3);
      expect(replies.map((reply) => reply.kind)).toEqual(["answer", "answer", "answer"]);
      expect(seen.connections).toBe(1);
      expect(seen.requests[0]).toStartWith("POST /v1/chat/completions HTTP/1.1\r\n");
    }
  });

  const untrusted: [string, string, boolean, string][] = [
    ["an authority that nobody trusts", "localhost", false, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    ["a trusted authority, for another name", "elsewhere.test", true, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["a trusted authority, for another address", "127.0.0.2", true, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ];
  for (const [what, name, trusted, code] of untrusted) {
    test(`with a certificate of ${what}: not a byte is sent, even with checks turned off`, async () => {
      const { port, seen } = await upstreamNamed(name);
      const host = /^[\d.]+$/.test(name) ? "127.0.0.1" : "localhost";
      for (const turnedOff of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }]) {
        const env = { ...turnedOff, ...(trusted ? { NODE_EXTRA_CA_CERTS: authority } : {}) };
        expect(await call(`https://${host}:${port}/v1`, env)).toMatchObject([
          { kind: "unreachable", dispatched: false, message: `TLS handshake failed (${code})` },
        ]);
      }
      expect(seen.bytes).toBe(0);
    });
  }

  test("through a proxy of the environment is end to end: the proxy sees the host's name and its own credentials", async () => {
    const { port, seen } = await upstreamNamed("upstream.test");
    const via = await proxy();
    const env = { NODE_EXTRA_CA_CERTS: authority, HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${via.port}` };
    expect(await call(`https://upstream.test:${port}/v1`, env, 2)).toMatchObject([
      { kind: "answer" },
      { kind: "answer" },
    ]);
    const basic = Buffer.from("me:p@ss").toString("base64");
    const authorityForm = `upstream.test:${port}`;
    expect(via.told).toEqual([
      `CONNECT ${authorityForm} HTTP/1.1\r\nHost: ${authorityForm}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
    ]);
    expect(seen.requests.length).toBe(2);
    expect(seen.requests[0]?.toLowerCase()).not.toContain("proxy-authorization");
  });

  test("through a proxy that leads to another host is refused", async () => {
    const { port, seen } = await upstreamNamed("elsewhere.test");
    const via = await proxy();
    const env = { NODE_EXTRA_CA_CERTS: authority, HTTPS_PROXY: `http://127.0.0.1:${via.port}` };
    expect(await call(`https://upstream.test:${port}/v1`, env)).toMatchObject([
      { kind: "unreachable", message: "TLS handshake failed (ERR_TLS_CERT_ALTNAME_INVALID)", dispatched: false },
    ]);
    expect(seen.bytes).toBe(0);
  });

  test("through a proxy that refuses, sends too much or does not use HTTP: nothing was sent", async () => {
    const words = [
      "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n",
      "220 mail.test ESMTP\r\n\r\n",
      `HTTP/1.1 500 X\r\nA: ${"x".repeat(20_000)}`,
    ];
    for (const word of words) {
      const via = await proxy(word);
      expect(await call("https://upstream.test:443/v1", { HTTPS_PROXY: `http://127.0.0.1:${via.port}` })).toMatchObject(
        [{ kind: "unreachable", message: "the proxy did not connect us (PROXY_REFUSED)", dispatched: false }],
      );
    }
  });

  test("is not used with an http:// upstream: a proxy receives the whole request", async () => {
    const upstream = createServer((socket) => void socket.on("data", () => socket.write(jsonAnswer(answer))));
    const port = await listening(upstream);
    const via = await proxy();
    const env = { HTTP_PROXY: `http://me:x@127.0.0.1:${via.port}`, http_proxy: `http://me:x@127.0.0.1:${via.port}` };
    expect(await call(`http://upstream.test:${port}/v1`, env)).toMatchObject([{ kind: "answer" }]);
    expect(via.told[0]).toStartWith(`POST http://upstream.test:${port}/v1/chat/completions HTTP/1.1\r\n`);
    expect(via.told[0]).toContain("\r\nProxy-Authorization: Basic ");
  });

  test("loopback and hosts of NO_PROXY are reached without a proxy", async () => {
    const { port } = await upstreamNamed("localhost");
    const via = await proxy();
    const proxied = { NODE_EXTRA_CA_CERTS: authority, HTTPS_PROXY: `http://127.0.0.1:${via.port}` };
    expect(await call(`https://localhost:${port}/v1`, proxied)).toMatchObject([{ kind: "answer" }]);
    // The name does not exist; the test only checks that it is looked up.
    expect(await call("https://upstream.invalid/v1", { ...proxied, NO_PROXY: "upstream.invalid" })).toMatchObject([
      { kind: "unreachable", message: "host name not found (ENOTFOUND)" },
    ]);
    expect(via.told).toEqual([]);
  });
});
