import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { jsonAnswer } from "../raw-server.ts";
import { answer, call, Network } from "./network.ts";

const network = new Network();
beforeAll(() => network.start());
afterAll(() => network.stop());

const password = "p%40ss-word";
const through = (port: number) => {
  const url = `http://me:${password}@127.0.0.1:${port}`;
  return { NODE_EXTRA_CA_CERTS: network.authority, HTTPS_PROXY: url, HTTP_PROXY: url, http_proxy: url };
};
const basic = Buffer.from("me:p@ss-word").toString("base64");

describe("TLS through a proxy of the environment", () => {
  test("is end to end: the proxy sees the host's name and its own credentials", async () => {
    const { port, seen } = await network.upstream(await network.certificate(["upstream.test"]));
    const via = await network.proxy();
    expect(await call(`https://upstream.test:${port}/v1`, through(via.port), "2")).toEqual([
      { kind: "answer" },
      { kind: "answer" },
    ]);
    const authorityForm = `upstream.test:${port}`;
    expect(via.heads).toEqual([
      `CONNECT ${authorityForm} HTTP/1.1\r\nHost: ${authorityForm}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
    ]);
    expect(seen.requests.length).toBe(2);
    expect(seen.requests[0]?.toLowerCase()).not.toContain("proxy-authorization");
  });

  const answers: [words: string, message: string][] = [
    [
      "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
      "the proxy wants a user and a password that are right (PROXY_REFUSED, status 407)",
    ],
    ["HTTP/1.1 403 Forbidden\r\n\r\n", "the proxy did not connect us (PROXY_REFUSED, status 403)"],
    ["HTTP/1.1 502 Bad Gateway\r\n\r\nx", "the proxy did not connect us (PROXY_REFUSED, status 502)"],
    ["HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", "the proxy did not connect us (PROXY_REFUSED, status 302)"],
    ["220 mail.test ESMTP\r\n\r\n", "the proxy did not connect us (PROXY_REFUSED)"],
    [`HTTP/1.1 500 X\r\nA: ${"x".repeat(20_000)}`, "the proxy did not connect us (PROXY_REFUSED, status 500)"],
    ["HTTP/1.1 2", "the proxy: the connection was closed (CLOSED)"],
  ];
  for (const [words, message] of answers) {
    test(`where the proxy answers ${JSON.stringify(words.slice(0, 40))}: nothing was sent, and the message says why`, async () => {
      const via = await network.proxy(words);
      expect(await call("https://upstream.test:443/v1", through(via.port))).toEqual([
        { kind: "unreachable", message, dispatched: false },
      ]);
    });
  }

  const faults: [what: string, onConnect: (socket: Socket) => void, message: string][] = [
    [
      "resets the connection",
      (socket) => socket.resetAndDestroy(),
      "the proxy: the connection was closed (ECONNRESET)",
    ],
    [
      "closes the tunnel at once",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"),
      "TLS handshake failed: the server closed the connection (ECONNRESET)",
    ],
  ];
  for (const [what, onConnect, message] of faults) {
    test(`where the proxy ${what}: nothing was sent, and the message says where it ended`, async () => {
      const port = await network.raw((socket) => void socket.once("data", () => onConnect(socket)));
      expect(await call("https://upstream.test/v1", through(port))).toEqual([
        { kind: "unreachable", message, dispatched: false },
      ]);
    });
  }
});

describe("an http:// upstream through a proxy", () => {
  test("is asked without TLS: the proxy receives the whole request", async () => {
    const port = await network.raw((socket) => void socket.on("data", () => socket.write(jsonAnswer(answer))));
    const via = await network.proxy();
    expect(await call(`http://upstream.test:${port}/v1`, through(via.port))).toEqual([{ kind: "answer" }]);
    expect(via.heads[0]).toStartWith(`POST http://upstream.test:${port}/v1/chat/completions HTTP/1.1\r\n`);
    expect(via.heads[0]).toContain(`\r\nProxy-Authorization: Basic ${basic}\r\n`);
  });

  test("is not reached where the proxy wants other credentials: the request was not passed on, so nothing is billed", async () => {
    const port = await network.raw(
      (socket) => void socket.once("data", () => socket.write(jsonAnswer("{}", "407 Proxy Authentication Required"))),
    );
    expect(await call("http://upstream.test/v1", through(port))).toEqual([
      {
        kind: "unreachable",
        message: "the proxy wants a user and a password that are right (status 407)",
        dispatched: false,
      },
    ]);
  });
});

test("loopback and hosts of NO_PROXY are reached without a proxy", async () => {
  const { port } = await network.upstream(await network.certificate(["localhost"]));
  const via = await network.proxy();
  expect(await call(`https://localhost:${port}/v1`, through(via.port))).toEqual([{ kind: "answer" }]);
  // The name does not exist; the test only checks that it is looked up.
  expect(await call("https://upstream.invalid/v1", { ...through(via.port), NO_PROXY: "upstream.invalid" })).toEqual([
    { kind: "unreachable", message: "host name not found (ENOTFOUND)", dispatched: false },
  ]);
  expect(via.heads).toEqual([]);
});
