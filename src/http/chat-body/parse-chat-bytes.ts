import type { ChatMessage, ChatRequest, Json, JsonObject, MemberRange } from "#domain/chat.ts";
import { lazyMember } from "#domain/received/known-members.ts";
import { lazyMessages } from "#domain/received/known-messages.ts";
import { decodeUtf8 } from "#http/request/read-body.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import type { BodyMemory, KnownParts } from "./memory/body-memory.ts";
import type { KnownBeginning } from "./memory/message-memory.ts";
import type { PlacedTools } from "./memory/tools-memory.ts";
import { type ChatInput, type ParsedChat, parseChatRequest, parseLargeChatRequest } from "./parse-chat.ts";
import { refused } from "./problem.ts";
import { type WithoutKnownParts, withoutKnownParts } from "./without-known-parts.ts";
import { inWholeBody, putTextsBack, withoutLongTexts } from "./without-long-texts.ts";

export interface ChatBytes extends Pick<ChatInput, "maxValues" | "headers" | "requestId" | "receivedAtMs"> {
  /** The body as received; not changed while the request lasts. */
  readonly bytes: Uint8Array;
}

/**
 * A chat request from the bytes of its body and its headers. Of messages that an earlier request began with, only those are parsed
 * that somebody looks at, and tools that an earlier request had only if somebody does: an agent sends all of them with every turn.
 */
export function parseChatBytes(input: ChatBytes, memory: BodyMemory): ParsedChat | Promise<ParsedChat> {
  const { bytes } = input;
  const isLarge = bytes.length > largeBodyBytes;
  const known = isLarge ? undefined : memory.partsOf(bytes);
  const request = known === undefined ? undefined : requestWith(known, input);
  if (request?.received !== undefined) {
    memory.remember(request.received, known);
    return { kind: "ok", request };
  }
  const inParts = isLarge || bytes.length < minPartedBytes ? undefined : parsedInParts(input);
  if (inParts !== undefined) {
    if (inParts.received !== undefined) memory.remember(inParts.received);
    return { kind: "ok", request: inParts };
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) return refused(400, undefined, "The body is not valid JSON: it is not UTF-8.");
  const whole: ChatInput = { ...input, text, bytes: bytes.length, received: bytes };
  if (isLarge) return parseLargeChatRequest(whole);
  const parsed = parseChatRequest(whole);
  if (parsed.kind === "ok" && parsed.request.received !== undefined) memory.remember(parsed.request.received);
  return parsed;
}

/** Shorter bodies are parsed as fast as a whole. */
const minPartedBytes = 16_384;

/** The request of a body whose long texts are read on their own, several times as fast as the parser does. Undefined as for `requestWith`. */
function parsedInParts(input: ChatBytes): ChatRequest | undefined {
  const { bytes } = input;
  const rest = withoutLongTexts(bytes);
  const text = rest === undefined ? undefined : decodeUtf8(rest.bytes);
  if (rest === undefined || text === undefined) return undefined;
  const { length } = rest.bytes;
  // The checks read the texts: an id, for one, may be too long.
  const complete = (body: JsonObject) => putTextsBack(body, rest);
  const parsed = parseChatRequest({ ...input, text, bytes: length, received: rest.bytes, outlined: true, complete });
  // Numbers as they are spelled would be in another copy of the body.
  if (parsed.kind !== "ok" || parsed.request.spelled !== undefined) return undefined;
  const { request } = parsed;
  const bodyBytes = request.bodyBytes + bytes.length - length;
  const { received } = request;
  return received === undefined
    ? { ...request, bodyBytes }
    : { ...request, bodyBytes, received: inWholeBody(received, bytes, rest) };
}

/**
 * The request of a body that begins with known messages: the body is parsed without its known parts, and they are put back in. Undefined
 * where anything about the rest is unusual; then the whole body is parsed, which also finds what is wrong with it.
 */
function requestWith(known: KnownParts, input: ChatBytes): ChatRequest | undefined {
  const { bytes } = input;
  const rest = withoutKnownParts(bytes, known);
  const text = decodeUtf8(rest.bytes);
  if (text === undefined) return undefined;
  let { maxValues } = input;
  for (const { known: run } of known.beginning.runs) maxValues -= run.values;
  // In their place stands an array without items, which is one value.
  if (known.tools !== undefined) maxValues -= known.tools.known.values - 1;
  if (maxValues < 1) return undefined;
  const { length } = rest.bytes;
  const parsed = parseChatRequest({ ...input, text, bytes: length, received: rest.bytes, outlined: true, maxValues });
  return parsed.kind === "ok" ? withKnown(known, parsed.request, rest, bytes) : undefined;
}

/** @param request what the rest of the body says */
function withKnown(
  { beginning, tools }: KnownParts,
  request: ChatRequest,
  rest: WithoutKnownParts,
  bytes: Uint8Array,
): ChatRequest | undefined {
  const { received } = request;
  if (received === undefined) return undefined;
  const messages = placesOf(beginning);
  const known = messages.length;
  for (const place of received.messages) messages.push(rest.placeInBody(place));
  const members = new Map<string, MemberRange>();
  for (const [name, { index, from, to }] of received.members) {
    members.set(name, { index, from: rest.placeInBody(from), to: rest.placeInBody(to) });
  }
  // What looked like the beginning of the messages, or like tools, may have been part of something else.
  if (messages[known] !== beginning.to) return undefined;
  if (tools !== undefined && !isAt(tools, members.get("tools"))) return undefined;
  const parse = (index: number) => messageIn(bytes.subarray(messages[2 * index], messages[2 * index + 1]));
  const body: ChatRequest["body"] = {
    ...request.body,
    messages: lazyMessages(beginning.runs, parse, request.body.messages),
  };
  if (tools !== undefined) body["tools"] = lazyMember(tools.known, () => toolsIn(bytes.subarray(tools.from, tools.to)));
  const writesCache =
    request.writesCache === true ||
    tools?.known.cacheControl === true ||
    beginning.runs.some(({ known: run }) => run.cacheControl);
  return {
    ...request,
    body,
    received: { bytes, parsed: body, members, messages },
    bodyBytes: request.bodyBytes + bytes.length - rest.bytes.length,
    ...(writesCache ? { writesCache } : {}),
  };
}

function isAt({ from, to }: PlacedTools, member: MemberRange | undefined): boolean {
  return member?.from === from && member.to === to;
}

/** Where the known messages stand in the body. */
function placesOf({ from, runs, fullRuns, beginning }: KnownBeginning): number[] {
  const moved = from - Number(beginning?.places[0]);
  const places =
    beginning === undefined
      ? []
      : moved === 0
        ? beginning.places.slice()
        : beginning.places.map((place) => place + moved);
  for (const { known: run } of beginning === undefined ? runs : runs.slice(fullRuns)) {
    const start = places.length === 0 ? from : Number(places.at(-1)) + 1;
    for (const place of run.places) places.push(start + place);
  }
  return places;
}

/** A message from bytes that were parsed and checked before. */
function messageIn(bytes: Uint8Array): ChatMessage {
  return JSON.parse(textOf(bytes)) as ChatMessage;
}

/** Tools from bytes that were parsed and checked before, with the name of the member. */
function toolsIn(bytes: Uint8Array): Json[] {
  const { tools } = JSON.parse(`{${textOf(bytes)}}`) as { tools: Json[] };
  return tools;
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
