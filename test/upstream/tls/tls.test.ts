import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { headOf, jsonAnswer } from "../raw-server.ts";
import { answer, type Certificate, call, Network } from "./network.ts";

const network = new Network();
beforeAll(() => network.start());
afterAll(() => network.stop());
const trusting = () => ({ NODE_EXTRA_CA_CERTS: network.authority });

describe("a certificate", () => {
  test("of a trusted authority for this host: answers, on one connection", async () => {
    for (const name of ["localhost", "127.0.0.1", "::1"]) {
      const host = name === "::1" ? { host: name } : {};
      const { port, seen } = await network.upstream(await network.certificate([name]), host);
      const url = `https://${name === "::1" ? "[::1]" : name}:${port}/v1`;
      expect((await call(url, trusting(), "3")).map((reply) => reply.kind)).toEqual(["answer", "answer", "answer"]);
      expect(seen.connections).toBe(1);
      expect(seen.requests[0]).toStartWith("POST /v1/chat/completions HTTP/1.1\r\n");
    }
  });

  interface Row {
    readonly what: string;
    readonly made: () => Promise<Certificate>;
    readonly trusted?: false;
    readonly message: string;
  }
  const day = (text: string) => new Date(`${text}T00:00:00Z`);
  const untrusted =
    "the certificate's authority is not trusted (NODE_EXTRA_CA_CERTS adds one), or the server does not send its intermediate certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";
  const otherName = "the certificate is for another host name (ERR_TLS_CERT_ALTNAME_INVALID)";
  const rows: Row[] = [
    {
      what: "of an authority that nobody trusts",
      made: () => network.certificate(["localhost"]),
      trusted: false,
      message: untrusted,
    },
    { what: "for another name", made: () => network.certificate(["elsewhere.test"]), message: otherName },
    { what: "for another address", made: () => network.certificate(["127.0.0.2"]), message: otherName },
    {
      what: "whose time is over",
      made: () =>
        network.certificate(["localhost"], { notBeforeDate: day("2020-01-01"), notAfterDate: day("2021-01-01") }),
      message: "the certificate has expired (CERT_HAS_EXPIRED)",
    },
    {
      what: "whose time has not begun",
      made: () =>
        network.certificate(["localhost"], { notBeforeDate: day("2090-01-01"), notAfterDate: day("2091-01-01") }),
      message: "the certificate is not valid yet, or this machine's clock is behind (CERT_NOT_YET_VALID)",
    },
    {
      what: "that signs itself",
      made: () => network.selfSigned("localhost"),
      message:
        "the certificate is self-signed and not trusted (NODE_EXTRA_CA_CERTS adds it) (DEPTH_ZERO_SELF_SIGNED_CERT)",
    },
    {
      what: "of an intermediate authority that the server does not send",
      made: () => network.ofIntermediate("localhost", false),
      message: untrusted,
    },
  ];
  for (const { what, made, trusted = true, message } of rows) {
    test(`${what}: not a byte is sent, even with checks turned off, and the message says why`, async () => {
      const { port, seen } = await network.upstream(await made());
      for (const turnedOff of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }]) {
        const env = { ...turnedOff, ...(trusted ? trusting() : {}) };
        expect(await call(`https://localhost:${port}/v1`, env)).toEqual([
          { kind: "unreachable", dispatched: false, message: `TLS handshake failed: ${message}` },
        ]);
      }
      expect(seen.bytes).toBe(0);
    });
  }
});

describe("a handshake that fails: not a byte is sent, and the message says why", () => {
  const rows: [what: string, onHello: (socket: Socket) => void, message: string][] = [
    [
      "the server resets the connection",
      (socket) => socket.resetAndDestroy(),
      "the server closed the connection (ECONNRESET)",
    ],
    [
      "the server closes the connection",
      (socket) => void socket.end(),
      "the server closed the connection (ECONNRESET)",
    ],
    [
      "the server speaks plain HTTP",
      (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
      "the server does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER)",
    ],
    [
      "the server accepts no version of TLS that is safe",
      (socket) => void socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 70])),
      "the server speaks no version of TLS that is still safe (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)",
    ],
  ];
  for (const [what, onHello, message] of rows) {
    test(what, async () => {
      const port = await network.raw((socket) => void socket.once("data", () => onHello(socket)));
      expect(await call(`https://localhost:${port}/v1`, trusting())).toEqual([
        { kind: "unreachable", dispatched: false, message: `TLS handshake failed: ${message}` },
      ]);
    });
  }

  test("the server does not answer", async () => {
    const port = await network.raw(() => {});
    expect(await call(`https://localhost:${port}/v1`, trusting(), "1", "connect=300")).toEqual([
      {
        kind: "timed_out",
        dispatched: false,
        message: "timed out waiting for the TLS handshake (connect, 300 ms)",
      },
    ]);
  });
});

describe("a connection that is cut below TLS, without a close_notify", () => {
  const whole = jsonAnswer(answer);
  const text = JSON.stringify(answer);
  const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] })}\n\n`;
  const rows: [what: string, sent: string, mode: "whole" | "stream", kinds: string[]][] = [
    ["in the head", whole.slice(0, 20), "whole", ["cut_off"]],
    ["in an answer with a length", whole.slice(0, -9), "whole", ["cut_off"]],
    [
      "in an answer that its end delimits",
      headOf("application/json", "close") + text.slice(0, -9),
      "whole",
      ["cut_off"],
    ],
    ["in a stream", headOf("text/event-stream", "close") + chunk, "stream", ["chunk", "cut_off"]],
  ];
  for (const [what, sent, mode, kinds] of rows) {
    for (const how of ["end", "resetAndDestroy"] as const) {
      test(`${what} (${how}) is not taken for its end: it may have been billed`, async () => {
        let below: Socket | undefined;
        const { port } = await network.upstream(await network.certificate(["localhost"]), {
          // The cut comes after the caller's side of the relay has passed the bytes on.
          reply: (socket) => void socket.write(sent, () => setTimeout(() => below?.[how](), 50)),
        });
        const relay = await network.raw((socket) => {
          below = socket;
          const upstream = connect(port, "127.0.0.1");
          upstream.on("error", () => {});
          socket.on("data", (bytes: Buffer) => upstream.write(bytes));
          upstream.on("data", (bytes: Buffer) => socket.write(bytes));
          socket.on("close", () => upstream.destroy());
        });
        const replies = await call(`https://localhost:${relay}/v1`, trusting(), "1", mode);
        expect(replies.map(({ kind }) => kind)).toEqual(kinds);
        expect(replies.at(-1)).toMatchObject({ dispatched: true });
      });
    }
  }
});
