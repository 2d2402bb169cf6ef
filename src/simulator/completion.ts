import type { Json, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { formatUsd, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { priceWithCacheWrites } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { Random } from "#platform/time.ts";
import { type AnswerContent, objectOr } from "./persona.ts";

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

export function completionOf(
  body: JsonObject,
  said: AnswerContent,
  model: Model,
  nowMs: number,
  random: Random,
  ownAccount = false,
): Completion {
  const bound = outputBound(body) ?? model.defaultOutputTokens;
  const choices = typeof body["n"] === "number" ? Math.min(8, Math.max(1, Math.trunc(body["n"]))) : 1;
  const reasoning = tokensOf(said.reasoning).slice(0, bound);
  const stopped = cutAtStop(said.text, body["stop"]);
  const allText = tokensOf(stopped);
  const text = allText.slice(0, bound - reasoning.length);
  const toolCalls = said.toolCalls.map((call) => ({
    id: `call_${identifier(random, 20)}`,
    name: call.name,
    arguments: tokensOf(call.arguments),
  }));
  const toolTokens = toolCalls.reduce((sum, call) => sum + call.arguments.length + 4, 0);
  const usage = {
    ...promptTokensOf(body),
    output: choices * Math.min(bound, reasoning.length + text.length + toolTokens),
    reasoning: choices * reasoning.length,
  };
  const price = asksForCacheWrites(body) ? priceWithCacheWrites(model.price) : model.price;
  const cost = costOf(usage, price, { fromMs: nowMs, toMs: nowMs });
  const fee = ownAccount ? Math.ceil(cost * ownAccountFee) : 0;
  return {
    id: `gen-${Math.floor(nowMs / 1000)}-${identifier(random, 20)}`,
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
  const { toolCalls } = completion;
  const reasoning = completion.reasoning.join("");
  const message = {
    role: "assistant",
    content: toolCalls.length > 0 ? null : completion.text.join(""),
    refusal: null,
    reasoning: reasoning === "" ? null : reasoning,
    ...(reasoning === "" ? {} : { reasoning_details: [thought(reasoning)] }),
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map((call, index) => ({
            index,
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: call.arguments.join("") },
          })),
        }),
  };
  return {
    ...envelope(completion, "chat.completion"),
    system_fingerprint: null,
    choices: each(completion, (index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: completion.finishReason,
      native_finish_reason: completion.finishReason,
    })),
    usage: usageOf(completion),
  };
}

/** The chunks of a stream, in order: reasoning, text or tool calls, the finish, and usage with no choices. */
export function* chunksOf(completion: Completion): Generator<JsonObject> {
  for (const token of completion.reasoning)
    yield deltaChunk(completion, {
      role: "assistant",
      content: "",
      reasoning: token,
      reasoning_details: [thought(token)],
    });
  for (const token of completion.text) yield deltaChunk(completion, { role: "assistant", content: token });
  for (const [index, call] of completion.toolCalls.entries()) {
    const opening = { index, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    yield deltaChunk(completion, { role: "assistant", content: null, tool_calls: [opening] });
    for (const token of call.arguments)
      yield deltaChunk(completion, {
        role: "assistant",
        content: null,
        tool_calls: [{ index, type: "function", function: { arguments: token } }],
      });
  }
  yield deltaChunk(completion, { role: "assistant", content: "" }, completion.finishReason);
  yield { ...envelope(completion, "chat.completion.chunk"), choices: [], usage: usageOf(completion) };
}

function deltaChunk(completion: Completion, delta: JsonObject, finishReason: string | null = null): JsonObject {
  return {
    ...envelope(completion, "chat.completion.chunk"),
    choices: each(completion, (index) => ({
      index,
      delta,
      finish_reason: finishReason,
      native_finish_reason: finishReason,
      logprobs: null,
    })),
  };
}

function envelope(completion: Completion, object: string): JsonObject {
  return {
    id: completion.id,
    provider: "Simulated",
    model: completion.model.upstreamId,
    object,
    created: completion.created,
  };
}

function each(completion: Completion, choice: (index: number) => JsonObject): JsonObject[] {
  return Array.from({ length: completion.choices }, (_, index) => choice(index));
}

function thought(text: string): JsonObject {
  return { type: "reasoning.text", text, format: "unknown", index: 0 };
}

/** Tokens and cost as the aggregator writes them, cost in USD as a JSON number. */
function usageOf({ usage, cost, hostCost, model }: Completion): JsonObject {
  const usd = (amount: NanoUsd) => Number(formatUsd(amount));
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    cost: usd(nanoUsd(cost - (hostCost ?? 0))),
    is_byok: hostCost !== undefined,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInput,
      ...(usage.cacheWrite === undefined ? {} : { cache_write_tokens: usage.cacheWrite }),
      audio_tokens: 0,
    },
    cost_details: {
      upstream_inference_cost: hostCost === undefined ? null : usd(hostCost),
      upstream_inference_prompt_cost: usd(costOf({ ...usage, output: 0 }, model.price)),
      upstream_inference_completions_cost: usd(costOf({ ...usage, input: 0, cachedInput: 0 }, model.price)),
    },
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
export function promptTokensOf(body: JsonObject): { input: number; cachedInput: number; cacheWrite?: number } {
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
function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,7}|\s+$/gu) ?? [];
}

function cutAtStop(text: string, stop: Json | undefined): string {
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((value) => typeof value === "string" && value !== "");
  const ends = stops.map((value) => text.indexOf(String(value))).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function identifier(random: Random, length: number): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)] ?? "x").join("");
}
