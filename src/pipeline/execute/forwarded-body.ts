import {
  type ChatMessage,
  type ChatRequest,
  gatewayMetadataKeys,
  isObject,
  type Json,
  type JsonObject,
} from "#domain/chat.ts";
import { memoizeByMessage, wholeMessage } from "#domain/message-memo.ts";
import type { Model } from "#domain/model.ts";
import { highestRates } from "#domain/money/prices.ts";
import { lowerLimits } from "#domain/output-limits.ts";
import { numberOf } from "#domain/raw-json.ts";
import type { Configuration } from "#pipeline/ports.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import { WithEmptyReasoning } from "#upstream/upstream.ts";

/**
 * The body to post upstream: the redacted request with the upstream's model id, without the gateway's own metadata
 * keys, with usage asked for, and bounded in output. Everything else, the order of keys too, is the caller's.
 * `redactedBody` is not changed.
 */
export function forwardedBody(
  request: ChatRequest,
  redactedBody: JsonObject,
  model: Model,
  outputBound: number,
  priceLimit?: PriceLimit,
  reasoning?: ReasoningRule,
): JsonObject {
  // A spread, because assigning key by key would take a key named `__proto__` for the prototype.
  const body: JsonObject = { ...redactedBody, model: model.upstreamId };
  if (reasoning !== undefined) body["messages"] = withToolTurnReasoning(reasoning, redactedBody);
  const { metadata } = body;
  if (isObject(metadata) && Object.keys(metadata).some((key) => gatewayMetadataKeys.has(key))) {
    const kept = Object.entries(metadata).filter(([key]) => !gatewayMetadataKeys.has(key));
    if (kept.length === 0) delete body["metadata"];
    else body["metadata"] = Object.fromEntries(kept);
  }
  if (model.refusesStreamOptions === true) delete body["stream_options"];
  else if (request.stream) {
    const options = body["stream_options"];
    body["stream_options"] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  const usage = body["usage"];
  // What a call has cost is asked for, also where the caller does not want to know.
  if (usage != null) body["usage"] = { ...(isObject(usage) ? usage : {}), include: true };
  boundOutput(body, model, outputBound);
  return withPriceLimit(body, priceLimit);
}

/**
 * Bounds the answer by the name that its host reads: `max_tokens`, beside whatever else was sent, unless the registry
 * says that the host takes one name only. Nothing asks for more than the model can write, because no more is held. 0 is
 * no limit to many.
 */
function boundOutput(body: JsonObject, { maxOutputTokens: most, outputLimit }: Model, outputBound: number): void {
  const limitOf = (name: string) => (Number(body[name]) > 0 ? Math.min(Number(body[name]), most) : undefined);
  const [older, newer] = [limitOf("max_tokens"), limitOf("max_completion_tokens")];
  const answer = Math.max(older ?? 0, newer ?? 0) || outputBound;
  if (outputLimit === undefined) {
    body["max_tokens"] = older ?? newer ?? outputBound;
    if (newer !== undefined) body["max_completion_tokens"] = newer;
    else if (body["max_completion_tokens"] === 0) delete body["max_completion_tokens"];
  } else {
    delete body[outputLimit === "max_tokens" ? "max_completion_tokens" : "max_tokens"];
    body[outputLimit] = Math.min(older ?? answer, newer ?? answer);
  }
  lowerLimits(body, most, answer);
}

/**
 * The most that a host may charge for a call to serve it: USD per million tokens, and per call. The aggregator applies
 * it to these prices alone, not to cache writes, reasoning priced apart, or web search.
 */
export interface PriceLimit {
  readonly prompt: number;
  readonly completion: number;
  readonly request: number;
}

/**
 * Whether calls to the model go with a limit: where the policy wants it, and somebody has confirmed the model's price.
 * A price that is only as old as the program could leave the model without a host.
 */
export function isPriceLimited({ priceSource }: Model, { priceLimit }: Configuration): boolean {
  return priceLimit === true && priceSource !== undefined && priceSource.kind !== "shipped";
}

/**
 * The prices that the hold of a call is made of, as a limit; undefined where none is sent. Where the policy allows a
 * field with a price factor, the hold contains that multiple of the price of tokens, and so does the limit.
 */
export function priceLimitOf(model: Model, size: RequestSize, configuration: Configuration): PriceLimit | undefined {
  if (!isPriceLimited(model, configuration)) return undefined;
  const { input, output, request } = highestRates(model.price, size.inputTokensBound);
  const factor = size.surcharge?.factor ?? 1;
  return { prompt: inUsd(input * factor), completion: inUsd(output * factor), request: inUsd((request ?? 0) * factor) };
}

/** The body with the limit in its `provider`: a caller's own lower limits and all its other wishes stay. */
export function withPriceLimit(body: JsonObject, limit: PriceLimit | undefined): JsonObject {
  if (limit === undefined) return body;
  const provider = isObject(body["provider"]) ? body["provider"] : {};
  const wished = isObject(provider["max_price"]) ? provider["max_price"] : {};
  const max_price: JsonObject = { ...wished };
  for (const name of ["prompt", "completion", "request"] as const) max_price[name] = lower(wished[name], limit[name]);
  return { ...body, provider: { ...provider, max_price } };
}

/** A caller's limit, as a number or decimal text, where it is one and lower than ours. */
function lower(wished: Json | undefined, ours: number): Json {
  const own = numberOf(wished);
  return own !== undefined && own >= 0 && own < ours ? (wished ?? ours) : ours;
}

function inUsd(nano: number): number {
  return nano / 1_000_000_000;
}

type ReasoningRule = NonNullable<Configuration["wantedReasoning"]> | "refused";

/** The rule for a model's messages; undefined where they go out as they were received. */
export function toolTurnRule({ toolTurnReasoning: rule }: Model, { wantedReasoning }: Configuration) {
  return rule === "auto" ? wantedReasoning : rule;
}

/** The messages of a body with the reasoning that the model insists on, or without what it refuses; the same list if none changes. */
function withToolTurnReasoning(rule: ReasoningRule, { messages, tools }: JsonObject): ChatMessage[] {
  const received = messages as ChatMessage[]; // validated at the edge
  const offersTools = Array.isArray(tools) && tools.length > 0;
  let changed: ChatMessage[] | undefined;
  for (const [index, message] of received.entries()) {
    if (message.role !== "assistant") continue;
    const after = rule === "refused" ? withoutReasoning(message) : withReasoning(message, offersTools, rule);
    if (after === message) continue;
    changed ??= [...received];
    changed[index] = after;
  }
  return changed ?? received;
}

/** What is known of the reasoning in an assistant message. */
const reasoningIn = memoizeByMessage((message) => ({
  calls: Array.isArray(message["tool_calls"]) && message["tool_calls"].length > 0,
  content:
    message["reasoning_content"] === undefined ? "absent" : message["reasoning_content"] === null ? "null" : "text",
  /** Under the names of an aggregator, which translates it for the host. */
  other: message["reasoning"] != null || message["reasoning_details"] != null,
}));

/** Hosts want it in each message of a run with tools, also in those that call none. */
function withReasoning(message: ChatMessage, offersTools: boolean, rule: ReasoningRule): ChatMessage {
  const { calls, content, other } = reasoningIn(message);
  if (content === "text" || (other && rule === "any_name") || !(calls || offersTools)) return message;
  if (content === "null" || other) {
    const whole = wholeMessage(message);
    const { reasoning } = whole;
    return { ...whole, reasoning_content: typeof reasoning === "string" ? reasoning : "" };
  }
  // It stands for a message: the few who read the body behind this point serialize it.
  return new WithEmptyReasoning(message) as unknown as ChatMessage;
}

function withoutReasoning(message: ChatMessage): ChatMessage {
  const { content, other } = reasoningIn(message);
  if (content === "absent" && !other) return message;
  const { reasoning: _, reasoning_content: __, reasoning_details: ___, ...rest } = wholeMessage(message);
  return rest as ChatMessage; // the role stays
}
