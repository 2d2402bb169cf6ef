import type { ChatMessage, ChatRequest, GatewayFields, JsonObject } from "#domain/chat.ts";
import type { Alias } from "#domain/routing.ts";
import { aPolicy } from "#pipeline/decide/fixtures.ts";
import { inMemoryTaskMemory, type TaskMemory } from "#pipeline/task/task-memory.ts";
import { type Assessment, assess } from "./assess.ts";

/** What the tests of this folder send. Everything has a default, so that a test says only what it is about. */
export interface Sent {
  readonly messages?: readonly JsonObject[];
  readonly ask?: string;
  readonly alias?: Alias;
  readonly routing?: Partial<GatewayFields>;
  readonly tools?: readonly string[];
  readonly redactions?: number;
  readonly requestId?: string;
  readonly outputTokens?: number | null;
  readonly now?: number;
}

export const policy = aPolicy();

export function newMemory(): TaskMemory {
  return inMemoryTaskMemory();
}

export function assessed(sent: Sent, memory: TaskMemory = newMemory()): Assessment {
  const request = requestOf(sent);
  return assess(request, request.body, memory, { now: sent.now ?? 0, policy, redactions: sent.redactions ?? 0 });
}

function requestOf(sent: Sent): ChatRequest {
  const { messages, ask = "hello", alias = "smart-router", routing, tools, requestId = "req-1", outputTokens } = sent;
  const body = {
    messages: (messages ?? [{ role: "user", content: ask }]) as ChatMessage[], // test input, shaped by hand
    ...(tools && { tools: tools.map((name) => ({ type: "function", function: { name } })) }),
  };
  return {
    requestId,
    alias,
    stream: false,
    caller: 0,
    body,
    bodyBytes: Buffer.byteLength(JSON.stringify(body)),
    requestedOutputTokens: outputTokens ?? null,
    choices: 1,
    wantsUsage: false,
    routing: { forcePro: false, scoutFirst: false, taskFields: {}, ...routing },
    receivedAtMs: 0,
  };
}

let calls = 0;

/** One step of an agent's run: an assistant's tool call and what the tool gave back. */
export function step(name: string, args: JsonObject | string, result: string): JsonObject[] {
  const id = `call_${++calls}`;
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return [
    { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: text } }] },
    { role: "tool", tool_call_id: id, content: result },
  ];
}
