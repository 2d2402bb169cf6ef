import type { Json, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { priceWithCacheWrites } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { Random } from "#platform/time.ts";
import { type AnswerContent, objectOr } from "./simulated-answer.ts";

/** An answer in the aggregator's format: the JSON of a whole one, the chunks of a stream, tokens and cost. */
export interface Completion {
  readonly id: string;
  readonly created: number;
  readonly model: Model;
  readonly choices: number;
  /** Cut into tokens; the output bound has been applied. */
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: readonly string[] }[];
  readonly finishReason: "stop" | "length" | "tool_calls";
  readonly usage: TokenUsage;
  /** Its whole cost, whoever charges it. */
  readonly cost: NanoUsd;
  /** Of that, what the model's host charges to the caller's own account with it (`is_byok`); absent: nothing. */
  readonly hostCost?: NanoUsd;
}

/** What the aggregator charges for a call on the caller's own account with the host: a share of the host's price. */
const ownAccountFee = 0.05;

export function createCompletion(
  body: JsonObject,
  said: AnswerContent,
  model: Model,
  { now, random, ownAccount }: { now: () => number; random: Random; ownAccount: boolean },
): Completion {
  const nowMs = now();
  const bound = outputBound(body) ?? model.defaultOutputTokens;
  const choices = typeof body["n"] === "number" ? Math.min(8, Math.max(1, Math.trunc(body["n"]))) : 1;
  const reasoning = splitTokens(said.reasoning).slice(0, bound);
  const stopped = cutAtStop(said.text, body["stop"]);
  const allText = splitTokens(stopped);
  const text = allText.slice(0, bound - reasoning.length);
  const toolCalls = said.toolCalls.map((call) => ({
    id: `call_${randomId(random, 20)}`,
    name: call.name,
    arguments: splitTokens(call.arguments),
  }));
  const toolTokens = toolCalls.reduce((sum, call) => sum + call.arguments.length + 4, 0);
  const usage = {
    ...countPromptTokens(body),
    output: choices * Math.min(bound, reasoning.length + text.length + toolTokens),
    reasoning: choices * reasoning.length,
  };
  const price = asksForCacheWrites(body) ? priceWithCacheWrites(model.price) : model.price;
  const cost = costOf(usage, price, { fromMs: nowMs, toMs: nowMs });
  const fee = ownAccount ? Math.ceil(cost * ownAccountFee) : 0;
  return {
    id: `gen-${Math.floor(nowMs / 1000)}-${randomId(random, 20)}`,
    created: Math.floor(nowMs / 1000),
    model,
    choices,
    reasoning,
    text,
    toolCalls,
    finishReason: toolCalls.length > 0 ? "tool_calls" : text.length < allText.length ? "length" : "stop",
    usage,
    cost: nanoUsd(cost + fee),
    ...(ownAccount ? { hostCost: cost } : {}),
  };
}

export function wholeAnswer(completion: Completion): JsonObject {
  const { toolCalls, finishReason } = completion;
  const reasoning = completion.reasoning.join("");
  const message = {
    role: "assistant",
    content: toolCalls.length > 0 ? null : completion.text.join(""),
    refusal: null,
    reasoning: reasoning === "" ? null : reasoning,
    ...(reasoning === "" ? {} : { reasoning_details: [thought(reasoning)] }),
    ...(toolCalls.length === 0
      ? {}
      : { tool_calls: toolCalls.map((call, index) => toolCall(index, call, call.arguments.join(""))) }),
  };
  const whole = answer(completion, "chat.completion", { message }, finishReason);
  // The aggregator's own client demands the fingerprint.
  return { ...whole, system_fingerprint: null, usage: usageField(completion) };
}

/** The chunks of a stream, in order: reasoning, text or tool calls, the finish, and usage with no choices. */
export function* completionChunks(completion: Completion): Generator<JsonObject> {
  const chunk = (delta: JsonObject, finishReason: string | null = null) =>
    answer(completion, "chat.completion.chunk", { delta: { role: "assistant", ...delta } }, finishReason);
  for (const token of completion.reasoning) {
    yield chunk({ content: "", reasoning: token, reasoning_details: [thought(token)] });
  }
  for (const token of completion.text) yield chunk({ content: token });
  for (const [index, call] of completion.toolCalls.entries()) {
    yield chunk({ content: null, tool_calls: [toolCall(index, call, "")] });
    for (const token of call.arguments) {
      yield chunk({ content: null, tool_calls: [{ index, type: "function", function: { arguments: token } }] });
    }
  }
  yield chunk({ content: "" }, completion.finishReason);
  yield { ...chunk({}), choices: [], usage: usageField(completion) };
}

/** An answer or a chunk; each of its choices says the same. */
function answer(completion: Completion, object: string, said: JsonObject, finishReason: string | null): JsonObject {
  const { id, model, created, choices } = completion;
  return {
    id,
    provider: "Simulated",
    model: model.upstreamId,
    object,
    created,
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      ...said,
      finish_reason: finishReason,
      native_finish_reason: finishReason,
      logprobs: null,
    })),
  };
}

function toolCall(index: number, { id, name }: { id: string; name: string }, args: string): JsonObject {
  return { index, id, type: "function", function: { name, arguments: args } };
}

function thought(text: string): JsonObject {
  return { type: "reasoning.text", text, format: "unknown", index: 0 };
}

/** Tokens and cost as the aggregator writes them, cost in USD as a JSON number. */
function usageField({ usage, cost, hostCost }: Completion): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    cost: (cost - (hostCost ?? 0)) / 1e9,
    is_byok: hostCost !== undefined,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInput,
      ...(usage.cacheWrite === undefined ? {} : { cache_write_tokens: usage.cacheWrite }),
    },
    // Official clients demand more of these details where they are present, so they are only where they say something.
    ...(hostCost === undefined ? {} : { cost_details: { upstream_inference_cost: hostCost / 1e9 } }),
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function outputBound(body: JsonObject): number | undefined {
  const bound = body["max_completion_tokens"] ?? body["max_tokens"];
  return typeof bound === "number" ? Math.max(1, Math.trunc(bound)) : undefined;
}

/**
 * Four bytes a token, as in English prose, which stays far below the byte-level bound that the gateway holds money for.
 * From the second turn of a conversation on, three quarters of it are cached, in blocks of 64 tokens; what is not is
 * written to the cache where `cache_control` asks for it.
 */
export function countPromptTokens(body: JsonObject): { input: number; cachedInput: number; cacheWrite?: number } {
  const messages = Array.isArray(body["messages"]) ? body["messages"] : [];
  const tools = body["tools"] === undefined ? "" : JSON.stringify(body["tools"]);
  const input = Math.ceil((Buffer.byteLength(JSON.stringify(messages)) + Buffer.byteLength(tools)) / 4);
  const laterTurn = messages.some((message) => objectOr(message)?.["role"] === "assistant");
  const cachedInput = laterTurn ? Math.floor((input * 0.75) / 64) * 64 : 0;
  return { input, cachedInput, ...(asksForCacheWrites(body) ? { cacheWrite: input - cachedInput } : {}) };
}

function asksForCacheWrites(body: JsonObject): boolean {
  return JSON.stringify(body).includes('"cache_control":');
}

/** Words with the space before them, long ones in pieces: about what a tokenizer makes of prose. */
function splitTokens(text: string): string[] {
  return text.match(/\s+\S{0,7}|\S{1,7}/gu) ?? [];
}

function cutAtStop(text: string, stop: Json | undefined): string {
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((value) => typeof value === "string" && value !== "");
  const ends = stops.map((value) => text.indexOf(String(value))).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function randomId(random: Random, length: number): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)] ?? "x").join("");
}
