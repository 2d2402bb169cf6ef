import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { type Answer, authorization, call, type Reply, start, type TestGateway } from "../../harness/gateway.ts";
import { readStream } from "../../harness/sse.ts";

/** The schemas of `/openapi.json`, compared with real answers. */
let gateway: TestGateway;
let document: Answer;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
  document = await (await gateway.get("/openapi.json")).json();
});
afterAll(() => gateway.stop());

/** References replaced by what they refer to. */
function resolved(schema: Answer): Answer {
  if (Array.isArray(schema)) return schema.map(resolved);
  if (typeof schema !== "object" || schema === null) return schema;
  const reference = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? "")?.[1];
  if (reference !== undefined) return resolved(document.components.schemas[reference]);
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value)]));
}

function schemaFor(method: string, path: string, status: number, contentType: string): z.ZodType {
  const response = document.paths[path][method.toLowerCase()].responses[status];
  if (response === undefined) throw new Error(`${method} ${path} ${status} is not documented`);
  const content = response.content?.[contentType];
  if (content === undefined) throw new Error(`${method} ${path} ${status} is not documented as ${contentType}`);
  return z.fromJSONSchema(resolved(content.schema));
}

/** Headers of ours in an answer that the document lacks or describes differently. */
function wrongHeaders(method: string, path: string, response: Reply): string[] {
  const documented = Object.entries<Answer>(
    document.paths[path][method.toLowerCase()].responses[response.status].headers,
  );
  const schemas = new Map(documented.map(([name, { schema }]) => [name.toLowerCase(), schema]));
  return [...response.headers].flatMap(([name, value]) => {
    if (!/^(?:x-|retry-after|www-authenticate|allow)/.test(name)) return [];
    const schema = schemas.get(name);
    if (schema === undefined) return [`${name} is not documented`];
    const read = ["integer", "number"].includes(schema.type) ? Number(value) : value;
    return z.fromJSONSchema(resolved(schema)).safeParse(read).success ? [] : [`${name}: ${value}`];
  });
}

function typeOf(response: Reply): string {
  return response.headers.get("content-type")?.split(";")[0] ?? "";
}

const post = (path: string, body: object, headers: Record<string, string> = authorization) =>
  call(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const chat = (body: object, headers?: Record<string, string>) =>
  post(
    "/v1/chat/completions",
    { model: "smart-router-flash", messages: [{ role: "user", content: "hello" }], ...body },
    headers,
  );

const foreign = { origin: "https://elsewhere.example" };

/** A body for which there is no room in the bytes in flight. */
function overloadedBy(path: string): () => Promise<Reply> {
  return async () => {
    const large = JSON.stringify({ unknown: "x".repeat(900_000) });
    await using small = await start({ env: { MAX_BYTES_IN_FLIGHT: "1048576" } });
    const init = { method: "POST", headers: { ...authorization, "content-type": "application/json" } };
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => call(small.url + path, { ...init, body: new Blob([large]) })),
    );
    const shed = replies.find(({ status }) => status === 503);
    if (shed === undefined) throw new Error("all of them found room");
    return new Response(await shed.text(), { status: 503, headers: shed.headers }) as Reply;
  };
}

const upstreamAnswers = (behaviour: Behaviour) => () => {
  gateway.upstream.next(behaviour);
  return chat({});
};
const get = (path: string, headers?: Record<string, string>) => () => gateway.get(path, headers);
const decision = (body: object, headers?: Record<string, string>) => () => post("/v1/route/decision", body, headers);
const outcome = (body: object, headers?: Record<string, string>) => () => post("/v1/route/outcome", body, headers);
const task = { task_id: "t", instruction: "x" };
const tooManyValues = { unknown: Array(110_000).fill(0) };
const openAiErrors = { ...authorization, "x-smart-gateway-errors": "openai" };
const openPaths = ["/healthz", "/livez", "/readyz", "/metrics", "/openapi.json"];

const chatAnswers: [status: number, ask: () => Promise<Reply>][] = [
  [200, () => chat({ model: "smart-router-pro" })],
  [400, () => chat({ messages: [{ role: "user", content: [{ type: "image_url" }] }] })],
  [401, () => chat({}, {})],
  [403, () => chat({ model: "smart-router-free" })],
  [403, () => chat({}, { ...authorization, ...foreign })],
  [413, () => chat({ user: "x".repeat(17_000_000) })],
  [413, () => chat(tooManyValues)],
  [422, () => chat({ max_tokens: -1 })],
  [422, () => chat({ models: ["some/model"] })],
  [422, () => chat({ max_tokens: -1 }, { ...authorization, "user-agent": "openrouter-sdk/1.0" })],
  [422, () => chat({ max_tokens: -1 }, openAiErrors)],
  [500, upstreamAnswers(fails(429, "slow down", { "retry-after": "7" }))],
  [500, upstreamAnswers(fails(400))],
  [502, upstreamAnswers(replies(200, "<html>"))],
  [503, overloadedBy("/v1/chat/completions")],
];
const otherPosts: [path: string, status: number, ask: () => Promise<Reply>][] = [
  ["/v1/route/decision", 200, decision({ task })],
  ["/v1/route/decision", 200, decision({ task, runtime: { attempts: 8 } })],
  ["/v1/route/decision", 401, decision({}, {})],
  ["/v1/route/decision", 403, decision({}, foreign)],
  ["/v1/route/decision", 413, decision(tooManyValues)],
  ["/v1/route/decision", 422, decision({})],
  ["/v1/route/decision", 503, overloadedBy("/v1/route/decision")],
  ["/v1/route/outcome", 401, outcome({}, {})],
  ["/v1/route/outcome", 403, outcome({}, foreign)],
  ["/v1/route/outcome", 404, outcome({ decision_id: "x", outcome: "solved" })],
  ["/v1/route/outcome", 413, outcome({ pad: "x".repeat(20_000) })],
  ["/v1/route/outcome", 422, outcome({})],
];
const gets: [path: string, status: number, ask: () => Promise<Reply>][] = [
  ["/v1/route/status", 200, get("/v1/route/status", authorization)],
  ["/v1/route/status", 401, get("/v1/route/status")],
  ["/v1/route/status", 422, get("/v1/route/status?goal=", authorization)],
  ["/v1/route/decisions/{id}", 200, recordedDecision],
  ["/v1/route/decisions/{id}", 401, get("/v1/route/decisions/x")],
  ["/v1/route/decisions/{id}", 403, get("/v1/route/decisions/x", foreign)],
  ["/v1/route/decisions/{id}", 404, get("/v1/route/decisions/x", authorization)],
  ["/v1/models", 200, get("/v1/models", authorization)],
  ["/v1/models", 401, get("/v1/models")],
  ["/v1/models/{id}", 200, get("/v1/models/smart-router", authorization)],
  ["/v1/models/{id}", 401, get("/v1/models/smart-router")],
  ["/v1/models/{id}", 404, get("/v1/models/gpt-none", authorization)],
  ["/v1/models/{id}", 403, get("/v1/models/smart-router", foreign)],
  ["/healthz", 200, get("/healthz")],
  ["/livez", 200, get("/livez")],
  ["/readyz", 200, get("/readyz")],
];
const answers: [method: string, path: string, status: number, ask: () => Promise<Reply>][] = [
  ...chatAnswers.map((row) => ["POST", "/v1/chat/completions", ...row] as const),
  ...otherPosts.map((row) => ["POST", ...row] as const),
  ...gets.map((row) => ["GET", ...row] as const),
  ...["/v1/route/status", "/v1/models", ...openPaths].map((path) => ["GET", path, 403, get(path, foreign)] as const),
].map((row) => [...row]);

/** The record of a request, as soon as it is written. */
async function recordedDecision(): Promise<Reply> {
  const id = (await chat({})).headers.get("x-smart-gateway-decision-id");
  for (let tries = 0; ; tries++) {
    const response = await gateway.get(`/v1/route/decisions/${id}`, authorization);
    if (response.status !== 404 || tries > 400) return response;
    await Bun.sleep(10);
  }
}

describe("real answers match their schemas", () => {
  for (const [method, path, status, ask] of answers)
    test(`${method} ${path} ${status}`, async () => {
      const response = await ask();
      expect(response.status).toBe(status);
      const schema = schemaFor(method, path, status, typeOf(response));
      expect(schema.safeParse(await response.json()).error).toBeUndefined();
      expect(wrongHeaders(method, path, response)).toEqual([]);
    });

  test("each event of a stream, also of one that breaks off", async () => {
    const { schema } = document.paths["/v1/chat/completions"].post.responses["200"].content["text/event-stream"];
    const chunks = z.fromJSONSchema(resolved(schema.properties.data.contentSchema));
    gateway.upstream.next(streams({ events: [chunk({ content: "half" })], end: "rst" }));
    for (const model of ["smart-router-flash", "smart-router-pro"]) {
      const body = { model, stream: true, stream_options: { include_usage: true } };
      const events = await readStream(await chat(body));
      expect(events.chunks.length).toBeGreaterThan(1);
      for (const each of events.chunks) expect(chunks.safeParse(each).error).toBeUndefined();
    }
    expect(schema).toMatchObject({ type: "object", required: ["data"], properties: { data: { type: "string" } } });
  });
});

test("the documented bounds of headers and fields are those of the gateway", async () => {
  const { post: operation } = document.paths["/v1/chat/completions"];
  const parameters = new Map<string, Answer>(
    operation.parameters.map((each: Answer) => [each.name, resolved(each.schema)]),
  );
  const tried: [name: string, values: readonly string[]][] = [
    ["X-Same-Error-Count", ["0", "999999999", "1000000000", "-1", "1.5", "abc"]],
    ["X-Smart-Gateway-Session", ["s", "s".repeat(256), "s".repeat(257)]],
    ["X-Smart-Gateway-Goal", ["a b/c", "g".repeat(257)]],
    ["X-Goal-Id", ["g".repeat(256), "g".repeat(257)]],
    ["X-Task-Id", ["", "t".repeat(256), "t".repeat(257)]],
    ["X-Pro", ["", "true", "TRUE", "False", "yes", "1"]],
    ["X-Scout", ["false", "FALSE", "no"]],
    ["X-Failure-Class", ["", "NONE", "LOCAL", "local"]],
  ];
  for (const [name, values] of tried) {
    for (const value of values) {
      const documented = z.fromJSONSchema(parameters.get(name)).safeParse(value).success;
      const { status } = await chat({}, { ...authorization, [name]: value });
      expect([name, value, status]).toEqual([name, value, documented ? 200 : 422]);
    }
  }
});
