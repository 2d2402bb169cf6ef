import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { fails, replies } from "#simulator/behaviours.ts";
import { type Answer, authorization, call, type Reply, start, type TestGateway } from "../harness/gateway.ts";
import { readStream } from "../harness/sse.ts";

/** What `/openapi.json` promises, held against what is really answered. */
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

const answers: [method: string, path: string, status: number, ask: () => Promise<Reply>][] = [
  ["POST", "/v1/chat/completions", 200, () => chat({})],
  ["POST", "/v1/chat/completions", 200, () => chat({ model: "smart-router-pro" })],
  ["POST", "/v1/chat/completions", 400, () => chat({ messages: [{ role: "user", content: [{ type: "image_url" }] }] })],
  ["POST", "/v1/chat/completions", 401, () => chat({}, {})],
  ["POST", "/v1/chat/completions", 403, () => chat({ model: "smart-router-free" })],
  ["POST", "/v1/chat/completions", 413, () => chat({ user: "x".repeat(17_000_000) })],
  ["POST", "/v1/chat/completions", 422, () => chat({ max_tokens: -1 })],
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
  ["GET", "/v1/models", 200, () => gateway.get("/v1/models", authorization)],
  ["GET", "/v1/models", 401, () => gateway.get("/v1/models")],
  ["GET", "/healthz", 200, () => gateway.get("/healthz")],
  ["GET", "/livez", 200, () => gateway.get("/livez")],
  ["GET", "/readyz", 200, () => gateway.get("/readyz")],
];

describe("real answers fit their schemas", () => {
  for (const [method, path, status, ask] of answers)
    test(`${method} ${path} ${status}`, async () => {
      const response = await ask();
      expect(response.status).toBe(status);
      const schema = schemaFor(method, path, status, typeOf(response));
      expect(schema.safeParse(await response.json()).error).toBeUndefined();
    });

  test("each chunk of a stream", async () => {
    const response = await chat({ stream: true, model: "smart-router-pro", stream_options: { include_usage: true } });
    const documented = document.paths["/v1/chat/completions"].post.responses["200"].content;
    expect(Object.keys(documented)).toContain(typeOf(response));
    const schema = z.fromJSONSchema(resolved(document.components.schemas.ChatCompletionChunk));
    for (const chunk of (await readStream(response)).chunks) expect(schema.safeParse(chunk).error).toBeUndefined();
  });

  test("and what is wrong does not: the schemas say something", () => {
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

test("every path and method that is documented is there", async () => {
  for (const [path, methods] of Object.entries<Answer>(document.paths))
    for (const method of Object.keys(methods)) {
      const response = await call(gateway.url + path, { method: method.toUpperCase() });
      expect([path, method, [404, 405].includes(response.status)]).toEqual([path, method, false]);
      await response.text();
    }
});
