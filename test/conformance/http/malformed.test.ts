import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually, start, type TestGateway, token } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

/** What is no valid HTTP/1.1 request: the runtime answers it before any code of the gateway (decision 0001). */
describe("a malformed request", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.stop());

  const body = JSON.stringify({ model: "smart-router-flash", messages: [{ role: "user", content: "hello" }] });
  const head = (lines: string, version = "1.1") =>
    `POST /v1/chat/completions HTTP/${version}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${lines}\r\n`;
  const host = "Host: localhost\r\n";
  const whole = `${host}Content-Length: ${body.length}\r\n`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  const rows: readonly (readonly [what: string, status: number, bytes: string])[] = [
    ["without a Host", 400, head(`Content-Length: ${body.length}\r\n`) + body],
    ["with a length and a transfer coding", 400, `${head(`${whole}Transfer-Encoding: chunked\r\n`)}${chunk}0\r\n\r\n`],
    ["with two lengths", 400, head(`${whole}Content-Length: 1\r\n`) + body],
    ["with a length that is no number", 400, head(`${host}Content-Length: 0x10\r\n`) + body],
    ["with another transfer coding", 400, `${head(`${host}Transfer-Encoding: gzip, chunked\r\n`)}${chunk}0\r\n\r\n`],
    [
      "with a chunk of no known length",
      400,
      `${head(`${host}Transfer-Encoding: chunked\r\n`)}zz\r\n${body}\r\n0\r\n\r\n`,
    ],
    ["with trailers", 400, `${head(`${host}Transfer-Encoding: chunked\r\n`)}${chunk}0\r\nX-Pro: true\r\n\r\n`],
    ["with a folded header", 400, head(`${whole}X-A: a\r\n b\r\n`) + body],
    ["with a blank before a colon", 400, head(`${whole}X-Pro : true\r\n`) + body],
    ["with a control character in a header", 400, head(`${whole}X-Task-Id: a\0b\r\n`) + body],
    ["with lines that end in LF alone", 505, (head(whole) + body).replaceAll("\r\n", "\n")],
    ["of another version", 505, head(whole, "3.0") + body],
    ["with headers of 20 KB", 431, head(`${whole}X-A: ${"a".repeat(20_000)}\r\n`) + body],
    ["with 300 headers", 431, head(whole + Array.from({ length: 300 }, (_, i) => `X-${i}: a\r\n`).join("")) + body],
  ];
  test.each(rows)(
    "%s gets %i and the end of the connection, and nothing is sent upstream",
    async (_, status, bytes) => {
      const before = gateway.upstream.received();
      const caller = new RawCaller(gateway).send(bytes);
      await eventually(() => caller.closed);
      expect(caller.statuses).toEqual([status]);
      expect(caller.text.toLowerCase()).toContain("\r\nconnection: close\r\n");
      expect(gateway.upstream.received()).toBe(before);
    },
  );

  test("of HTTP/1.0 is answered, a stream too, without chunks and up to the end of the connection", async () => {
    for (const stream of [false, true]) {
      const sent = JSON.stringify({ ...JSON.parse(body), stream });
      const caller = new RawCaller(gateway).send(
        head(`Host: localhost\r\nContent-Length: ${sent.length}\r\n`, "1.0") + sent,
      );
      await eventually(() => caller.closed);
      expect(caller.statuses).toEqual([200]);
      expect(caller.text.toLowerCase()).not.toContain("transfer-encoding");
      expect(caller.text.trimEnd()).toEndWith(stream ? "data: [DONE]" : "}");
    }
  });
});
