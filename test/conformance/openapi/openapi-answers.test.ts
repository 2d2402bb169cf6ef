import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { fails } from "#simulator/behaviours.ts";
import { type Answer, authorization, call, start, type TestGateway } from "../../harness/gateway.ts";

/** Real answers, validated against the document that the same gateway publishes. */
let gateway: TestGateway;
let document: Answer;

beforeAll(async () => {
  gateway = await start();
  document = await (await gateway.get("/openapi.json")).json();
});
afterAll(() => gateway.stop());

/** The document's components in the place where a plain JSON Schema has its definitions. */
function definitions(): Answer {
  return JSON.parse(JSON.stringify(document.components.schemas).replaceAll("#/components/schemas/", "#/$defs/"));
}
const local = (schema: Answer): Answer =>
  JSON.parse(JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/"));

async function holds(path: string, init: RequestInit & { method: string }, status: number): Promise<void> {
  const response = await call(`${gateway.url}${path}`, init);
  expect(response.status).toBe(status);
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const schema = document.paths[path]?.[init.method.toLowerCase()]?.responses[String(status)]?.content?.[type]?.schema;
  expect({ path, status, type, described: schema !== undefined }).toEqual({ path, status, type, described: true });
  const result = z.fromJSONSchema({ ...local(schema), $defs: definitions() }).safeParse(await response.json());
  expect(result.success ? [] : result.error.issues).toEqual([]);
}

const get = { method: "GET", headers: authorization };
const post = (body: unknown, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers: { ...authorization, "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const messages = [{ role: "user", content: "hello" }];
const chat = "/v1/chat/completions";

describe("answers match the published document", () => {
  test("a completion", () => holds(chat, post({ model: "smart-router", messages }), 200));
  test("not JSON", () => holds(chat, post("{"), 400));
  test("no token", () => holds(chat, { method: "POST", body: "{}" }, 401));
  test("free and sensitive", () => holds(chat, post({ model: "smart-router-free", messages }), 403));
  test("a bad field", () => holds(chat, post({ model: "smart-router", messages, max_tokens: -1 }), 422));
  test("a bad field, as an SDK is told", () =>
    holds(chat, post({ model: "smart-router", messages, max_tokens: -1 }, { "x-stainless-lang": "js" }), 422));
  test("an upstream that refuses", () => {
    gateway.upstream.next(fails(400, "no"));
    return holds(chat, post({ model: "smart-router", messages }), 500);
  });
  test("a decision", () => holds("/v1/route/decision", post({ task: { task_id: "t", instruction: "x" } }), 200));
  test("a decision about nothing", () => holds("/v1/route/decision", post({}), 422));
  test("the models", () => holds("/v1/models", get, 200));
  test("health", () => holds("/healthz", get, 200));
  test("alive", () => holds("/livez", get, 200));
  test("ready", () => holds("/readyz", get, 200));
  test("each chunk of a stream", async () => {
    const response = await gateway.chat({ stream: true });
    const chunk = z.fromJSONSchema({ $ref: "#/$defs/ChatCompletionChunk", $defs: definitions() });
    const lines = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: {"));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) {
      const result = chunk.safeParse(JSON.parse(line.slice("data: ".length)));
      expect(result.success ? [] : result.error.issues).toEqual([]);
    }
  });
  test("and the validator can fail", async () => {
    const health = z.fromJSONSchema({ $ref: "#/$defs/Health", $defs: definitions() });
    expect(health.safeParse({ status: "splendid" }).success).toBe(false);
  });
});
