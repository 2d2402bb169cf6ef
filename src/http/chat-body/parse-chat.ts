import { isUtf8 } from "node:buffer";
import type { z } from "zod";
import {
  type CallerKey,
  type ChatMessage,
  type ChatRequest,
  type GatewayFields,
  isObject,
  type Json,
  type JsonObject,
} from "#domain/chat.ts";
import { keepOddNumbers } from "#domain/raw-json.ts";
import type { Alias } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import { gatewayFields, noMetadata } from "./gateway-fields.ts";
import { type Outline, outlineOf } from "./outline.ts";
import type { PieceCache } from "./piece-cache.ts";
import { parseReceived, ReceivedJson } from "./received-json.ts";
import type { Metadata } from "./schema.ts";
import {
  infiniteNumber,
  type Problem,
  problemOfFields,
  problemOfMessages,
  problemOfMetadata,
  problemOfModel,
  refused,
} from "./validate.ts";

/**
 * The check of `POST /v1/chat/completions` on the hot path, written by hand: a coding agent's body of hundreds of messages is
 * checked at every turn. The published schema is `ChatCompletionsBody`; a property test holds the two to the same verdict.
 */

/** Deepest nesting of objects and arrays that a body may have. */
export const maxJsonDepth = 64;

export interface ChatInput {
  /** The body as received; not changed while the request lasts. */
  readonly bytes: Uint8Array;
  /** Most JSON values that it may hold. */
  readonly maxValues: number;
  readonly headers: Headers;
  readonly requestId: string;
  readonly receivedAtMs: number;
  /** What is known of messages of earlier requests, where anything is kept. */
  readonly cache?: PieceCache;
  /** The line of the caller's token, where it has a label. */
  readonly key?: CallerKey | undefined;
}

export type ParsedChat = { readonly kind: "ok"; readonly request: ChatRequest } | Problem;

/** Smaller bodies are parsed and scanned in less time than it takes to look for their messages. */
const minCachedBytes = 2_048;

/**
 * A chat request from its body and headers. A body of an unsupported shape (not JSON, not an object, content other than
 * text) is refused with 400 before anything that is merely wrong, which gives 422. `null` counts as absent.
 */
export function parseChatRequest(input: ChatInput): ParsedChat {
  const { bytes, maxValues } = input;
  const cache = bytes.length < minCachedBytes ? undefined : input.cache;
  const outline = outlineOf(bytes, { depth: maxJsonDepth, values: maxValues }, cache);
  if (outline === "too_deep") return refused(400, undefined, `The body nests deeper than ${maxJsonDepth} levels.`);
  if (outline === "too_many_values") return refused(413, undefined, tooManyValues(maxValues));
  if (outline === "not_json") return refused(400, undefined, notJson(bytes));
  let value: unknown;
  try {
    value = parseReceived(bytes, outline);
  } catch {
    return refused(400, undefined, notJson(bytes));
  }
  if (!isObject(value)) return refused(400, undefined, "The body must be a JSON object.");
  const json = new ReceivedJson(bytes, outline, value);
  const problem = problemOfBody(value, json, outline);
  if (problem !== undefined) return problem;
  const routing = gatewayFields((value["metadata"] ?? noMetadata) as z.infer<typeof Metadata>, input.headers); // checked above
  if ("status" in routing) return routing;
  const body = (json.hasOddNumbers ? withOddNumbers(value, bytes, outline) : value) as Checked; // checked above, field by field
  if (cache !== undefined) json.remember(cache, body);
  return { kind: "ok", request: chatRequest(body, json, input, routing) };
}

/** What is wrong with a body, in the order in which it is to be named. */
function problemOfBody(body: JsonObject, json: ReceivedJson, outline: Outline): Problem | undefined {
  if (json.isInfinite) return infiniteNumber(body);
  const messages = problemOfMessages(body["messages"], outline.messages);
  if (messages?.status === 400) return messages;
  return problemOfModel(body["model"]) ?? messages ?? problemOfFields(body) ?? problemOfMetadata(body["metadata"]);
}

/** The body with its odd numbers as they are written, but for its own: these are read as numbers, and sent on as they came. */
function withOddNumbers(body: JsonObject, bytes: Uint8Array, outline: Outline): JsonObject {
  const exact = parseReceived(bytes, outline, keepOddNumbers) as JsonObject; // as it was before
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (typeof value === "number") exact[key] = value;
  }
  return exact;
}

/** Why bytes are refused that do not parse. The parser's message quotes the body, so it stays with the parser. */
export function notJson(bytes: Uint8Array): string {
  return isUtf8(bytes) ? "The body is not valid JSON." : "The body is not valid JSON: it is not UTF-8.";
}

/** Why a body of too many values is refused. */
export function tooManyValues(maxValues: number): string {
  return `The body holds more than ${maxValues} JSON values: objects, arrays, texts and numbers (MAX_REQUEST_VALUES).`;
}

/** What the checks have established. */
type Checked = JsonObject & { model: Alias; messages: ChatMessage[] };

function chatRequest(body: Checked, json: ReceivedJson, input: ChatInput, routing: GatewayFields): ChatRequest {
  const received = json.receivedBody(body);
  const request: Writable<ChatRequest> = {
    requestId: input.requestId,
    alias: body.model,
    stream: body["stream"] === true,
    caller: Bun.hash.xxHash32(input.headers.get("authorization") ?? ""),
    body,
    bodyBytes: input.bytes.length,
    // Many servers take a limit of 0 for no limit, so it is none that money could be held for.
    requestedOutputTokens: largerOf(body["max_completion_tokens"], body["max_tokens"]) || null,
    choices: largerOf(body["n"], body["best_of"]) ?? 1,
    // `usage.include` is how OpenRouter's own clients ask.
    wantsUsage: isTrueIn(body["stream_options"], "include_usage") || isTrueIn(body["usage"], "include"),
    routing,
    receivedAtMs: input.receivedAtMs,
  };
  if (received !== undefined) request.received = received;
  if (json.writesCache) request.writesCache = true;
  if (input.key !== undefined) request.key = input.key;
  return request;
}

function isTrueIn(options: Json | undefined, name: string): boolean {
  return isObject(options) && options[name] === true;
}

/** The larger of those that are numbers; null when none is. */
function largerOf(a: Json | undefined, b: Json | undefined): number | null {
  if (typeof a !== "number") return typeof b === "number" ? b : null;
  return typeof b === "number" ? Math.max(a, b) : a;
}
