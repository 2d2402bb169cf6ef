import { isUtf8 } from "node:buffer";
import { type ByteRange, type ChatMessage, isObject, type JsonObject, type ReceivedBody } from "#domain/chat.ts";
import { attachMemos, lazyMessage } from "#domain/message-memo.ts";
import { keepRawNumbers } from "#domain/raw-json.ts";
import { type JsonProblem, maxJsonDepth } from "#platform/json/json-scan.ts";
import type { CachedValue, MessageCache } from "./message-cache.ts";
import { isCached, isCachedKind, type Outline, outlineOf, type ValueRange } from "./outline.ts";
import { type Problem, refused } from "./validate.ts";

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Most JSON values in a caller's body. A history of 5,000 messages has about 40,000; a value of two characters takes about a
 * hundred bytes of memory once it is parsed.
 */
export const maxRequestValues = 100_000;

/** The JSON of a body, or why it is refused. The parser's message quotes the body, so it stays with the parser. */
export function receiveJson(
  received: Uint8Array,
  maxValues: number,
  cache: MessageCache | undefined,
): ReceivedJson | Problem {
  const isMarked = byteOrderMark.equals(received.subarray(0, byteOrderMark.length));
  const bytes = isMarked ? received.subarray(byteOrderMark.length) : received;
  const outline = outlineOf(bytes, { depth: maxJsonDepth, values: maxValues }, cache);
  if (typeof outline === "string") return problemOfJson(outline, bytes, maxValues);
  try {
    return new ReceivedJson(bytes, outline);
  } catch {
    return problemOfJson("not_json", bytes, maxValues);
  }
}

function problemOfJson(problem: JsonProblem, bytes: Uint8Array, maxValues: number): Problem {
  if (problem === "too_deep") return refused(400, undefined, `The body nests deeper than ${maxJsonDepth} levels.`);
  if (problem === "not_json") {
    return refused(400, undefined, `The body is not valid JSON${isUtf8(bytes) ? "" : ": it is not UTF-8"}.`);
  }
  const what = `${maxValues} JSON values: objects, arrays, texts and numbers`;
  return refused(413, undefined, `The body holds more than ${what}.`);
}

/** Members of a body whose numbers are read, and written as they are understood. */
const ownNumbers = ["max_tokens", "max_completion_tokens", "n", "best_of", "temperature", "top_p"];

/** A parsed body, what is found in the values that were parsed, and what of the body's bytes may be sent on. */
export class ReceivedJson {
  readonly value: unknown;
  /** Some number is too large for a double (`1e400`): it was parsed as infinite, and would be written as `null`. */
  isInfinite = false;
  /** It asks the upstream to write to its prompt cache: aggregators treat the two keys alike. */
  writesCache = false;
  /** Whether the bytes say nothing but what was parsed, to whatever reader: no key stands twice in an object. */
  readonly #isExact: boolean;
  readonly outline: Outline;
  readonly #bytes: Uint8Array;
  #memberCount = 0;
  #cacheKeys = 0;

  /** @throws TypeError for bytes that are no UTF-8, SyntaxError for what is no JSON */
  constructor(bytes: Uint8Array, outline: Outline) {
    this.#bytes = bytes;
    this.outline = outline;
    this.value = this.#parse();
    if (isObject(this.value)) this.#inspectMembers(this.value);
    else this.#visit(this.value);
    this.writesCache ||= this.#cacheKeys > 0;
    this.#isExact = this.#memberCount === outline.memberCount;
  }

  /** The value, with numbers that would be written in another way as they are written; but for those that the gateway itself reads. */
  withRawNumbers(): unknown {
    // A body with a key twice is written anew as a whole.
    const isKept = this.#isExact && !this.outline.hasRawNumbers;
    if (isKept || !isObject(this.value)) return this.value;
    const exact = this.#parse(keepRawNumbers) as JsonObject; // as it was before
    for (const key of ownNumbers) {
      const value = this.value[key];
      if (typeof value === "number") exact[key] = value;
    }
    return exact;
  }

  /** What of a body may be sent on as it came; undefined where a key stands twice. `parsed` is the same body. */
  receivedBody(parsed: ReceivedBody["parsed"]): ReceivedBody | undefined {
    if (!this.#isExact) return undefined;
    const ranges = new Map<string, ByteRange & { readonly index: number }>();
    for (const [index, { name, start, to }] of this.outline.members.entries()) {
      if (name !== undefined) ranges.set(name, { index, from: start, to });
    }
    return { bytes: this.#bytes, parsed, members: ranges, messages: this.outline.messages };
  }

  /** Keeps what a later request with the same values can use. Only of a body that was accepted. */
  remember(cache: MessageCache, { messages, ...members }: ReceivedBody["parsed"]): void {
    if (!this.#isExact) return;
    for (const range of this.outline.members) {
      const { name, from, to } = range;
      const value = name === undefined ? undefined : members[name];
      if (isCached(name, to - from) && typeof value === "object" && value !== null)
        attachMemos(value, this.#cachedOf(name, range, undefined, cache).memos);
    }
    let previous: CachedValue | undefined;
    for (const [index, range] of this.outline.messages.entries()) {
      const message = messages[index];
      const length = range.to - range.from;
      if (message === undefined || !isCached("messages", length)) previous = undefined;
      else {
        const cached = this.#cachedOf("messages", range, message.role, cache);
        if (range.cached === undefined) attachMemos(message, cached.memos);
        if (previous !== undefined) cache.noteLengthBehind(previous, length);
        previous = cached;
      }
    }
  }

  #cachedOf(kind: string, range: ValueRange, role: CachedValue["role"], cache: MessageCache): CachedValue {
    if (range.cached !== undefined) return range.cached;
    const { from, to, values, writesCache = false } = range;
    const { hasRawNumbers } = this.outline;
    return cache.add(this.#bytes, from, to, { kind, role, values, hasRawNumbers, writesCache, memos: [] });
  }

  /** The value of the whole body. Where messages are cached these are not parsed, and the others one by one. */
  #parse(reviver?: Reviver): unknown {
    const bytes = this.#bytes;
    const { messages } = this.outline;
    const [first] = messages;
    const last = messages.at(-1);
    if (first === undefined || last === undefined || messages.every(({ cached }) => cached === undefined))
      return JSON.parse(utf8.decode(bytes), reviver);
    const rest = utf8.decode(bytes.subarray(0, first.from)) + utf8.decode(bytes.subarray(last.to));
    const value: unknown = JSON.parse(rest, reviver);
    if (isObject(value) && Array.isArray(value["messages"])) {
      const parse = ({ from, to }: ByteRange, by: Reviver | undefined): ChatMessage =>
        JSON.parse(utf8.decode(bytes.subarray(from, to)), by); // it is checked later
      value["messages"] = messages.map((range) => {
        const { cached } = range;
        if (cached === undefined) return parse(range, reviver);
        // As it was before.
        return lazyMessage(cached.role ?? "user", cached.memos, () =>
          parse(range, cached.hasRawNumbers ? keepRawNumbers : undefined),
        );
      });
    }
    return value;
  }

  #inspectMembers(body: JsonObject): void {
    const { members, messages } = this.outline;
    for (const key of Object.keys(body)) {
      const value = body[key];
      this.#memberCount += 1;
      if (key === "messages" && Array.isArray(value) && value.length === messages.length) {
        let index = 0;
        for (const range of messages) this.#inspect(value[index++], range);
      } else if (isCachedKind(key)) {
        const range = members.findLast(({ name }) => name === key);
        this.#inspect(value, range);
      } else {
        if (isCacheKey(key)) this.#cacheKeys += 1;
        this.#visit(value);
      }
    }
  }

  #inspect(value: unknown, range: ValueRange | undefined): void {
    if (range?.cached !== undefined) {
      this.writesCache ||= range.cached.writesCache;
      return;
    }
    const cacheKeys = this.#cacheKeys;
    this.#visit(value);
    if (range !== undefined) range.writesCache = this.#cacheKeys > cacheKeys;
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

type Reviver = NonNullable<Parameters<typeof JSON.parse>[1]>;

function isCacheKey(key: string): boolean {
  return key === "cache_control" || key === "prompt_cache_breakpoint";
}
