import type { z } from "zod";
import {
  type ChatMessage,
  type ChatRequest,
  type GatewayFields,
  isObject,
  type Json,
  type JsonObject,
} from "#domain/chat.ts";
import type { Alias } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import { JsonOutline } from "#http/request/json-outline.ts";
import {
  type JsonShape,
  maxJsonDepth,
  quoteLongIntegers,
  shapeOfJson,
  shapeOfJsonInSteps,
  startsTooDeep,
} from "#http/request/json-shape.ts";
import { largeBodyBytes, runAtOnce, runInTurns } from "#platform/event-loop-turns.ts";
import { parseJsonInSteps } from "#platform/json/json-in-steps.ts";
import { infiniteNumber, problemOfFields, problemOfModel } from "./fields.ts";
import { gatewayFields, noMetadata } from "./gateway-fields.ts";
import { problemOfMessages } from "./messages.ts";
import { problemOfMetadata } from "./metadata.ts";
import { type Problem, refused } from "./problem.ts";
import type { Metadata } from "./schema.ts";

/**
 * The check of `POST /v1/chat/completions` on the hot path, written by hand: a coding agent's body of hundreds of messages is
 * checked at every turn. The published schema is `ChatCompletionsBody`; a property test holds the two to the same verdict.
 */

export interface ChatInput {
  /** The body, decoded. */
  readonly text: string;
  /** Its size as received, in bytes. */
  readonly bytes: number;
  /** The bytes themselves, where they are there; not changed while the request lasts. */
  readonly received?: Uint8Array;
  /** Most JSON values that it may hold. */
  readonly maxValues: number;
  readonly headers: Headers;
  readonly requestId: string;
  readonly receivedAtMs: number;
}

export type ParsedChat = { readonly kind: "ok"; readonly request: ChatRequest } | Problem;

/**
 * A chat request from its body and headers. A body of an unsupported shape (not JSON, not an object, content other than
 * text) is refused with 400 before anything that is merely wrong, which gives 422. `null` counts as absent.
 */
export function parseChatRequest(input: ChatInput): ParsedChat {
  const { text, received } = input;
  const outline = received !== undefined && isOutlined(received) ? new JsonOutline(text) : undefined;
  const shape = shapeOfJson(text, maxJsonDepth, input.maxValues, outline);
  const problem = problemOfShape(shape, input);
  if (problem !== undefined) return problem;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return notJson();
  }
  const parsed = checkedRequest(body, shape, input);
  if (parsed.kind === "refused") return parsed;
  const { request } = parsed;
  if (shape.longIntegers) {
    const spelled = JSON.parse(runAtOnce(quoteLongIntegers(text))) as Json; // it was JSON before
    return { kind: "ok", request: { ...request, spelled } };
  }
  if (received === undefined || outline === undefined) return parsed;
  const source = outline.receivedBody(received, request.body);
  return source === undefined ? parsed : { kind: "ok", request: { ...request, received: source } };
}

/** The same for a large body, in turns of the event loop. */
export function parseLargeChatRequest(input: ChatInput): Promise<ParsedChat> {
  return runInTurns(parsingInSteps(input));
}

function* parsingInSteps(input: ChatInput): Generator<undefined, ParsedChat> {
  const { text } = input;
  const shape = yield* shapeOfJsonInSteps(text, maxJsonDepth, input.maxValues);
  const problem = problemOfShape(shape, input);
  if (problem !== undefined) return problem;
  yield;
  let body: unknown;
  try {
    body = yield* parseJsonInSteps(text);
  } catch {
    return notJson();
  }
  yield;
  const parsed = checkedRequest(body, shape, input);
  if (parsed.kind === "refused" || !shape.longIntegers) return parsed;
  yield;
  const quoted = yield* quoteLongIntegers(text);
  yield;
  const spelled = (yield* parseJsonInSteps(quoted)) as Json; // it was JSON before
  yield;
  return { kind: "ok", request: { ...parsed.request, spelled } };
}

/** What is wrong with a body before it is parsed. */
function problemOfShape(shape: JsonShape, { text, maxValues }: ChatInput): Problem | undefined {
  if (shape.tooDeep || (shape.tooManyValues && startsTooDeep(text))) return tooDeep();
  return shape.tooManyValues ? refused(413, undefined, tooManyValues(maxValues)) : undefined;
}

/** The request of a parsed body, but for its numbers as they are spelled and the bytes it came in. */
function checkedRequest(body: unknown, shape: JsonShape, input: ChatInput): ParsedChat {
  if (!isObject(body)) return refused(400, undefined, "The body must be a JSON object.");
  if (shape.infinite) return infiniteNumber(body);
  const messages = problemOfMessages(body["messages"]);
  if (messages?.status === 400) return messages;
  const problem =
    problemOfModel(body["model"]) ?? messages ?? problemOfFields(body) ?? problemOfMetadata(body["metadata"]);
  if (problem !== undefined) return problem;
  const routing = gatewayFields((body["metadata"] ?? noMetadata) as z.infer<typeof Metadata>, input.headers); // checked above
  if ("status" in routing) return routing;
  return { kind: "ok", request: chatRequest(body as Checked, input, shape, routing) }; // checked above, field by field
}

/** The parser's message quotes the body, so it stays with the parser. */
function notJson(): Problem {
  return refused(400, undefined, "The body is not valid JSON.");
}

function tooDeep(): Problem {
  return refused(400, undefined, `The body nests deeper than ${maxJsonDepth} levels.`);
}

/** Why a body of too many values is refused. */
export function tooManyValues(maxValues: number): string {
  return `The body holds more than ${maxValues} JSON values: objects, arrays, texts and numbers (MAX_REQUEST_VALUES).`;
}

/** Smaller bodies are written anew in less time than it takes to find their members. Larger ones are written in steps. */
function isOutlined({ length }: Uint8Array): boolean {
  return length >= 16_384 && length <= largeBodyBytes;
}

/** What the checks have established. */
type Checked = JsonObject & { model: Alias; messages: ChatMessage[] };

/** `1e20` is written anew as 100000000000000000000: no number grows by more bytes than this. */
const maxExpansion = 24;

function chatRequest(body: Checked, input: ChatInput, shape: JsonShape, routing: GatewayFields): ChatRequest {
  const request: Writable<ChatRequest> = {
    requestId: input.requestId,
    alias: body.model,
    stream: body["stream"] === true,
    caller: Bun.hash.xxHash32(input.headers.get("authorization") ?? ""),
    body,
    bodyBytes: input.bytes + shape.exponents * maxExpansion,
    // Many servers take a limit of 0 for no limit, so it is none that money could be held for.
    requestedOutputTokens: largerOf(body["max_completion_tokens"], body["max_tokens"]) || null,
    choices: largerOf(body["n"], body["best_of"]) ?? 1,
    // `usage.include` is how OpenRouter's own clients ask.
    wantsUsage: isTrueIn(body["stream_options"], "include_usage") || isTrueIn(body["usage"], "include"),
    routing,
    receivedAtMs: input.receivedAtMs,
  };
  if (shape.cacheControl) request.writesCache = true;
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
