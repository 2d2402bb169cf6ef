import type { ChatMessage, ChatRequest, MemberRange } from "#domain/chat.ts";
import { lazyMessages } from "#domain/received/known-messages.ts";
import { decodeUtf8 } from "#http/request/read-body.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import type { KnownBeginning, MessageMemory } from "./message-memory.ts";
import { type ChatInput, type ParsedChat, parseChatRequest, parseLargeChatRequest } from "./parse-chat.ts";
import { refused } from "./problem.ts";
import { inWholeBody, putTextsBack, withoutLongTexts } from "./without-long-texts.ts";

export interface ChatBytes extends Pick<ChatInput, "maxValues" | "headers" | "requestId" | "receivedAtMs"> {
  /** The body as received; not changed while the request lasts. */
  readonly bytes: Uint8Array;
}

/**
 * A chat request from the bytes of its body and its headers. Of messages that an earlier request began with, only those are parsed
 * that somebody looks at: an agent sends its whole history with every turn.
 */
export function parseChatBytes(input: ChatBytes, memory: MessageMemory): ParsedChat | Promise<ParsedChat> {
  const { bytes } = input;
  const isLarge = bytes.length > largeBodyBytes;
  const known = isLarge ? undefined : memory.beginningOf(bytes);
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
  const parsed = parseChatRequest({ ...input, text, bytes: rest.bytes.length, received: rest.bytes, outlined: true });
  // Numbers as they are spelled would be in another copy of the body.
  if (parsed.kind !== "ok" || parsed.request.spelled !== undefined) return undefined;
  const { request } = parsed;
  if (!putTextsBack(request.body, rest)) return undefined;
  const bodyBytes = request.bodyBytes + bytes.length - rest.bytes.length;
  const { received } = request;
  return received === undefined
    ? { ...request, bodyBytes }
    : { ...request, bodyBytes, received: inWholeBody(received, bytes, rest) };
}

/**
 * The request of a body that begins with known messages: the body is parsed without them, and they are put back in. Undefined where
 * anything about the rest is unusual; then the whole body is parsed, which also finds what is wrong with it.
 */
function requestWith(known: KnownBeginning, input: ChatBytes): ChatRequest | undefined {
  const { bytes } = input;
  const rest = Buffer.concat([bytes.subarray(0, known.from), bytes.subarray(known.to)]);
  const text = decodeUtf8(rest);
  if (text === undefined) return undefined;
  let { maxValues } = input;
  for (const { known: run } of known.runs) maxValues -= run.values;
  if (maxValues < 1) return undefined;
  const parsed = parseChatRequest({ ...input, text, bytes: rest.length, received: rest, outlined: true, maxValues });
  return parsed.kind === "ok" ? withKnown(known, parsed.request, bytes) : undefined;
}

function withKnown(known: KnownBeginning, request: ChatRequest, bytes: Uint8Array): ChatRequest | undefined {
  const { received } = request;
  // What looked like the beginning of the messages may have been part of something else.
  if (received?.messages[0] !== known.from) return undefined;
  const skipped = known.to - known.from;
  const inBytes = (place: number) => (place < known.from ? place : place + skipped);
  const messages = placesOf(known);
  for (const place of received.messages) messages.push(inBytes(place));
  const members = new Map<string, MemberRange>();
  for (const [name, { index, from, to }] of received.members) {
    members.set(name, { index, from: inBytes(from), to: inBytes(to) });
  }
  const parse = (index: number) => messageIn(bytes.subarray(messages[2 * index], messages[2 * index + 1]));
  const body = { ...request.body, messages: lazyMessages(known.runs, parse, request.body.messages) };
  const writesCache = request.writesCache === true || known.runs.some(({ known: run }) => run.cacheControl);
  return {
    ...request,
    body,
    received: { bytes, parsed: body, members, messages },
    bodyBytes: request.bodyBytes + skipped,
    ...(writesCache ? { writesCache } : {}),
  };
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
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as ChatMessage;
}
