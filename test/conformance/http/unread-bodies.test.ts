import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually, start, type TestGateway, token } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

/** A caller that has sent the head of a request and continues with its body. */
class Uploader extends RawCaller {
  readonly #chunked: boolean;
  sent = 0;

  constructor(url: string, { head, chunked }: { head: string; chunked: boolean }) {
    super({ url });
    this.#chunked = chunked;
    const length = chunked ? "Transfer-Encoding: chunked" : "Content-Length: 1000000000000";
    this.socket.write(`${head}\r\n${length}\r\n\r\n`);
  }

  /** Sends some more of the body; false if the connection accepts nothing more for now. */
  more(bytes: Buffer): boolean {
    if (!this.socket.writable) return false;
    this.sent += bytes.length;
    if (!this.#chunked) return this.socket.write(bytes);
    return this.socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, crlf]));
  }

  /**
   * Sends as fast as possible until the connection closes or this many bytes are sent. Reads after each megabyte at the latest: an answer
   * is lost on a caller that reads only when the connection is reset.
   */
  async flood(most: number): Promise<void> {
    const bytes = Buffer.alloc(65_536, "x");
    while (!this.closed && this.sent < most) {
      const pause = Math.min(this.sent + megabyte, most);
      // What waits in this process has not been sent.
      while (!this.socket.writableNeedDrain && this.socket.writable && this.sent < pause && this.more(bytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.text)?.[1]);
  }
}

const crlf = Buffer.from("\r\n");
const megabyte = 1_048_576;
const host = "Host: localhost";
const auth = `Authorization: Bearer ${token}`;
const json = "Content-Type: application/json";
const chat = "POST /v1/chat/completions HTTP/1.1";
const dashboardPage = "a page of the dashboard";
const refusals: readonly [name: string, status: number, head: readonly string[], text: string][] = [
  ["a missing token", 401, [chat, host, json], "Authorization"],
  ["a dry run without a token", 401, ["POST /v1/route/decision HTTP/1.1", host, json], "Authorization"],
  ["an outcome without a token", 401, ["POST /v1/route/outcome HTTP/1.1", host, json], "Authorization"],
  ["a foreign Host", 403, [chat, "Host: example.com", auth, json], "Host"],
  ["a foreign Origin", 403, [chat, host, "Origin: https://example.com", auth, json], "Origin"],
  ["an unknown path", 404, ["POST /v1/responses HTTP/1.1", host, auth, json], "Responses"],
  [dashboardPage, 405, ["POST /dashboard HTTP/1.1", host, json], "dashboard"],
  ["another method", 405, ["PUT /v1/chat/completions HTTP/1.1", host, auth, json], "PUT"],
  ["DELETE", 405, ["DELETE /v1/models HTTP/1.1", host, auth], "DELETE"],
  ["OPTIONS", 405, ["OPTIONS /healthz HTTP/1.1", host], "OPTIONS"],
];
/** Refused for their declared length, or once this many bytes have arrived. */
const tooLarge: typeof refusals = [
  ["a body that is too large", 413, [chat, host, auth, json], "MAX_REQUEST_BYTES"],
  ["a dry run that is too large", 413, ["POST /v1/route/decision HTTP/1.1", host, auth, json], "MAX_REQUEST_BYTES"],
  ["an outcome that is too large", 413, ["POST /v1/route/outcome HTTP/1.1", host, auth, json], "larger than"],
];

describe.each([
  ["a declared length", false],
  ["chunks", true],
] as const)("an upload in %s that the gateway does not read", (_, chunked) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start({ env: { MAX_REQUEST_BYTES: String(megabyte) } });
    // The dashboard's code is loaded at the first request for it.
    await gateway.get("/dashboard");
  });
  afterAll(() => gateway.stop());

  for (const [name, status, lines, text] of [...refusals, ...tooLarge]) {
    test(`is read to a bounded number of bytes: ${name}`, async () => {
      const caller = new Uploader(gateway.url, { head: lines.join("\r\n"), chunked });
      await caller.flood(64 * megabyte);
      await eventually(() => caller.closed);
      expect([caller.status, caller.text.includes(text)]).toEqual([status, true]);
      expect(caller.text.toLowerCase()).toContain("\r\nconnection: close\r\n");
      // Bytes in socket buffers are in addition to the bytes that were read.
      expect(caller.sent).toBeLessThan(24 * megabyte);
    });
  }

  test("is read to a bounded number of bytes: a chat request while the gateway is overloaded", async () => {
    await using overloaded = await start({ env: { MAX_REQUEST_BYTES: String(megabyte) } });
    Object.assign(overloaded.gateway.ports.ledger, { oldestMs: () => 60_000 });
    const caller = new Uploader(overloaded.url, { head: [chat, host, auth, json].join("\r\n"), chunked });
    await caller.flood(64 * megabyte);
    await eventually(() => caller.closed);
    expect([caller.status, caller.text.toLowerCase()]).toEqual([
      503,
      expect.stringContaining("\r\nretry-after: 2\r\n"),
    ]);
    expect(caller.sent).toBeLessThan(24 * megabyte);
  });
});

describe("the answer to a body that is not read", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.stop());
  /** A caller that reads nothing before it has sent everything. */
  const upload = async (lines: readonly string[], bytes: number) => {
    const caller = new RawCaller(gateway);
    caller.socket.pause();
    caller.send(`${lines.join("\r\n")}\r\nContent-Length: ${bytes}\r\n\r\n`);
    await new Promise((resolve) => caller.socket.write(Buffer.alloc(bytes, "x"), resolve));
    caller.socket.resume();
    return caller;
  };

  test.each([...refusals, ...tooLarge])(
    "reaches a caller that sends 20 MB before it reads: %s",
    async (_, status, lines) => {
      const caller = await upload(lines, 20 * megabyte);
      await eventually(() => caller.closed);
      expect(caller.text).toStartWith(`HTTP/1.1 ${status} `);
      expect(caller.text).toEndWith("}\r\n0\r\n\r\n");
    },
  );

  test("keeps the connection open if the body has a usual size", async () => {
    for (const [, status, lines] of refusals) {
      const caller = await upload(lines, 300_000);
      await eventually(() => caller.text.endsWith("}"));
      caller.send(`GET /livez HTTP/1.1\r\n${host}\r\n\r\n`);
      await eventually(() => caller.statuses.length === 2);
      expect(caller.statuses).toEqual([status, 200]);
      caller.socket.destroy();
    }
  });
});
