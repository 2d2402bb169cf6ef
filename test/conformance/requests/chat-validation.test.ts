import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brotliCompressSync } from "node:zlib";
import { authorization, call, type Reply, start, type TestGateway } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const user = { role: "user", content: "x" };
const body = (fields: object) => JSON.stringify({ model: "smart-router-flash", messages: [user], ...fields });
const message = (fields: object) => body({ messages: [{ ...user, ...fields }] });

async function post(body: string, headers: Record<string, string> = {}): Promise<Reply> {
  return call(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body,
  });
}

/** Of each kind one: `parse-chat.test.ts` has the tables of what gets 400 and 422. */
const unsupported: [name: string, body: string, headers?: Record<string, string>][] = [
  ["JSON cut short", body({}).slice(0, -1)],
  ["JSON followed by more", `${body({})}{}`],
  ["form data", "model=smart-router", { "content-type": "application/x-www-form-urlencoded" }],
  ["plain text as content type", body({}), { "content-type": "text/plain" }],
  ["an image part", message({ content: [{ type: "text", text: "before" }, { type: "image_url" }] })],
];

async function expectRefusal(response: Reply, status: number): Promise<string> {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).not.toBeNull();
  const answer = await response.json();
  expect(Object.keys(answer)).toEqual(["detail"]);
  return answer.detail;
}

describe("400: not JSON, or an unsupported shape", () => {
  for (const [name, sent, headers] of unsupported)
    test(name, async () => {
      const calls = gateway.upstream.received();
      expect(await expectRefusal(await post(sent, headers), 400)).not.toBe("");
      expect(gateway.upstream.received()).toBe(calls);
    });

  test("a compressed body, with the header that says so in the message", async () => {
    for (const coding of ["gzip", "br"]) {
      const packed = coding === "gzip" ? Bun.gzipSync(Buffer.from(body({}))) : brotliCompressSync(body({}));
      const reply = await call(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json", "content-encoding": coding },
        body: packed,
      });
      expect([reply.status, (await reply.json()).detail]).toEqual([
        400,
        "The body is compressed (Content-Encoding), which is not supported. Send it as it is.",
      ]);
    }
    expect((await post(body({}), { "content-encoding": "identity" })).status).toBe(200);
    expect((await (await post("{", { "content-encoding": "identity" })).json()).detail).not.toContain("compressed");
  });

  test("bytes that are no UTF-8", async () => {
    const bytes = new TextEncoder().encode(message({ content: "?" }));
    bytes[bytes.indexOf("?".charCodeAt(0))] = 0xff;
    const headers = { ...authorization, "content-type": "application/json" };
    await expectRefusal(
      await call(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body: bytes }),
      400,
    );
  });
});
