import { afterAll, describe, expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { eventually, start, type TestGateway } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

/** Which callers a gateway on loopback accepts: no web page of another origin, under whatever name it reaches this machine. */
const gateway = await start();
afterAll(() => gateway.stop());
const port = new URL(gateway.url).port;

/** Sends a head unchanged and reads the answer to its end. */
async function raw(lines: readonly string[], to: TestGateway = gateway): Promise<{ status: number; body: string }> {
  const caller = new RawCaller(to).send(`${lines.join("\r\n")}\r\n\r\n`);
  await eventually(() => caller.closed);
  return { status: caller.statuses[0] ?? 0, body: caller.text.slice(caller.text.indexOf("\r\n\r\n") + 4) };
}

const get = (path: string, host: string, ...more: string[]) =>
  raw([`GET ${path} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...more]);

/** The rows of a table, with the port of the gateway. */
const withPort = (table: string) =>
  jsonLines<string>(import.meta.dir, `fixtures/${table}.jsonl`).map((row) => row.replaceAll("PORT", String(port)));

describe("on loopback, the Host header", () => {
  test.each(withPort("hosts"))("%s is answered", async (host) => {
    expect((await get("/livez", host)).status).toBe(200);
  });

  test.each(withPort("foreign-hosts"))("%j is refused", async (host) => {
    const { status, body } = await get("/livez", host);
    expect([status, JSON.parse(body)]).toEqual([403, { detail: expect.stringContaining("ALLOWED_HOSTS") }]);
  });
});

describe("on loopback, the Origin header", () => {
  test.each(withPort("foreign-origins"))("%j is refused", async (origin) => {
    const { status, body } = await get("/livez", `localhost:${port}`, `Origin: ${origin}`);
    expect([status, JSON.parse(body)]).toEqual([403, { detail: expect.stringContaining("Origin") }]);
  });
});

const { paths }: { paths: Record<string, object> } = await (await gateway.get("/openapi.json")).json();

describe("a foreign Host or Origin is refused on every endpoint, before all other checks", () => {
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const others = ["HEAD /healthz", "OPTIONS /v1/chat/completions", "DELETE /v1/chat/completions", "GET /nowhere"];
  test.each([...documented, ...others])("%s", async (asked) => {
    const head = [`${asked} HTTP/1.1`, "Connection: close", "Content-Length: 0"];
    expect((await raw([...head, "Host: attacker.example"])).status).toBe(403);
    expect((await raw([...head, "Host: localhost", "Origin: https://attacker.example"])).status).toBe(403);
  });

  test("nothing is sent upstream for it, and the error tells SDKs not to retry", async () => {
    const before = gateway.upstream.requests.length;
    const response = await gateway.chat({}, { origin: "https://attacker.example", "x-stainless-lang": "js" });
    expect(response.status).toBe(403);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("x-request-id")).toBeString();
    expect((await response.json()).error.code).toBe("origin_not_allowed");
    expect(gateway.upstream.requests.length).toBe(before);
    expect(gateway.log.findLast(({ event }) => event === "request_rejected")?.fields["status"]).toBe(403);
  });
});

describe("ALLOWED_HOSTS", () => {
  test("adds names to those of loopback", async () => {
    await using named = await start({ env: { ALLOWED_HOSTS: "Gateway.example., [fd00::1]" } });
    const statusFor = async (...lines: string[]) =>
      (await raw(["GET /livez HTTP/1.1", "Connection: close", ...lines], named)).status;
    expect(await statusFor("Host: gateway.example")).toBe(200);
    expect(await statusFor("Host: GATEWAY.EXAMPLE.:8443", "Origin: https://gateway.example:8443")).toBe(403);
    expect(await statusFor("Host: gateway.example", "Origin: https://gateway.example")).toBe(200);
    expect(await statusFor("Host: [fd00::1]:80")).toBe(200);
    expect(await statusFor("Host: localhost")).toBe(200);
    expect(await statusFor("Host: other.example")).toBe(403);
  });

  test("enables the check of names on another address; a foreign Origin is refused without knowing any", async () => {
    const foreign = ["GET /livez HTTP/1.1", "Connection: close", "Host: any.example"];
    await using open = await start({ env: { HOST: "0.0.0.0" } });
    expect((await raw(foreign, open)).status).toBe(200);
    for (const [origin, status] of [
      ["https://any.example", 200],
      ["http://any.example", 200],
      ["https://other.example", 403],
      ["https://any.example.other", 403],
      ["https://any.example:8443", 403],
      ["null", 403],
    ] as const)
      expect([origin, (await raw([...foreign, `Origin: ${origin}`], open)).status]).toEqual([origin, status]);
    await using listed = await start({ env: { HOST: "0.0.0.0", ALLOWED_HOSTS: "gateway.example" } });
    expect((await raw(foreign, listed)).status).toBe(403);
  });
});
