import {
  type ByteRange,
  type ChatMessage,
  isObject,
  type JsonObject,
  type MessageRole,
  type ReceivedBody,
} from "#domain/chat.ts";
import { attachFacts, knownMessage, type MessageSource } from "#domain/known-message.ts";
import { keepOddNumbers } from "#domain/raw-json.ts";
import { isCached, type MemberRange, type Outline, type ValueRange } from "./outline.ts";
import type { KnownPiece, PieceCache } from "./piece-cache.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The JSON of a body whose members and messages have been found in its bytes. Messages that are known are not parsed.
 * @param reviver as `JSON.parse` takes it
 * @throws TypeError for bytes that are no UTF-8, SyntaxError for what is no JSON
 */
export function parseReceived(bytes: Uint8Array, { messages }: Outline, reviver?: Reviver): unknown {
  // Each run of known messages is left out, and a number stands in its place.
  let text = "";
  let at = 0;
  let previous: ValueRange | undefined;
  for (const range of messages) {
    if (range.known !== undefined) {
      if (previous?.known === undefined) text += `${utf8.decode(bytes.subarray(at, range.from))}0`;
      at = range.to;
    }
    previous = range;
  }
  text += utf8.decode(at === 0 ? bytes : bytes.subarray(at));
  const value: unknown = JSON.parse(text, reviver);
  if (at > 0 && isObject(value) && Array.isArray(value["messages"])) {
    const parsed = value["messages"];
    const all: ChatMessage[] = [];
    let index = 0;
    let isInRun = false;
    for (const range of messages) {
      const { known } = range;
      if (known === undefined)
        all.push(parsed[index++] as ChatMessage); // it is checked later
      else {
        if (!isInRun) index++;
        all.push(knownMessage(known.role ?? "user", known.facts, new UnparsedMessage(bytes, range)));
      }
      isInRun = known !== undefined;
    }
    value["messages"] = all;
  }
  return value;
}

type Reviver = NonNullable<Parameters<typeof JSON.parse>[1]>;

/** A known message in the bytes of this body. */
class UnparsedMessage implements MessageSource {
  readonly #bytes: Uint8Array;
  readonly #range: ValueRange;

  constructor(bytes: Uint8Array, range: ValueRange) {
    this.#bytes = bytes;
    this.#range = range;
  }

  parse(): ChatMessage {
    const { from, to, known } = this.#range;
    const text = utf8.decode(this.#bytes.subarray(from, to));
    return JSON.parse(text, known?.hasOddNumbers === true ? keepOddNumbers : undefined); // as it was before
  }
}

/** What is found in the values that were parsed, and what of the body's bytes may be sent on. */
export class ReceivedJson {
  /** Some number is too large for a double (`1e400`): it was parsed as infinite, and would be written as `null`. */
  isInfinite = false;
  /** Some number that was parsed is written in an unusual way. */
  hasOddNumbers = false;
  readonly #bytes: Uint8Array;
  readonly #outline: Outline;
  readonly #members = new Map<string, MemberRange>();
  /** Where a key stands twice in an object, so that not all that stands in the bytes was parsed. */
  readonly #inexact = new Set<ValueRange>();
  readonly #cacheWriters = new Set<ValueRange>();
  #memberCount = 0;
  #cacheKeys = 0;

  constructor(bytes: Uint8Array, outline: Outline, value: unknown) {
    this.#bytes = bytes;
    this.#outline = outline;
    for (const member of outline.members) if (member.name !== undefined) this.#members.set(member.name, member);
    if (!isObject(value)) this.#visit(value);
    else this.#inspectMembers(value);
  }

  /** It asks the upstream to write to its prompt cache: aggregators treat the two keys alike. */
  get writesCache(): boolean {
    return this.#cacheKeys > 0 || this.#cacheWriters.size > 0;
  }

  /** What of a body may be sent on as it came; undefined where a key of its own stands twice. `parsed` is the same body. */
  receivedBody(parsed: ReceivedBody["parsed"]): ReceivedBody | undefined {
    const { members, messages } = this.#outline;
    if (members.length !== Object.keys(parsed).length || this.#bytes[0] === firstOfByteOrderMark) return undefined;
    const ranges = new Map<string, ByteRange & { readonly index: number }>();
    for (const [index, member] of members.entries()) {
      const { name, start, to } = member;
      if (name !== undefined && !this.#inexact.has(member)) ranges.set(name, { index, from: start, to });
    }
    if (this.#inexact.size === 0) return { bytes: this.#bytes, parsed, members: ranges, messages };
    const exact = messages.map((range) => (this.#inexact.has(range) ? undefined : range));
    if (exact.includes(undefined)) ranges.delete("messages");
    return { bytes: this.#bytes, parsed, members: ranges, messages: exact };
  }

  /** Keeps what a later request with the same pieces can use. Only of a body that was accepted. */
  remember(cache: PieceCache, { messages, ...members }: ReceivedBody["parsed"]): void {
    for (const range of this.#outline.members) {
      const { name, from, to } = range;
      if (!isCached(name, to - from)) continue;
      const value = members[name];
      if (typeof value === "object" && value !== null)
        attachFacts(value, this.#known(name, range, undefined, cache).facts);
    }
    let previous: KnownPiece | undefined;
    let index = 0;
    for (const range of this.#outline.messages) {
      const message = messages[index++];
      const length = range.to - range.from;
      if (message === undefined || !isCached("messages", length)) previous = undefined;
      else {
        const known = this.#known("messages", range, message.role, cache);
        if (range.known === undefined) attachFacts(message, known.facts);
        if (previous !== undefined) cache.noteLengthBehind(previous, length);
        previous = known;
      }
    }
  }

  #known(kind: string, range: ValueRange, role: MessageRole | undefined, cache: PieceCache): KnownPiece {
    if (range.known !== undefined) return range.known;
    const { from, to, values, hasOddNumbers } = range;
    const isExact = !this.#inexact.has(range);
    const writesCache = this.#cacheWriters.has(range);
    return cache.add(this.#bytes, from, to, { kind, role, values, isExact, hasOddNumbers, writesCache, facts: [] });
  }

  #inspectMembers(body: JsonObject): void {
    const { messages } = this.#outline;
    for (const key of Object.keys(body)) {
      const value = body[key];
      if (key === "messages" && Array.isArray(value) && value.length === messages.length) {
        let index = 0;
        for (const range of messages) this.#inspect(value[index++], range);
      } else {
        if (isCacheKey(key)) this.#cacheKeys += 1;
        this.#inspect(value, this.#members.get(key));
      }
    }
  }

  #inspect(value: unknown, range: ValueRange | undefined): void {
    const known = range?.known;
    if (range !== undefined && known !== undefined) {
      if (known.writesCache) this.#cacheWriters.add(range);
      if (!known.isExact) this.#inexact.add(range);
      return;
    }
    const members = this.#memberCount;
    const cacheKeys = this.#cacheKeys;
    this.#visit(value);
    if (range === undefined) return;
    if (this.#memberCount - members !== range.members) this.#inexact.add(range);
    if (this.#cacheKeys > cacheKeys) this.#cacheWriters.add(range);
    this.hasOddNumbers ||= range.hasOddNumbers;
  }

  #visit(value: unknown): void {
    if (typeof value === "number") this.isInfinite ||= !Number.isFinite(value);
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) this.#visit(item);
      return;
    }
    for (const key of Object.keys(value)) {
      this.#memberCount += 1;
      if (isCacheKey(key)) this.#cacheKeys += 1;
      this.#visit((value as JsonObject)[key]);
    }
  }
}

const firstOfByteOrderMark = 0xef;

function isCacheKey(key: string): boolean {
  return key === "cache_control" || key === "prompt_cache_breakpoint";
}
