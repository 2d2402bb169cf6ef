import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, eventually, type Reply, start, type TestGateway, token, upstreamKey } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const protectedPaths = [
  ["POST", "/v1/chat/completions"],
  ["POST", "/v1/route/decision"],
  ["POST", "/v1/route/outcome"],
  ["GET", "/v1/route/status"],
  ["GET", "/v1/route/decisions/d"],
  ["GET", "/v1/models"],
] as const;

function request(method: string, path: string, headers: Record<string, string>, to = gateway.url): Promise<Reply> {
  const body =
    method === "POST" ? JSON.stringify({ model: "smart-router", messages: [{ role: "user", content: "x" }] }) : null;
  return call(to + path, { method, headers: { "content-type": "application/json", ...headers }, body });
}

describe("every protected endpoint", () => {
  for (const [method, path] of protectedPaths) {
    test(`${method} ${path} answers 401 without a usable Authorization header, and says what to send`, async () => {
      for (const value of [
        undefined,
        "",
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNzd29yZA==",
        token,
        "Bearer two words",
      ]) {
        const response = await request(method, path, value === undefined ? {} : { authorization: value });
        expect([value, response.status]).toEqual([value, 401]);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        expect(response.headers.get("content-type")).toBe("application/json");
        const body = await response.json();
        expect(Object.keys(body)).toEqual(["detail"]);
        expect(body.detail).toContain("Authorization: Bearer");
      }
    });
  }

  test("a token must have 8 characters unless configured otherwise; its content does not matter", async () => {
    const status = async (token: string, to?: string) =>
      (await request("GET", "/v1/models", { authorization: `Bearer ${token}` }, to)).status;
    expect(await status("x".repeat(7))).toBe(401);
    expect(await status("x".repeat(8))).toBe(200);
    expect(await status("another-token-altogether")).toBe(200);
    await using strict = await start({ env: { AUTH_MIN_TOKEN_LENGTH: "20" } });
    expect(await status("x".repeat(19), strict.url)).toBe(401);
    expect(await status("x".repeat(20), strict.url)).toBe(200);
  });
});

test("the upstream gets the gateway's key, never the caller's token", async () => {
  const index = gateway.upstream.received();
  expect((await gateway.chat({}, { "x-api-key": "callers-own", cookie: "a=b" })).status).toBe(200);
  const { headers, rawBody } = await gateway.upstream.request(index);
  expect(headers["authorization"]).toBe(`Bearer ${upstreamKey}`);
  expect(JSON.stringify(headers) + rawBody).not.toContain(token);
  expect(headers["x-api-key"]).toBeUndefined();
  expect(headers["cookie"]).toBeUndefined();
});

test("the upstream's key is read again when its file changes, and is still redacted from answers", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-key-"));
  const file = join(scratch, "key");
  const second = `${upstreamKey.slice(0, -4)}beef`;
  writeFileSync(file, `${upstreamKey}\n`);
  await using rotated = await start({ env: { UPSTREAM_API_KEY: "", UPSTREAM_API_KEY_FILE: file } });
  const sentKey = async () => {
    const index = rotated.upstream.received();
    await rotated.chat();
    return (await rotated.upstream.request(index)).headers["authorization"];
  };
  expect(await sentKey()).toBe(`Bearer ${upstreamKey}`);
  writeFileSync(file, second);
  await eventually(async () => (await sentKey()) === `Bearer ${second}`);
  const index = rotated.upstream.received();
  await rotated.chat({ messages: [{ role: "user", content: `my key is ${second}` }] });
  expect((await rotated.upstream.request(index)).rawBody).not.toContain(second);
  rmSync(scratch, { recursive: true });
});

describe("the order of checks", () => {
  const bearer = { authorization: `Bearer ${token}` };
  const post = (headers: Record<string, string>, body: string, path = "/v1/chat/completions") =>
    call(gateway.url + path, { method: "POST", headers, body });

  test("path and method are checked before the token", async () => {
    for (const path of ["/v1/responses", "/nothing"]) expect((await post({}, "", path)).status).toBe(404);
    const response = await call(`${gateway.url}/v1/chat/completions`);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toContain("POST");
    const metrics = await post({}, "", "/metrics");
    expect([metrics.status, metrics.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("the token is checked before the size, the size before the JSON, the shape before the fields", async () => {
    await using small = await start({ env: { MAX_REQUEST_BYTES: "2000" } });
    const post = (headers: Record<string, string>, body: string) =>
      call(`${small.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
    const large = "{".repeat(3_000);
    expect((await post({}, large)).status).toBe(401);
    expect((await post(bearer, large)).status).toBe(413);
    expect((await post(bearer, "{")).status).toBe(400);
    const imageAndNoModel = { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] };
    expect((await post(bearer, JSON.stringify(imageAndNoModel))).status).toBe(400);
    expect((await post(bearer, JSON.stringify({ messages: [{ role: "user", content: "x" }] }))).status).toBe(422);
    expect(small.upstream.received()).toBe(0);
  });
});
