import { afterEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "./simulator.ts";

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

  // What agents call they execute: words of the ask must not become a command.
  const bash = {
    type: "function",
    function: {
      name: "run_bash_command",
      parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
    },
  };
  test.each([
    ["Explain `rm -rf build`, do not run it.", undefined, 0],
    ["Run the bash command `rm -rf build`.", undefined, 0],
    ["run_bash_command", "auto", 0],
    ["Run the tests with bash.", "none", 0],
    ["Run `rm -rf build`.", "required", 1],
    ["Run `rm -rf build`.", { type: "function", function: { name: "run_bash_command" } }, 1],
    ["Run `rm -rf build`.", { type: "function", function: { name: "another" } }, 0],
  ])("%j with tool_choice %j makes %d tool calls, and never with words of the ask", async (content, choice, calls) => {
    const response = await postChat(await simulator(), {
      messages: [{ role: "user", content }],
      tools: [bash],
      ...(choice === undefined ? {} : { tool_choice: choice }),
    });
    const { message, finish_reason }: Answer = ((await response.json()) as Answer).choices[0];
    expect([message.tool_calls?.length ?? 0, finish_reason]).toEqual([calls, calls > 0 ? "tool_calls" : "stop"]);
    if (calls > 0) expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({ command: "simulated" });
  });
});
