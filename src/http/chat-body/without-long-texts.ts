import type { Json, JsonObject, MemberRange, ReceivedBody } from "#domain/chat.ts";
import { type LongString, LongStrings } from "#platform/json/long-strings.ts";

const OPEN_BRACE = 0x7b;

/** Shorter texts are read by the parser in the same time. */
const minTextBytes = 4_096;
const strings = new LongStrings();
/** What stands in the place of a long text while the rest is parsed. Nobody outside of this process can write it. */
const placeholderPrefix = `${crypto.randomUUID()}:`;
const placeholderLength = placeholderPrefix.length + 2;

/** A body without its long texts, and what is needed to put them back. */
export interface WithoutLongTexts {
  /** The body with a placeholder for each of them. */
  readonly bytes: Uint8Array;
  /** By their placeholders, in the order of the body. */
  readonly texts: ReadonlyMap<string, LongString>;
}

/** Undefined where there are none, or where they are for the parser to read. */
export function withoutLongTexts(body: Uint8Array): WithoutLongTexts | undefined {
  // What stands before the first bracket is for the decoder to judge.
  if (body[0] !== OPEN_BRACE) return undefined;
  const found = strings.in(body, minTextBytes);
  if (found === undefined || found.length === 0) return undefined;
  const texts = new Map<string, LongString>();
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const string of found) {
    const name = placeholderPrefix + String(texts.size).padStart(2, "0");
    texts.set(name, string);
    pieces.push(body.subarray(from, string.from), Buffer.from(name));
    from = string.to;
  }
  pieces.push(body.subarray(from));
  return { bytes: Buffer.concat(pieces), texts };
}

/** Puts the texts into what was parsed without them. @returns whether these were all of them; if not, what was parsed is of no use */
export function putTextsBack(parsed: JsonObject, { texts }: WithoutLongTexts): boolean {
  return putBack(parsed, texts, texts.size) === 0;
}

/** @returns how many are left, of so many */
function putBack(parent: JsonObject | Json[], texts: ReadonlyMap<string, LongString>, count: number): number {
  let left = count;
  const members = parent as { [key: string]: Json }; // of an array the keys are the indices
  for (const key of Object.keys(members)) {
    if (left === 0) break;
    const value = members[key];
    if (typeof value === "object" && value !== null) left = putBack(value, texts, left);
    if (typeof value !== "string" || value.length !== placeholderLength) continue;
    const string = texts.get(value);
    if (string === undefined) continue;
    members[key] = string.text;
    left--;
  }
  return left;
}

/** The same places in the body with its texts. */
export function inWholeBody(received: ReceivedBody, bytes: Uint8Array, { texts }: WithoutLongTexts): ReceivedBody {
  const place = placesIn(texts);
  // The members and the messages in the order of the body, because each is asked about behind the one before.
  const members = new Map<string, MemberRange>();
  let messages: readonly number[] = [];
  for (const [name, { index, from, to }] of received.members) {
    const start = place(from);
    if (name === "messages") messages = received.messages.map(place);
    members.set(name, { index, from: start, to: place(to) });
  }
  return { bytes, parsed: received.parsed, members, messages };
}

/** From places without the texts to places with them. To be asked in ascending order. */
function placesIn(texts: ReadonlyMap<string, LongString>): (at: number) => number {
  const left = [...texts.values()];
  let distance = 0;
  return (at) => {
    for (let next = left[0]; next !== undefined && at + distance > next.from; next = left[0]) {
      distance += next.to - next.from - placeholderLength;
      left.shift();
    }
    return at + distance;
  };
}
