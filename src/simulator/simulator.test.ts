import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { fails, replies } from "./behaviours.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "./simulator.ts";
import { chunk, disconnects, silent, streams, usageChunk, writesRaw } from "./testing/scripted.ts";

const perMTok = (usd: number) => (usd * 1e9) as NanoUsdPerMTok; // whole for the prices below
const model = (key: string, role: Model["role"], input: number, output: number): Model => ({
  key,
  role,
  upstreamId: `vendor/${key}`,
  price: { input: perMTok(input), cachedInput: perMTok(input), output: perMTok(output) },
  contextTokens: 131_072,
  maxOutputTokens: 65_536,
  defaultOutputTokens: 32_768,
  free: input === 0,
  enabled: true,
  reasoning: role === "senior",
  timeoutsMs: {},
});
const models = [
  model("scout", "scout", 0, 0),
  model("flash", "worker", 0.14, 0.28),
  model("pro", "senior", 0.435, 0.87),
  model("emergency", "emergency", 1, 2),
];

let running: Simulator | undefined;
afterEach(() => running?.stop());

async function simulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  running = await startSimulator({
    models: () => models,
    clock: { now: () => 1_700_000_000_000, monotonic: () => 0 },
    random: () => 0.5,
    remember: 100,
    ...options,
  });
  return running;
}

function postChat(upstream: Simulator, body: JsonObject, init: RequestInit = {}): Promise<Response> {
  const whole = { model: "vendor/flash", messages: [{ role: "user", content: "hello" }], ...body };
  return fetch(`${upstream.url}/chat/completions`, { method: "POST", body: JSON.stringify(whole), ...init });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers like a caller in plain JavaScript
type Answer = any;

async function events(response: Response): Promise<Answer[]> {
  const text = await response.text();
  const data = [...text.matchAll(/^data: (.*)$/gm)].map((match) => String(match[1]));
  expect(data.pop()).toBe("[DONE]");
  return data.map((line) => JSON.parse(line));
}

const weatherTool = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
};

describe("without a script", () => {
  test("answers like an aggregator, says that it is simulated, and echoes the request", async () => {
    const response = await postChat(await simulator(), {
      messages: [{ role: "user", content: "my key is [REDACTED:key:1]" }],
    });
    const answer: Answer = await response.json();
    expect(answer.id).toStartWith("gen-");
    expect(answer.object).toBe("chat.completion");
    expect(answer.model).toBe("vendor/flash");
    expect(answer.choices[0].finish_reason).toBe("stop");
    expect(answer.choices[0].message.content).toContain("[simulated]");
    expect(answer.choices[0].message.content).toContain("my key is [REDACTED:key:1]");
    expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens + answer.usage.completion_tokens);
  });

  test("charges tokens at the model's price, in the answer and on its own bill alike", async () => {
    const upstream = await simulator();
    const { usage }: Answer = await (await postChat(upstream, {})).json();
    const nano = Math.ceil((usage.prompt_tokens * 140_000_000 + usage.completion_tokens * 280_000_000) / 1_000_000);
    expect(Math.round(usage.cost * 1e9)).toBe(nano);
    expect(upstream.billedNanoUsd()).toBe(nano);
  });

  test("streams the same answer, with a comment first and usage last", async () => {
    const upstream = await simulator();
    const whole: Answer = await (await postChat(upstream, {})).json();
    const response = await postChat(upstream, { stream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const chunks = await events(response);
    const text = chunks.map((event) => event.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0].message.content);
    expect(chunks.at(-1).choices).toEqual([]);
    expect(chunks.at(-1).usage).toEqual(whole.usage);
    expect(chunks.filter((event) => event.choices[0]?.finish_reason)).toHaveLength(1);
  });

  test("a reasoning model sends reasoning before content", async () => {
    const chunks = await events(await postChat(await simulator(), { model: "vendor/pro", stream: true }));
    const spoken = chunks.findIndex((event) => event.choices[0]?.delta.content);
    expect(spoken).toBeGreaterThan(0);
    expect(chunks.slice(0, spoken).every((event) => event.choices[0].delta.reasoning !== "")).toBe(true);
    expect(chunks.at(-1).usage.completion_tokens_details.reasoning_tokens).toBe(spoken);
  });

  test("calls a tool that the user mentions, and answers in words after the result", async () => {
    const upstream = await simulator();
    const user = { role: "user", content: "What is the weather in Paris?" };
    const first: Answer = await (await postChat(upstream, { messages: [user], tools: [weatherTool] })).json();
    const call = first.choices[0].message.tool_calls[0];
    expect(first.choices[0].finish_reason).toBe("tool_calls");
    expect(call.function.name).toBe("get_weather");
    expect(JSON.parse(call.function.arguments)).toEqual({ city: "Paris" });
    const result = { role: "tool", tool_call_id: call.id, content: "18 degrees" };
    const messages = [user, first.choices[0].message, result];
    const second: Answer = await (await postChat(upstream, { messages, tools: [weatherTool] })).json();
    expect(second.choices[0].message.content).toContain("18 degrees");
    expect(second.choices[0].message.tool_calls).toBeUndefined();
  });

  test("JSON mode answers in JSON, a schema with an instance of it", async () => {
    const upstream = await simulator();
    const content = async (format: JsonObject): Promise<Answer> => {
      const answer: Answer = await (await postChat(upstream, { response_format: format })).json();
      return JSON.parse(answer.choices[0].message.content);
    };
    expect((await content({ type: "json_object" })).simulated).toBe(true);
    const schema = {
      type: "object",
      properties: { ok: { type: "boolean" }, n: { type: "number" } },
      required: ["ok", "n"],
    };
    expect(await content({ type: "json_schema", json_schema: { name: "x", schema } })).toEqual({ ok: true, n: 1 });
  });

  test("respects max_tokens, and reports the length", async () => {
    const answer: Answer = await (await postChat(await simulator(), { max_tokens: 3 })).json();
    expect(answer.choices[0].finish_reason).toBe("length");
    expect(answer.usage.completion_tokens).toBe(3);
  });

  test("delays its answers when given timers, and stops when the caller disconnects", async () => {
    const pending: (() => void)[] = [];
    const after = (_delayMs: number, callback: () => void) => {
      pending.push(callback);
      return () => undefined;
    };
    const upstream = await simulator({ timers: { after } });
    const caller = new AbortController();
    const response = postChat(upstream, { stream: true }, { signal: caller.signal });
    const request = await upstream.request(0);
    expect(request.bytesSent).toBe(0);
    caller.abort();
    await response.catch(() => undefined);
    expect(await request.ended).toBe("caller_gone");
    for (const callback of pending) callback();
    expect(upstream.billedNanoUsd()).toBe(0);
  });
});

describe("with a script", () => {
  test("gives each request its queued behaviour, then that of the script, then the default", async () => {
    const upstream = await simulator({ script: (request) => (request.index === 1 ? fails(503) : undefined) });
    upstream.next(replies(429, "slow down", { headers: { "retry-after": "soon" } }));
    const first = await postChat(upstream, {});
    expect([first.status, first.headers.get("retry-after"), await first.text()]).toEqual([429, "soon", "slow down"]);
    expect((await postChat(upstream, {})).status).toBe(503);
    expect((await postChat(upstream, {})).status).toBe(200);
    expect(upstream.requests.map((request) => request.outcome)).toEqual(["answered", "answered", "answered"]);
  });

  test("holds each event until the test releases it", async () => {
    const upstream = await simulator();
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    upstream.next(
      streams({
        events: [chunk({ content: "a" }), chunk({}, "stop"), usageChunk({ input: 1, output: 1 })],
        gate: (index) => gates[index]?.promise,
      }),
    );
    const asked = postChat(upstream, { stream: true });
    const request = await upstream.request(0);
    expect(request.eventsSent).toBe(0);
    gates[0]?.resolve();
    const reader = (await asked).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('"content":"a"');
    expect(request.eventsSent).toBe(1);
    for (const gate of gates) gate.resolve();
    while (!(await reader.read()).done);
    expect(await request.ended).toBe("answered");
    expect(request.eventsSent).toBe(3);
  });

  for (const how of ["fin", "rst"] as const) {
    test(`breaks a stream off with ${how}, and the client sees which`, async () => {
      const upstream = await simulator();
      const seen = Promise.withResolvers<void>();
      const events = [chunk({ content: "a" })];
      upstream.next(
        streams({ events, end: how, gate: (index) => (index === 1 ? seen.promise : undefined), bills: 77 }),
      );
      const met = await raw(upstream, (text) => {
        if (text.includes('"content":"a"')) seen.resolve();
      });
      expect(met.text).not.toContain("[DONE]");
      expect(met.error).toBe(how === "rst" ? "ECONNRESET" : undefined);
      expect(upstream.requests[0]).toMatchObject({ outcome: "cut", eventsSent: 1, billedNanoUsd: 77 });
    });
  }

  test("sends exact bytes, HTTP or not", async () => {
    const upstream = await simulator();
    upstream.next(writesRaw("SSH-2.0-nonsense\r\n", "fin"));
    expect((await raw(upstream)).text).toBe("SSH-2.0-nonsense\r\n");
    expect(upstream.requests[0]?.bytesSent).toBe(18);
  });

  test("can bill and then not answer, or close the connection", async () => {
    const upstream = await simulator();
    upstream.next(silent({ bills: 5 }), disconnects("rst", { bills: 6 }));
    const caller = new AbortController();
    const first = postChat(upstream, {}, { signal: caller.signal }).catch((error) => error.name);
    const request = await upstream.request(0);
    caller.abort();
    expect(await first).toBe("AbortError");
    expect(await request.ended).toBe("caller_gone");
    expect((await raw(upstream)).error).toBe("ECONNRESET");
    expect(upstream.billedNanoUsd()).toBe(11);
    expect(upstream.unfinished()).toBe(0);
  });
});

const postBody = JSON.stringify({ model: "vendor/flash", messages: [], stream: true });
const postHead = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${postBody.length}\r\n\r\n`;

/** One request on a separate socket; everything received until the connection ends, and the error with which it ended. */
function raw(
  upstream: Simulator,
  onText: (text: string) => void = () => undefined,
  parts: readonly string[] = [postHead, postBody],
): Promise<{ text: string; error: string | undefined }> {
  return new Promise((resolve) => {
    let text = "";
    let error: string | undefined;
    const socket = connect({ port: upstream.port, host: "127.0.0.1", noDelay: true });
    for (const part of parts) socket.write(part);
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("utf8");
      onText(text);
    });
    socket.on("error", (problem: NodeJS.ErrnoException) => {
      error = problem.code;
    });
    socket.on("close", () => resolve({ text, error }));
  });
}
