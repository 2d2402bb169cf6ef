import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "#domain/chat.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { replies } from "#simulator/behaviours.ts";
import { type Answer, shippedModels, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

/** The request that the upstream received for a body, as text and parsed. */
async function forwarded(body: JsonObject): Promise<{ raw: string; sent: JsonObject }> {
  const before = gateway.upstream.received();
  const response = await gateway.chat(body);
  await response.text();
  const request = await gateway.upstream.request(before);
  return { raw: request.rawBody, sent: request.body ?? {} };
}

const deep = (levels: number): Json => (levels === 0 ? "bottom" : { [`level_${levels}`]: [deep(levels - 1), null] });

const parameters = {
  type: "object",
  properties: { path: { type: "string", pattern: "^\\S+$" }, nested: deep(20) },
  additionalProperties: false,
  $defs: { x: { const: null }, y: { minimum: -1.5e-7, maximum: 1e21 } },
};
const description = 'Ändert 文件 🙂 \u0000 \u2028 "quoted" \\ back';
const edit = { name: "edit_file", description, strict: true, parameters };
const tools = [{ type: "function", function: edit, vendor_extension: [[[]], {}, null, false, 0, -0.5, ""] }];
const schema = { type: "object", properties: { a: { enum: [null, 1, "x"] } } };
const unknownFields = {
  logit_bias: { "50256": -100 },
  parallel_tool_calls: false,
  prediction: { type: "content", content: "x" },
  provider: { order: ["a"], allow_fallbacks: false },
  reasoning: { effort: "low" },
  vendor_x: deep(30),
  unknown_list: [],
  unknown_object: {},
};

describe("what is forwarded unchanged", () => {
  const cases: [name: string, fields: JsonObject][] = [
    ["tool definitions, deep and odd", { tools }],
    ["tool_choice as a word", { tools, tool_choice: "auto" }],
    ["tool_choice as an object", { tools, tool_choice: { type: "function", function: { name: "edit_file" } } }],
    ["response_format: JSON mode", { response_format: { type: "json_object" } }],
    ["response_format: a schema", { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }],
    ["sampling fields", { temperature: 0, top_p: 1, stop: ["\n\n", "END"], user: "user-7", seed: 12345, n: 2 }],
    ["one stop sequence", { stop: "###" }],
    ["fields that the gateway does not know", unknownFields],
    ["nulls", { stop: null, user: null, unknown: null, tool_choice: null }],
    ["max_tokens that the caller set", { max_tokens: 7 }],
    ["max_completion_tokens that the caller set", { max_completion_tokens: 9 }],
  ];
  test.each(cases)("%s", async (_, fields) => {
    const { sent } = await forwarded(fields);
    for (const [field, value] of Object.entries(fields)) expect({ [field]: sent[field] }).toEqual({ [field]: value });
  });

  test("messages of every kind, with unicode, control characters, names and tool calls", async () => {
    const messages: JsonObject[] = jsonLines(import.meta.dir, "fixtures/messages.jsonl");
    expect((await forwarded({ messages })).sent["messages"]).toEqual(messages);
  });

  const twice = '"x":1,"x":2';
  const nestedTwice = '"logit_bias":{"a":1,"a":2}';
  test.each([
    ["as received", "", ""],
    ["a byte order mark", "", "\uFEFF"],
    ["a key twice", twice, ""],
    ["a key twice within another", nestedTwice, ""],
    ["the messages twice", '"messages":[{"role":"user","content":"x"}]', ""],
    ["a byte order mark and a key twice", twice, "\uFEFF"],
  ])("numbers as they are spelled, and keys that are special in JavaScript: %s", async (_, more, mark) => {
    const schema = `{"type":"integer","format":"uint64","minimum":-9223372036854775808,"maximum":18446744073709551615}`;
    const properties = `{"__proto__":{"type":"string"},"constructor":{"type":"number"},"toString":{},"id":${schema}}`;
    const tools = `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":${properties}}}}]`;
    const messages = '[{"role":"user","content":"12345678901234567890"}]';
    const numbers = ['"seed":9007199254740993', '"top_k":1e1', '"min_p":0.10', '"typical_p":1.0'];
    const kept = [...numbers, '"y":{"z":-0.0}', `"messages":${messages}`, '"__proto__":{"a":1}', `"tools":${tools}`];
    const before = gateway.upstream.received();
    const body = `${mark}{"model":"smart-router-flash",${more === "" ? "" : `${more},`}${kept.join()}}`;
    const response = await gateway.chat({}, {}, { body });
    expect(response.status).toBe(200);
    const { rawBody } = await gateway.upstream.request(before);
    for (const member of kept) expect(rawBody).toContain(member);
    expect(rawBody.split('"a":').length + rawBody.split('"x":').length).toBeLessThanOrEqual(4);
  });
});

describe("what is changed, and nothing else", () => {
  test("the model becomes the upstream's id, and the output is bounded if the caller did not bound it", async () => {
    const { sent } = await forwarded({ temperature: 0.5 });
    expect(sent).toEqual({
      model: upstreamIds["vendor_v4_flash"] ?? "",
      messages: [{ role: "user", content: "hello" }],
      temperature: 0.5,
      max_tokens: 32_768,
    });
  });

  const most = shippedModels.find(({ key }) => key === "vendor_v4_flash")?.maxOutputTokens ?? 0;
  const changed: [fields: JsonObject, forwarded: JsonObject][] = [
    [{ max_tokens: 0 }, { max_tokens: 32_768 }], // many servers read 0 as no bound
    [{ max_completion_tokens: 0 }, { max_tokens: 32_768 }],
    [
      { max_tokens: 0, max_completion_tokens: 9 },
      { max_tokens: 9, max_completion_tokens: 9 },
    ],
    [{ max_tokens: null }, { max_tokens: 32_768 }],
    // Some hosts read only one of the two.
    [{ max_completion_tokens: 9 }, { max_tokens: 9, max_completion_tokens: 9 }],
    [
      { max_completion_tokens: 9, max_tokens: null },
      { max_tokens: 9, max_completion_tokens: 9 },
    ],
    // Nothing is asked for beyond what the model can write, because no more is held.
    [{ max_tokens: 17_800_000 }, { max_tokens: most }],
    [
      { max_completion_tokens: 17_800_000, max_new_tokens: 17_800_000 },
      { max_tokens: most, max_completion_tokens: most, max_new_tokens: most },
    ],
    [
      { options: { num_predict: 17_800_000, num_ctx: 4_096 }, generationConfig: { maxOutputTokens: 9 } },
      { options: { num_predict: most, num_ctx: 4_096 }, generationConfig: { maxOutputTokens: 9 } },
    ],
    [
      { max_tokens: 9, reasoning: { max_tokens: 17_800_000, effort: "high" } },
      { max_tokens: 9, reasoning: { max_tokens: most - 9, effort: "high" } },
    ],
    [
      { max_tokens: 17_800_000, thinking: { budget_tokens: 17_800_000 } },
      { max_tokens: most, thinking: { budget_tokens: most - 1 } },
    ],
    [{ usage: { include: false, x: 1 } }, { usage: { include: true, x: 1 } }],
    [{ usage: false }, { usage: { include: true } }],
    [{ usage: null }, { usage: null }],
  ];
  test.each(changed)("%j is sent as %j", async (fields, expected) => {
    expect((await forwarded(fields)).sent).toMatchObject(expected);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["max_completion_tokens", {}, { max_completion_tokens: 32_768 }],
    ["max_completion_tokens", { max_tokens: 7 }, { max_completion_tokens: 7 }],
    ["max_tokens", { max_completion_tokens: 7 }, { max_tokens: 7 }],
    ["max_tokens", { max_completion_tokens: 7, max_tokens: 9 }, { max_tokens: 7 }],
  ])("a host that takes %s alone is sent that: %j", async (output_limit, fields, limits) => {
    await using other = await start({ models: { vendor_v4_flash: { output_limit } } });
    await (await other.chat(fields)).text();
    const { max_tokens, max_completion_tokens } = (await other.upstream.request(0)).body ?? {};
    expect({ max_tokens, max_completion_tokens }).toEqual({
      max_tokens: undefined,
      max_completion_tokens: undefined,
      ...limits,
    } as never);
  });

  test("a stream requests usage, and keeps the caller's other stream options", async () => {
    expect((await forwarded({ stream: true })).sent["stream_options"]).toEqual({ include_usage: true });
    const options = { include_usage: false, include_obfuscation: true };
    expect((await forwarded({ stream: true, stream_options: options })).sent["stream_options"]).toEqual({
      ...options,
      include_usage: true,
    });
    expect((await forwarded({})).sent).not.toHaveProperty("stream_options");
  });

  test("nor has a stream any for a host that refuses them", async () => {
    await using own = await start({ models: { vendor_v4_flash: { stream_options: "refused" } } });
    for (const fields of [{}, { stream_options: { include_usage: true } }])
      expect((await own.chat({ stream: true, ...fields })).status).toBe(200);
    for (const { body } of own.upstream.requests) expect(body).not.toHaveProperty("stream_options");
    expect(own.upstream.requests).toHaveLength(2);
  });
});

describe("the answer", () => {
  /** A whole answer of this message. */
  const whole = (message: JsonObject, more: JsonObject = {}): JsonObject => ({
    id: "gen-123",
    object: "chat.completion",
    created: 1_700_000_000,
    model: upstreamIds["vendor_v4_flash"] ?? "",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
    ...more,
  });

  test("is the upstream's object, with every field", async () => {
    const usage = {
      prompt_tokens: 3,
      completion_tokens: 1,
      cost: 0.000001,
      prompt_tokens_details: { cached_tokens: 0 },
    };
    const upstream = whole(
      { content: "hi", annotations: [{ type: "x" }], refusal: null },
      { provider: "Somebody", system_fingerprint: null, usage, vendor_extra: deep(5) },
    );
    gateway.upstream.next(replies(200, upstream, { bills: 1_000 }));
    const response = await gateway.chat();
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toEqual(upstream);
  });

  test("names the requested model, also if the upstream adds its release date", async () => {
    const model = `${upstreamIds["vendor_v4_flash"]}-20260115`;
    gateway.upstream.next(replies(200, whole({ content: "hi" }, { model })));
    const answer: Answer = await (await gateway.chat()).json();
    expect(answer.model).toBe(upstreamIds["vendor_v4_flash"]);
  });

  test("has the reasoning as its content if the content is null or absent, and only then", async () => {
    const rows: [message: JsonObject, content: string][] = [
      [{ content: null, reasoning: "because" }, "because"],
      [{ reasoning: "because" }, "because"],
      [{ content: null, reasoning_content: "since" }, "since"],
      [{ content: "answer", reasoning: "because" }, "answer"],
      [{ content: "", reasoning: "because" }, ""],
    ];
    for (const [message, content] of rows) {
      gateway.upstream.next(replies(200, whole(message)));
      const body: Answer = await (await gateway.chat()).json();
      expect(body.choices[0].message).toMatchObject({ ...message, content });
    }
  });
});
