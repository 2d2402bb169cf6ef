import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { fails, replies } from "#simulator/behaviours.ts";
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

const answers: [method: string, path: string, status: number, ask: () => Promise<Reply>][] = [
  ["POST", "/v1/chat/completions", 200, () => chat({})],
  ["POST", "/v1/chat/completions", 200, () => chat({ model: "smart-router-pro" })],
  ["POST", "/v1/chat/completions", 400, () => chat({ messages: [{ role: "user", content: [{ type: "image_url" }] }] })],
  ["POST", "/v1/chat/completions", 401, () => chat({}, {})],
  ["POST", "/v1/chat/completions", 403, () => chat({ model: "smart-router-free" })],
  ["POST", "/v1/chat/completions", 413, () => chat({ user: "x".repeat(17_000_000) })],
  ["POST", "/v1/chat/completions", 403, () => chat({}, { ...authorization, ...foreign })],
  ["POST", "/v1/chat/completions", 413, () => chat({ unknown: Array(110_000).fill(0) })],
  ["POST", "/v1/chat/completions", 422, () => chat({ max_tokens: -1 })],
  ["POST", "/v1/chat/completions", 422, () => chat({ models: ["some/model"] })],
  [
    "POST",
    "/v1/chat/completions",
    422,
    () => chat({ max_tokens: -1 }, { ...authorization, "user-agent": "openrouter-sdk/1.0" }),
  ],
  [
    "POST",
    "/v1/chat/completions",
    500,
    () => {
      gateway.upstream.next(fails(429, "slow down", { "retry-after": "7" }));
      return chat({});
    },
  ],
  ["POST", "/v1/chat/completions", 503, overloadedBy("/v1/chat/completions")],
  ["POST", "/v1/route/decision", 503, overloadedBy("/v1/route/decision")],
  ["POST", "/v1/route/decision", 403, () => post("/v1/route/decision", {}, foreign)],
  ["POST", "/v1/route/decision", 413, () => post("/v1/route/decision", { unknown: Array(110_000).fill(0) })],
  ...["/v1/route/status", "/v1/models", "/healthz", "/livez", "/readyz", "/metrics", "/openapi.json"].map(
    (path): [string, string, number, () => Promise<Reply>] => ["GET", path, 403, () => gateway.get(path, foreign)],
  ),
  [
    "POST",
    "/v1/chat/completions",
    422,
    () => chat({ max_tokens: -1 }, { ...authorization, "x-smart-gateway-errors": "openai" }),
  ],
  [
    "POST",
    "/v1/chat/completions",
    500,
    () => {
      gateway.upstream.next(fails(400));
      return chat({});
    },
  ],
  [
    "POST",
    "/v1/chat/completions",
    502,
    () => {
      gateway.upstream.next(replies(200, "<html>"));
      return chat({});
    },
  ],
  ["POST", "/v1/route/decision", 200, () => post("/v1/route/decision", { task: { task_id: "t", instruction: "x" } })],
  [
    "POST",
    "/v1/route/decision",
    200,
    () => post("/v1/route/decision", { task: { task_id: "t", instruction: "x" }, runtime: { attempts: 8 } }),
  ],
  ["POST", "/v1/route/decision", 401, () => post("/v1/route/decision", {}, {})],
  ["POST", "/v1/route/decision", 422, () => post("/v1/route/decision", {})],
  ["POST", "/v1/route/outcome", 401, () => post("/v1/route/outcome", {}, {})],
  ["POST", "/v1/route/outcome", 403, () => post("/v1/route/outcome", {}, foreign)],
  ["POST", "/v1/route/outcome", 404, () => post("/v1/route/outcome", { decision_id: "x", outcome: "solved" })],
  ["POST", "/v1/route/outcome", 413, () => post("/v1/route/outcome", { pad: "x".repeat(20_000) })],
  ["POST", "/v1/route/outcome", 422, () => post("/v1/route/outcome", {})],
  ["GET", "/v1/route/status", 200, () => gateway.get("/v1/route/status", authorization)],
  ["GET", "/v1/route/status", 401, () => gateway.get("/v1/route/status")],
  ["GET", "/v1/route/status", 422, () => gateway.get("/v1/route/status?goal=", authorization)],
  ["GET", "/v1/route/decisions/{id}", 200, recordedDecision],
  ["GET", "/v1/route/decisions/{id}", 401, () => gateway.get("/v1/route/decisions/x")],
  ["GET", "/v1/route/decisions/{id}", 403, () => gateway.get("/v1/route/decisions/x", foreign)],
  ["GET", "/v1/route/decisions/{id}", 404, () => gateway.get("/v1/route/decisions/x", authorization)],
  ["GET", "/v1/models", 200, () => gateway.get("/v1/models", authorization)],
  ["GET", "/v1/models", 401, () => gateway.get("/v1/models")],
  ["GET", "/healthz", 200, () => gateway.get("/healthz")],
  ["GET", "/livez", 200, () => gateway.get("/livez")],
  ["GET", "/readyz", 200, () => gateway.get("/readyz")],
];

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

  test("a broken stream ends in an event of the schema, and each event matches one of the three kinds", async () => {
    gateway.upstream.next(streams({ events: [chunk({ content: "half" })], end: "rst" }));
    const broken = await readStream(await chat({ stream: true }));
    const whole = await readStream(await chat({ stream: true, stream_options: { include_usage: true } }));
    const events = [broken.chunks[0], broken.chunks.at(-1), whole.chunks.at(-1)];
    const kinds: Answer[] = document.components.schemas.ChatCompletionChunk.anyOf;
    const matched = events.map((event) =>
      kinds.flatMap((kind, index) => (z.fromJSONSchema(resolved(kind)).safeParse(event).success ? [index] : [])),
    );
    // Content, the error, the usage: each matches exactly one of the kinds.
    expect(matched).toEqual([[0], [2], [1]]);
  });

  test("each chunk of a stream", async () => {
    const response = await chat({ stream: true, model: "smart-router-pro", stream_options: { include_usage: true } });
    const documented = document.paths["/v1/chat/completions"].post.responses["200"].content;
    expect(Object.keys(documented)).toContain(typeOf(response));
    const schema = z.fromJSONSchema(resolved(document.components.schemas.ChatCompletionChunk));
    for (const chunk of (await readStream(response)).chunks) expect(schema.safeParse(chunk).error).toBeUndefined();
  });

  test("and invalid answers do not match", () => {
    expect(schemaFor("POST", "/v1/chat/completions", 200, "application/json").safeParse({ hello: 1 }).success).toBe(
      false,
    );
    expect(
      schemaFor("POST", "/v1/route/decision", 200, "application/json").safeParse({ action: "ROUTE" }).success,
    ).toBe(false);
    expect(schemaFor("POST", "/v1/chat/completions", 422, "application/json").safeParse({ message: "x" }).success).toBe(
      false,
    );
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
    ["X-Task-Id", ["t".repeat(256), "t".repeat(257)]],
    ["X-Pro", ["true", "TRUE", "False", "yes", "1"]],
    ["X-Scout", ["false", "FALSE", "no"]],
    ["X-Failure-Class", ["NONE", "LOCAL", "local"]],
  ];
  for (const [name, values] of tried) {
    for (const value of values) {
      const schema = parameters.get(name);
      const given = schema.type === "integer" && value !== "abc" ? Number(value) : value;
      const documented = z.fromJSONSchema(schema).safeParse(given).success;
      const { status } = await chat({}, { ...authorization, [name]: value });
      expect([name, value, status]).toEqual([name, value, documented ? 200 : 422]);
    }
  }
});

test("null is documented exactly where the dry run accepts it as absent", async () => {
  const schema = z.fromJSONSchema(resolved(document.components.schemas.DecisionRequest));
  const { task, runtime } = document.components.schemas.DecisionRequest.properties;
  const least = { task_id: "t", instruction: "x" };
  const fields = Object.keys(runtime.anyOf[0].properties).map((name) => ({ task: least, runtime: { [name]: null } }));
  const bodies = [
    ...Object.keys(task.properties).map((name) => ({ task: { ...least, [name]: null } })),
    ...fields,
    { task: least, runtime: null },
    { task: null },
  ];
  for (const body of bodies) {
    const { status } = await post("/v1/route/decision", body);
    expect([JSON.stringify(body), status]).toEqual([JSON.stringify(body), schema.safeParse(body).success ? 200 : 422]);
  }
});

test("every documented path and method exists", async () => {
  for (const [path, methods] of Object.entries<Answer>(document.paths))
    for (const method of Object.keys(methods)) {
      const response = await call(gateway.url + path, { method: method.toUpperCase() });
      expect([path, method, [404, 405].includes(response.status)]).toEqual([path, method, false]);
      await response.text();
    }
});
