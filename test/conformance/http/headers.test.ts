import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { fails } from "#simulator/behaviours.ts";
import { type Answer, authorization, call, eventually, start, type TestGateway } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

describe("X-Request-Id", () => {
  test("is on every answer, whatever its status", async () => {
    const answers = [
      await gateway.chat(),
      await gateway.chat({ stream: true }),
      await gateway.chat({ model: "nobody" }),
      await gateway.chat({ model: "smart-router-free" }),
      await gateway.chat({}, { authorization: "" }),
      await gateway.get("/healthz"),
      await gateway.get("/metrics"),
      await gateway.get("/nowhere"),
      await gateway.get("/v1/chat/completions"),
    ];
    const ids = answers.map((answer) => answer.headers.get("x-request-id") ?? "");
    expect(ids.every((id) => id.length >= 8)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("is the caller's own if it is valid, and a new one otherwise", async () => {
    const answered = async (id: string) => (await gateway.chat({}, { "x-request-id": id })).headers.get("x-request-id");
    expect(await answered("my-request_1.2")).toBe("my-request_1.2");
    for (const odd of ["x".repeat(1_000), "with space", 'quote"', "<script>", ""])
      expect(await answered(odd)).not.toBe(odd);
  });
});

describe("decision headers", () => {
  test("on answers say where the request went and why", async () => {
    for (const stream of [false, true]) {
      const { headers } = await gateway.chat({ model: "smart-router-pro", stream });
      expect(headers.get("x-smart-gateway-action")).toBe("ROUTE");
      expect(headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
      expect(headers.get("x-smart-gateway-cause")).toBe("explicit_pro");
      expect(Number(headers.get("x-smart-gateway-score"))).toBeWithin(0, 100.001);
      expect(headers.get("x-smart-gateway-decision-id")).toBeTruthy();
    }
  });

  test("have the kind of work and the hard rules that fired, on answers and refusals", async () => {
    const auth = { kind: "AUTH", risk_level: "CRITICAL" };
    for (const stream of [false, true]) {
      const plain = await gateway.chat({ stream, metadata: { kind: "DEBUG" } });
      expect([plain.headers.get("x-smart-gateway-kind"), plain.headers.get("x-smart-gateway-rule")]).toEqual([
        "DEBUG",
        "",
      ]);
      const ruled = await gateway.chat({ stream, metadata: { estimated_tool_depth: 16 } });
      expect(ruled.headers.get("x-smart-gateway-rule")).toBe("tool_depth");
      const both = await gateway.chat({ stream, metadata: auth });
      expect(both.headers.get("x-smart-gateway-rule")).toBe("guarded_kind, critical_risk");
    }
    const refused = await gateway.chat({ model: "smart-router-free", metadata: auth });
    expect([refused.status, refused.headers.get("x-smart-gateway-kind")]).toEqual([403, "AUTH"]);
    const overCap = await gateway.chat({ max_tokens: 2_000_000_000, n: 128, metadata: auth });
    expect([overCap.status, overCap.headers.get("x-smart-gateway-rule")]).toEqual([403, "guarded_kind, critical_risk"]);
  });

  test("on failures name the model that failed", async () => {
    gateway.upstream.next(fails(400, "no such parameter"));
    const { status, headers } = await gateway.chat({ model: "smart-router-pro" });
    expect(status).toBe(500);
    expect(headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
    expect(headers.get("x-smart-gateway-cause")).toBe("explicit_pro");
  });
});

describe("the error format", () => {
  const refuse = async (headers: Record<string, string>) => (await gateway.chat({ model: "nobody" }, headers)).json();

  test("is {detail} only, unless the caller requests more", async () => {
    for (const agent of ["curl/8", "python-requests/2", "Mozilla/5.0 (said OpenAI)", "my-ai/1"])
      expect([agent, Object.keys(await refuse({ "user-agent": agent }))]).toEqual([agent, ["detail"]]);
  });

  test("has an error object in addition for SDKs and for callers that request it", async () => {
    for (const headers of [
      { "x-stainless-lang": "js" },
      { "user-agent": "ai/6.0.1 ai-sdk/openai-compatible/2.0.0 runtime/bun" },
      { "user-agent": "ai-sdk/openai-compatible/2.0.87" },
      { "user-agent": "ai-sdk-openai-compatible/3.0.92 ai-sdk-provider-utils/5.0.81 node.js/24" },
      { "user-agent": "speakeasy-sdk/typescript 1.3.19 2.0.0 1.0.0 @openrouter/sdk" },
      { "x-smart-gateway-errors": "openai" },
    ]) {
      const body = await refuse(headers);
      expect(Object.keys(body)).toEqual(["detail", "error"]);
      expect(body.error).toMatchObject({ message: body.detail, type: "invalid_request_error", param: "model" });
      expect(Object.keys(body.error).toSorted()).toEqual(["code", "message", "param", "type"]);
    }
  });
});

test("with a real upstream no header says demo; with the simulator every response does", async () => {
  expect((await gateway.chat()).headers.get("x-smart-gateway-demo")).toBeNull();
  await using demo = await start({ env: { UPSTREAM_BASE_URL: "", UPSTREAM_API_KEY: "" } });
  for (const answer of [
    await demo.chat(),
    await demo.chat({ stream: true }),
    await demo.chat({ model: "x" }),
    await demo.get("/healthz"),
  ]) {
    expect(answer.headers.get("x-smart-gateway-demo")).toBe("true");
    await answer.text();
  }
  expect(demo.upstream.received()).toBe(0);
});

test("HEAD answers like GET, without a body", async () => {
  const response = await call(`${gateway.url}/healthz`, { method: "HEAD" });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

test("the aliases are listed in the usual shape, with the least context and answer of the models they may be routed to", async () => {
  const sizes = (context_tokens: number, max_output_tokens: number) => ({ context_tokens, max_output_tokens });
  await using own = await start({
    models: {
      vendor_free_scout: sizes(32_000, 4_000),
      vendor_v4_flash: sizes(100_000, 8_000),
      vendor_v4_pro: sizes(200_000, 16_000),
      vendor_emergency: { ...sizes(300_000, 12_000), default_output_tokens: 1_000 },
    },
    policy: { health: { senior_fallback_chain: ["vendor_v4_pro", "vendor_emergency"] } },
  });
  const list = async () => {
    const { object, data } = await (await own.get("/v1/models", authorization)).json();
    expect(object).toBe("list");
    for (const entry of data)
      expect(entry).toMatchObject({ object: "model", created: expect.any(Number), owned_by: expect.any(String) });
    return data.map((entry: Answer) => [entry.id, entry.context_length, entry.max_output_tokens]);
  };
  expect(await list()).toEqual([
    ["smart-router", 100_000, 8_000],
    ["smart-router-flash", 100_000, 8_000],
    ["smart-router-pro", 200_000, 12_000],
    ["smart-router-free", 32_000, 4_000],
  ]);
});

describe("an unknown path", () => {
  const answerTo = async (path: string) => {
    const text = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`;
    const caller = new RawCaller(gateway).send(text);
    await eventually(() => caller.closed);
    return caller;
  };
  const paths = jsonLines<[path: string, says: string]>(import.meta.dir, "fixtures/unknown-paths.jsonl");
  test.each(paths)("%s gets the name of the endpoint to use instead, if that is known", async (path, says) => {
    const { statuses, text } = await answerTo(path);
    expect(statuses).toEqual([404]);
    expect(text).toContain(says);
  });
});

test("a refusal for the request itself tells SDKs not to retry", async () => {
  const refused = [
    await gateway.chat({ n: 0 }),
    await gateway.chat({}, { authorization: "" }),
    await gateway.chat({}, {}, { body: "{" }),
    await gateway.chat({ model: "smart-router-free" }),
    await gateway.get("/nowhere"),
    await gateway.get("/v1/chat/completions", authorization),
  ];
  expect(refused.map(({ status }) => status)).toEqual([422, 401, 400, 403, 404, 405]);
  for (const { headers } of refused)
    expect([headers.get("x-should-retry"), headers.get("retry-after")]).toEqual(["false", null]);
});
