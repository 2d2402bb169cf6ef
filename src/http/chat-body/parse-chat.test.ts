import { describe, expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { parseChatRequest } from "./parse-chat.ts";
import { ChatCompletionsBody } from "./schema.ts";

const hello = [{ role: "user", content: "hello" }];

function parseText(text: string, headers: Record<string, string> = {}) {
  return parseChatRequest({
    bytes: Buffer.from(text),
    headers: new Headers(headers),
    requestId: "req-1",
    receivedAtMs: 1_700_000_000_000,
  });
}

function parse(body: unknown, headers: Record<string, string> = {}) {
  return parseText(JSON.stringify(body), headers);
}

function accepted(body: unknown, headers: Record<string, string> = {}) {
  const parsed = parse(body, headers);
  if (parsed.kind !== "ok") throw new Error(parsed.detail);
  return parsed.request;
}

function refusal(body: unknown, headers: Record<string, string> = {}) {
  const parsed = parse(body, headers);
  if (parsed.kind !== "refused") throw new Error("was accepted");
  return parsed;
}

const plain = { model: "smart-router", messages: hello };

describe("a body of an unsupported shape gives 400", () => {
  test.each([
    ["not JSON", "{"],
    ["empty", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["a string", '"hello"'],
  ])("%s", (_, text) => {
    expect(parseText(text)).toMatchObject({ kind: "refused", status: 400 });
  });

  test.each([
    ["an image", { type: "image_url", image_url: { url: "https://example.org/a.png" } }],
    ["audio", { type: "input_audio", input_audio: {} }],
    ["a file", { type: "file", file: {} }],
    ["a part without a type", { text: "hello" }],
    ["a part with a type that is no string", { type: 1 }],
    ["a part with the name of an object method as type", { type: "toString" }],
    ["a part that is bare text", "hello"],
    ["a part that is null", null],
  ])("%s", (_, part) => {
    const body = { ...plain, messages: [{ role: "user", content: [{ type: "text", text: "look" }, part] }] };
    expect(refusal(body)).toMatchObject({ status: 400, param: "messages[0].content[1]" });
  });

  test("nesting of 64 levels is accepted, 65 is not, however deep the text is", () => {
    const nested = (levels: number) =>
      `{"model":"smart-router","messages":[{"role":"user","content":"[[["}],"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(parseText(nested(63)).kind).toBe("ok");
    expect(parseText(nested(64))).toMatchObject({ status: 400, detail: "The body nests deeper than 64 levels." });
    expect(parseText("[".repeat(1_000_000))).toMatchObject({ status: 400 });
    expect(parseText(`{"a":`.repeat(200_000))).toMatchObject({ status: 400 });
  });

  test("brackets inside strings are not nesting", () => {
    const text = `${"[".repeat(100)}"\\"${"{".repeat(100)}\\\\`;
    expect(accepted({ ...plain, messages: [{ role: "user", content: text }] }).body.messages[0]?.["content"]).toBe(
      text,
    );
  });
});

describe("a body that breaks the schema, also as it is published, gives 422 and names the field", () => {
  test.each<[string, Record<string, unknown>]>(jsonLines(import.meta.dir, "fixtures/invalid-fields.jsonl"))(
    "%s: %j",
    (param, change) => {
      const parsed = refusal({ ...plain, ...change });
      expect(ChatCompletionsBody.safeParse({ ...plain, ...change }).success).toBe(false);
      expect(parsed).toMatchObject({ status: 422, param });
      expect(parsed.detail).toContain(param);
    },
  );

  const headers = jsonLines<[string, string]>(import.meta.dir, "fixtures/invalid-headers.jsonl");
  test.each(headers)("header %s: %j", (name, value) => {
    expect(refusal(plain, { [name]: value })).toMatchObject({ status: 422, param: name });
  });
});

describe("what is accepted", () => {
  test("every role, and content that is text, parts, null or absent", () => {
    const messages = [
      { role: "system", content: "be kind" },
      { role: "developer", content: [{ type: "text", text: "be brief" }] },
      { role: "user", content: [], name: "ann" },
      { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: {} }] },
      { role: "tool", content: "7", tool_call_id: "1" },
      { role: "function", name: "f" },
      { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
    ];
    expect(accepted({ ...plain, messages }).body).toEqual({ ...plain, messages } as never);
    expect(ChatCompletionsBody.safeParse({ ...plain, messages }).success).toBe(true);
  });

  test("null counts as absent in every optional field", () => {
    const names =
      "stream stream_options temperature top_p n max_tokens max_completion_tokens stop tools tool_choice response_format user metadata";
    const request = accepted({ ...plain, ...Object.fromEntries(names.split(" ").map((name) => [name, null])) });
    expect(request).toMatchObject({ stream: false, requestedOutputTokens: null, choices: 1, wantsUsage: false });
    expect(accepted({ ...plain, metadata: { sensitive: null, session_id: null, kind: null } }).routing).toEqual({
      forcePro: false,
      scoutFirst: false,
      taskFields: {},
    });
  });

  test("unknown fields and unknown metadata are kept unchanged, with Unicode and nested nulls", () => {
    const extra = { reasoning: { effort: "high" }, ключ: [null, { "": [[[]]] }], seed: 7, metadata: { mine: "💡" } };
    expect(accepted({ ...plain, ...extra }).body).toEqual({ ...plain, ...extra } as never);
  });

  test("stream, usage, choices and the output bound are read", () => {
    const body = { ...plain, stream: true, stream_options: { include_usage: true }, n: 3, max_tokens: 7 };
    expect(accepted(body)).toMatchObject({
      requestId: "req-1",
      alias: "smart-router",
      stream: true,
      wantsUsage: true,
      choices: 3,
      requestedOutputTokens: 7,
      receivedAtMs: 1_700_000_000_000,
      bodyBytes: JSON.stringify(body).length,
    });
  });

  test("a number too large for a double is refused anywhere, because it would be forwarded as null", () => {
    const read = (fields: string) =>
      parseText(`{"model":"smart-router","messages":[{"role":"user","content":"1e400"}]${fields}}`);
    expect(read("").kind).toBe("ok");
    expect(read(',"seed":1e300').kind).toBe("ok");
    expect(read(',"temperature":1e400')).toMatchObject({ status: 422, param: "temperature" });
    for (const fields of [',"logit_bias":{"5":-1e999}', ',"x":[[{"y":1e400}]]', `,"x":1${"0".repeat(400)}`]) {
      const refused = read(fields);
      expect(refused).toMatchObject({ kind: "refused", status: 422, detail: expect.stringContaining("1e400") });
      expect(refused).toMatchObject({ param: undefined });
    }
    expect(read(',"tools":[{"type":"function","function":{"parameters":{"maximum":1e400}}}]')).toMatchObject({
      param: "tools",
    });
  });

  test.each([
    [{ max_tokens: 0 }, "requestedOutputTokens", null],
    [{ max_tokens: 0, max_completion_tokens: 0 }, "requestedOutputTokens", null],
    [{ max_tokens: 0, max_completion_tokens: 20 }, "requestedOutputTokens", 20],
    // Either may apply upstream.
    [{ max_tokens: 10, max_completion_tokens: 20 }, "requestedOutputTokens", 20],
    [{ max_tokens: 30, max_completion_tokens: 20 }, "requestedOutputTokens", 30],
    [{ max_tokens: null, max_completion_tokens: 20 }, "requestedOutputTokens", 20],
    // All that are written are billed, whatever is shown of them.
    [{ n: 2, best_of: 5 }, "choices", 5],
    [{ n: 2, best_of: null }, "choices", 2],
    [{ best_of: 4 }, "choices", 4],
    [{ stream_options: { include_usage: true } }, "wantsUsage", true],
    [{ usage: { include: true } }, "wantsUsage", true],
    [{ usage: { include: false } }, "wantsUsage", false],
    [{ usage: { include: "true" } }, "wantsUsage", false],
    [{ usage: true }, "wantsUsage", false],
    [{ usage: null }, "wantsUsage", false],
  ] as const)("%j: %s is %j", (fields, name, value) => {
    expect(accepted({ ...plain, ...fields })[name]).toBe(value);
  });
});

describe("what headers and metadata state", () => {
  test("metadata alone", () => {
    const taskFields = { kind: "AUTH", risk_level: "HIGH", ambiguity: 0.9, estimated_tool_depth: 3 };
    const free = { ...taskFields, repo_free_opt_in: true, explicit_route: "FREE_SCOUT" };
    const ids = { session_id: "s", goal_id: "g", task_id: "t", repo_id: "r" };
    const metadata = { sensitive: false, reasoning: "high", routing: "free", ...ids, ...free };
    expect(accepted({ ...plain, metadata }).routing).toEqual({
      ...{ sensitive: false, reasoning: "high", routingHint: "free", forcePro: false, scoutFirst: false },
      ...{ sessionId: "s", goalId: "g", taskId: "t", repoId: "r" },
      taskFields: free,
    } as never);
  });

  test("a header takes precedence over metadata, X-Goal-Id over X-Smart-Gateway-Goal, and an empty header counts as absent", () => {
    const metadata = { session_id: "m-s", goal_id: "m-g", task_id: "m-t" };
    const all = {
      "X-Smart-Gateway-Session": "h-s",
      "X-Smart-Gateway-Goal": "h-g",
      "X-Goal-Id": "own",
      "X-Task-Id": "h-t",
    };
    expect(accepted({ ...plain, metadata }, all).routing).toMatchObject({
      sessionId: "h-s",
      goalId: "own",
      taskId: "h-t",
    });
    const { "X-Goal-Id": _, ...some } = all;
    expect(accepted({ ...plain, metadata }, some).routing.goalId).toBe("h-g");
    const empty = { "X-Task-Id": "", "X-Goal-Id": "", "X-Pro": "", "X-Failure-Class": "" };
    expect(accepted({ ...plain, metadata }, empty).routing).toMatchObject({
      goalId: "m-g",
      taskId: "m-t",
      forcePro: false,
    });
  });

  test("X-Session-Id of an agent is the session if the gateway's own header is absent", () => {
    const session = (headers: Record<string, string>, body: object = plain) =>
      accepted(body, headers).routing.sessionId;
    expect(session({ "X-Session-Id": "ses_1" })).toBe("ses_1");
    expect(session({ "X-Session-Id": "ses_1", "X-Smart-Gateway-Session": "own" })).toBe("own");
    expect(session({ "X-Session-Id": "ses_1" }, { ...plain, metadata: { session_id: "m-s" } })).toBe("m-s");
    // The header was not meant for the gateway, so an unusable id in it is no reason to refuse.
    expect(session({ "X-Session-Id": "x".repeat(257) })).toBeUndefined();
    expect(session({ "X-Session-Id": "" })).toBeUndefined();
  });
});
