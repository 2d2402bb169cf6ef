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
import { errorOf } from "#domain/errors.ts";
import type { Alias } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import { gatewayFields, noMetadata } from "./gateway-fields.ts";
import type { MessageCache } from "./message-cache.ts";
import { cacheValues, type ReceivedJson, receivedBody, receiveJson, withRawNumbers } from "./received-json.ts";
import type { Metadata } from "./schema.ts";
import { infiniteNumber, type Problem, problemOfFields, problemOfMessages, refused } from "./validate.ts";

export interface ChatInput {
  /** The body as received; not changed while the request lasts. */
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  readonly requestId: string;
  readonly receivedAtMs: number;
  /** What is known of messages of earlier requests, where anything is kept. */
  readonly cache?: MessageCache;
  /** The line of the caller's token, where it has a label. */
  readonly key?: CallerKey | undefined;
}

export type ParsedChat = { readonly kind: "ok"; readonly request: ChatRequest } | Problem;

/**
 * A chat request from its body and headers. A body of an unsupported shape (not JSON, not an object, content other than
 * text) is refused with 400 before anything that is merely wrong, which gives 422. `null` counts as absent.
 */
export function parseChatRequest(input: ChatInput): ParsedChat {
  const { bytes, cache } = input;
  const json = receiveJson(bytes, cache);
  if ("status" in json) return json;
  const { value } = json;
  if (!isObject(value)) return refused(errorOf("invalid_request.no_object", { of: "" }));
  const problem = problemOfBody(value, json);
  if (problem !== undefined) return { ...problem, ...modelIn(value) };
  const routing = gatewayFields((value["metadata"] ?? noMetadata) as z.infer<typeof Metadata>, input.headers); // checked above
  if ("status" in routing) return { ...routing, ...modelIn(value) };
  const body = withRawNumbers(json) as Checked; // checked above, field by field
  if (cache !== undefined) cacheValues(json, body, cache);
  return { kind: "ok", request: chatRequest(body, json, input, routing) };
}

function modelIn({ model }: JsonObject): { readonly model?: string } {
  return typeof model === "string" ? { model } : {};
}

/** What is wrong with a body, in the order in which it is to be named. */
function problemOfBody(body: JsonObject, json: ReceivedJson): Problem | undefined {
  if (json.isInfinite) return infiniteNumber(body);
  const messages = problemOfMessages(body["messages"], json.outline.messages);
  if (messages?.status === 400) return messages;
  return problemOfFields(body) ?? messages;
}

/** What the checks have established. */
type Checked = JsonObject & { model: Alias; messages: ChatMessage[] };

function chatRequest(body: Checked, json: ReceivedJson, input: ChatInput, routing: GatewayFields): ChatRequest {
  const received = receivedBody(json, body);
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
