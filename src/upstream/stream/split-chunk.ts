import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkEvent } from "#upstream/upstream.ts";

/** Characters of one piece, about. */
const usualPieceLength = 524_288;

/** The texts of a delta that callers join: a long one means the same in pieces. */
const joinedTexts = ["content", "reasoning", "reasoning_content", "refusal"] as const;

/** A text of a chunk: what a delta with a piece of it looks like, and how to replace it where it stands. */
interface JoinedText {
  readonly choice: JsonObject;
  readonly text: string;
  readonly replace: (text: string) => void;
  readonly deltaWith: (piece: string) => JsonObject;
}

/**
 * A chunk as several chunks that mean the same, if it carries a long text: what is done with one of them on the way to the
 * caller then takes a bounded time. The first one has all the rest of the delta, the last one the finish reason and the usage.
 * @param raw the chunk's text, where it exists
 */
export function* splitChunk(
  chunk: JsonObject,
  raw?: string,
  pieceLength = usualPieceLength,
): Generator<ChunkEvent, void> {
  const longest = longestText(chunk);
  let at = longest === undefined ? 0 : endOfPiece(longest.text, 0, pieceLength);
  if (longest === undefined || at === longest.text.length) {
    yield raw === undefined ? chunkEvent(chunk) : { kind: "chunk", raw, chunk };
    return;
  }
  const { choice, text, replace, deltaWith } = longest;
  const { usage, ...shared } = chunk;
  const finish = choice["finish_reason"] ?? null;
  const index = choice["index"] ?? 0;
  replace(text.slice(0, at));
  choice["finish_reason"] = null;
  yield chunkEvent(shared);
  while (at < text.length) {
    const from = at;
    at = endOfPiece(text, from, pieceLength);
    const isLast = at === text.length;
    const delta = deltaWith(text.slice(from, at));
    const choices = [{ index, delta, finish_reason: isLast ? finish : null }];
    yield chunkEvent({ ...shared, choices, ...(isLast && usage !== undefined ? { usage } : {}) });
  }
}

function chunkEvent(chunk: JsonObject): ChunkEvent {
  return { kind: "chunk", raw: JSON.stringify(chunk), chunk };
}

/** Where a piece ends: not between the two halves of a character. */
function endOfPiece(text: string, from: number, pieceLength: number): number {
  const end = from + pieceLength;
  if (end >= text.length) return text.length;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code < 0xdc00 ? end + 1 : end;
}

function longestText({ choices }: JsonObject): JoinedText | undefined {
  let longest: JoinedText | undefined;
  const consider = (candidate: JoinedText) => {
    if (candidate.text.length > (longest?.text.length ?? 0)) longest = candidate;
  };
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice) || !isObject(choice["delta"])) continue;
    const { delta } = choice;
    for (const name of joinedTexts) {
      const text = delta[name];
      if (typeof text !== "string") continue;
      const replace = (piece: string) => {
        delta[name] = piece;
      };
      consider({ choice, text, replace, deltaWith: (piece) => ({ [name]: piece }) });
    }
    const calls = delta["tool_calls"];
    if (!Array.isArray(calls)) continue;
    for (const [position, call] of calls.entries()) considerArguments(choice, call, position, consider);
  }
  return longest;
}

function considerArguments(
  choice: JsonObject,
  call: Json,
  position: number,
  consider: (candidate: JoinedText) => void,
): void {
  const called = isObject(call) ? call["function"] : undefined;
  if (!isObject(call) || !isObject(called) || typeof called["arguments"] !== "string") return;
  const index = call["index"] ?? position;
  consider({
    choice,
    text: called["arguments"],
    replace: (piece) => {
      called["arguments"] = piece;
    },
    deltaWith: (piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] }),
  });
}
