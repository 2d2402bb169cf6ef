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
const part = (fields: object) => message({ content: [{ type: "text", text: "before" }, fields] });
const metadata = (fields: object) => body({ metadata: fields });

async function post(body: string, headers: Record<string, string> = {}): Promise<Reply> {
  return call(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body,
  });
}

/** Bodies that get 400: not JSON, or an unsupported shape. */
const unsupported: [name: string, body: string, headers?: Record<string, string>][] = [
  ["an empty body", ""],
  ["text that is no JSON", "hello"],
  ["JSON cut short", body({}).slice(0, -1)],
  ["JSON followed by more", `${body({})}{}`],
  ["a comment in JSON", `/* hi */ ${body({})}`],
  ["an array", `[${body({})}]`],
  ["a string", '"hello"'],
  ["null", "null"],
  ["a number", "42"],
  ["nesting without end", body({ extra: 0 }).replace('"extra":0', `"extra":${"[".repeat(2_000)}${"]".repeat(2_000)}`)],
  ["form data", "model=smart-router", { "content-type": "application/x-www-form-urlencoded" }],
  ["plain text as content type", body({}), { "content-type": "text/plain" }],
  ["an image part", part({ type: "image_url", image_url: { url: "https://example.org/a.png" } })],
  ["an audio part", part({ type: "input_audio", input_audio: { data: "", format: "wav" } })],
  ["a file part", part({ type: "file", file: { file_id: "x" } })],
  ["a part of a kind nobody knows", part({ type: "hologram" })],
  ["a part without a type", part({ text: "x" })],
  ["a part that is no object", message({ content: ["x"] })],
  [
    "an image in a tool's answer",
    body({ messages: [{ role: "tool", tool_call_id: "a", content: [{ type: "image_url" }] }] }),
  ],
  [
    "an image beside a wrong field",
    body({ max_tokens: -1, messages: [{ ...user, content: [{ type: "image_url" }] }] }),
  ],
];

/** Bodies that get 422, and the field that the message must name. */
const invalid: [name: string, field: string, body: string, headers?: Record<string, string>][] = [
  ["no model", "model", body({ model: undefined })],
  ["model null", "model", body({ model: null })],
  ["an unknown model", "model", body({ model: "gpt-4o" })],
  ["a model in other letters", "model", body({ model: "Smart-Router" })],
  ["a model that is no string", "model", body({ model: 7 })],
  ["no messages", "messages", body({ messages: undefined })],
  ["messages null", "messages", body({ messages: null })],
  ["no message", "messages", body({ messages: [] })],
  ["messages that are no array", "messages", body({ messages: "hello" })],
  ["a message that is no object", "messages[0]", body({ messages: ["hello"] })],
  ["a message without a role", "role", message({ role: undefined })],
  ["an unknown role", "role", message({ role: "wizard" })],
  ["content that is a number", "content", message({ content: 7 })],
  ["content that is an object", "content", message({ content: { text: "x" } })],
  ["a text part whose text is no string", "text", part({ type: "text", text: 7 })],
  ["a negative max_tokens", "max_tokens", body({ max_tokens: -1 })],
  ["max_tokens that is not whole", "max_tokens", body({ max_tokens: 1.5 })],
  ["max_tokens as text", "max_tokens", body({ max_tokens: "100" })],
  ["a negative max_completion_tokens", "max_completion_tokens", body({ max_completion_tokens: -5 })],
  ["temperature as text", "temperature", body({ temperature: "hot" })],
  ["top_p as text", "top_p", body({ top_p: "all" })],
  ["stream as text", "stream", body({ stream: "true" })],
  ["stop as a number", "stop", body({ stop: 7 })],
  ["stop as numbers", "stop", body({ stop: [7] })],
  ["tools as an object", "tools", body({ tools: {} })],
  ["tool_choice as a number", "tool_choice", body({ tool_choice: 7 })],
  ["response_format as text", "response_format", body({ response_format: "json" })],
  ["user as a number", "user", body({ user: 7 })],
  ["n of zero", "n", body({ n: 0 })],
  ["metadata as text", "metadata", body({ metadata: "x" })],
  ["sensitive as text", "sensitive", metadata({ sensitive: "false" })],
  ["sensitive as a number", "sensitive", metadata({ sensitive: 0 })],
  ["an unknown reasoning", "reasoning", metadata({ reasoning: "low" })],
  ["an unknown routing", "routing", metadata({ routing: "cheap" })],
  ["a session id that is no string", "session_id", metadata({ session_id: 7 })],
  ["a goal id that is no string", "goal_id", metadata({ goal_id: {} })],
  ["a task id that is no string", "task_id", metadata({ task_id: [] })],
  ["an unknown kind", "kind", metadata({ kind: "COOKING" })],
  ["an unknown risk", "risk_level", metadata({ risk_level: "low" })],
  ["a dimension above 1", "ambiguity", metadata({ ambiguity: 1.1 })],
  ["a negative tool depth", "estimated_tool_depth", metadata({ estimated_tool_depth: -1 })],
  ["X-Same-Error-Count that is not a number", "X-Same-Error-Count", body({}), { "x-same-error-count": "abc" }],
  ["X-Same-Error-Count below zero", "X-Same-Error-Count", body({}), { "x-same-error-count": "-1" }],
  ["an unknown X-Failure-Class", "X-Failure-Class", body({}), { "x-failure-class": "TOTAL" }],
  ["X-Pro that is no boolean", "X-Pro", body({}), { "x-pro": "perhaps" }],
  ["X-Scout that is no boolean", "X-Scout", body({}), { "x-scout": "2" }],
];

/** Bodies that are accepted although they are unusual. */
const accepted: [name: string, body: string, headers?: Record<string, string>][] = [
  [
    "null for everything optional",
    body({ stream: null, temperature: null, max_tokens: null, stop: null, tools: null, metadata: null, user: null }),
  ],
  ["null for gateway metadata", metadata({ sensitive: null, reasoning: null, goal_id: null })],
  ["unknown fields of any type", body({ seed: 7, logit_bias: { a: 1 }, nonsense: [null, { x: [] }] })],
  ["metadata of the caller's own", metadata({ ticket: 42, nested: { a: null } })],
  [
    "content null beside tool calls",
    body({ messages: [user, { role: "assistant", content: null, tool_calls: [] }, user] }),
  ],
  ["no content at all", body({ messages: [user, { role: "assistant", tool_calls: [] }] })],
  [
    "every role there is",
    body({
      messages: ["system", "developer", "user", "assistant", "tool", "function"].map((role) => ({ ...user, role })),
    }),
  ],
  [
    "text and refusal parts",
    body({
      messages: [
        { role: "user", content: [{ type: "text", text: "x" }] },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
        user,
      ],
    }),
  ],
  ["an empty list of parts", message({ content: [] })],
  ["max_tokens of zero", body({ max_tokens: 0 })],
  ["a content type with a charset", body({}), { "content-type": "Application/JSON; charset=utf-8" }],
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

  test("no content type at all", async () => {
    const response = await call(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: authorization,
      body: new TextEncoder().encode(body({})),
    });
    await expectRefusal(response, 400);
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

describe("422: fields with invalid values", () => {
  for (const [name, field, sent, headers] of invalid)
    test(`${name}: the message names ${field}`, async () => {
      const calls = gateway.upstream.received();
      expect(await expectRefusal(await post(sent, headers), 422)).toContain(field);
      expect(gateway.upstream.received()).toBe(calls);
    });

  test("the message never repeats what was sent", async () => {
    const secret = ["hunter", "2-and-more"].join("");
    for (const sent of [
      body({ model: secret }),
      message({ role: secret }),
      body({ stop: { secret } }),
      metadata({ kind: secret }),
    ])
      expect(await expectRefusal(await post(sent), 422)).not.toContain(secret);
  });
});

describe("200: unusual, but valid", () => {
  for (const [name, sent, headers] of accepted)
    test(name, async () => {
      const response = await post(sent, headers);
      expect([response.status, response.status === 200 ? "" : await response.text()]).toEqual([200, ""]);
    });
});
