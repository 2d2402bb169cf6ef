import { isUtf8 } from "node:buffer";
import { type ByteRange, type ChatMessage, isObject, type JsonObject, type ReceivedBody } from "#domain/chat.ts";
import { errorOf } from "#domain/errors.ts";
import { attachMemos, lazyMessage } from "#domain/message-memo.ts";
import { keepRawNumbers } from "#domain/raw-json.ts";
import { type JsonProblem, maxJsonDepth } from "#platform/json/json-scan.ts";
import type { CachedValue, MessageCache } from "./message-cache.ts";
import { isCached, isCachedKind, type Outline, outlineOf, type ValueRange } from "./outline.ts";
import { type Problem, refused } from "./validate.ts";

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Most JSON values in a caller's body. A history of 5,000 messages has about 40,000; a value of two characters takes
 * about a hundred bytes of memory once it is parsed.
 */
const maxRequestValues = 100_000;

/** A parsed body, what is found in the values that were parsed, and where they stand in its bytes. */
export interface ReceivedJson {
  readonly value: unknown;
  readonly bytes: Uint8Array;
  readonly outline: Outline;
  /** Some number is too large for a double (`1e400`): it was parsed as infinite, and would be written as `null`. */
  readonly isInfinite: boolean;
  /** It asks the upstream to write to its prompt cache: aggregators treat the two keys alike. */
  readonly writesCache: boolean;
  /** Whether the bytes say nothing but what was parsed, to whatever reader: no key stands twice in an object. */
  readonly isExact: boolean;
}

/** The JSON of a body, or why it is refused. The parser's message quotes the body, so it stays with the parser. */
export function receiveJson(received: Uint8Array, cache: MessageCache | undefined): ReceivedJson | Problem {
  const isMarked = byteOrderMark.equals(received.subarray(0, byteOrderMark.length));
  const bytes = isMarked ? received.subarray(byteOrderMark.length) : received;
  const outline = outlineOf(bytes, { depth: maxJsonDepth, values: maxRequestValues }, cache);
  if (typeof outline === "string") return problemOfJson(outline, bytes);
  try {
    const value = parseBody(bytes, outline);
    const { isInfinite, cacheKeys, members } = inspect(value, outline);
    const isCacheWriter = ({ cached }: ValueRange) => cached?.writesCache === true;
    const writesCache = cacheKeys > 0 || outline.members.some(isCacheWriter) || outline.messages.some(isCacheWriter);
    return { value, bytes, outline, isInfinite, writesCache, isExact: members === outline.memberCount };
  } catch {
    return problemOfJson("not_json", bytes);
  }
}

function problemOfJson(problem: JsonProblem, bytes: Uint8Array): Problem {
  if (problem === "too_deep") return refused(errorOf("invalid_request.too_deep", { levels: maxJsonDepth }));
  if (problem === "too_many_values")
    return refused(errorOf("invalid_request.too_many_values", { values: maxRequestValues }));
  return refused(errorOf("invalid_request.not_json", { why: isUtf8(bytes) ? "" : ": it is not UTF-8" }));
}

type Reviver = NonNullable<Parameters<typeof JSON.parse>[1]>;

/**
 * The value of the whole body. Where messages are cached these are not parsed, and the others one by one.
 * @throws TypeError for bytes that are no UTF-8, SyntaxError for what is no JSON
 */
function parseBody(bytes: Uint8Array, { messages }: Outline, reviver?: Reviver): unknown {
  const [first] = messages;
  const last = messages.at(-1);
  if (first === undefined || last === undefined || messages.every(({ cached }) => cached === undefined))
    return JSON.parse(utf8.decode(bytes), reviver);
  const around = utf8.decode(bytes.subarray(0, first.from)) + utf8.decode(bytes.subarray(last.to));
  const value: unknown = JSON.parse(around, reviver);
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

/** What the parsed values hold; notes for each range whether it writes to the upstream's prompt cache. */
function inspect(value: unknown, { members: ranges, messages }: Outline): Inspector {
  const inspector = new Inspector();
  if (!isObject(value)) {
    inspector.visit(value);
    return inspector;
  }
  for (const key of Object.keys(value)) {
    const member = value[key];
    inspector.addMember(key);
    if (key === "messages" && Array.isArray(member) && member.length === messages.length) {
      for (const [index, range] of messages.entries()) inspector.visitRange(member[index], range);
    } else {
      const range = isCachedKind(key) ? ranges.findLast(({ name }) => name === key) : undefined;
      if (range === undefined) inspector.visit(member);
      else inspector.visitRange(member, range);
    }
  }
  return inspector;
}

class Inspector {
  isInfinite = false;
  members = 0;
  cacheKeys = 0;

  visitRange(value: unknown, range: ValueRange): void {
    if (range.cached !== undefined) return;
    const before = this.cacheKeys;
    this.visit(value);
    range.writesCache = this.cacheKeys > before;
  }

  visit(value: unknown): void {
    if (typeof value === "number") this.isInfinite ||= !Number.isFinite(value);
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) this.visit(item);
      return;
    }
    for (const key of Object.keys(value)) {
      this.addMember(key);
      this.visit((value as JsonObject)[key]);
    }
  }

  addMember(key: string): void {
    this.members += 1;
    if (key === "cache_control" || key === "prompt_cache_breakpoint") this.cacheKeys += 1;
  }
}

/** Members of a body whose numbers are read, and written as they are understood. */
const ownNumbers = ["max_tokens", "max_completion_tokens", "n", "best_of", "temperature", "top_p"];

/** The value, with numbers as they are written where they would change; not those that the gateway itself reads. */
export function withRawNumbers({ value, bytes, outline, isExact }: ReceivedJson): unknown {
  // A body with a key twice is written anew as a whole.
  if ((isExact && !outline.hasRawNumbers) || !isObject(value)) return value;
  const exact = parseBody(bytes, outline, keepRawNumbers) as JsonObject; // as it was before
  for (const key of ownNumbers) {
    const number = value[key];
    if (typeof number === "number") exact[key] = number;
  }
  return exact;
}

/** What of a body may be sent on as it came; undefined where a key stands twice. `parsed` is the same body. */
export function receivedBody(json: ReceivedJson, parsed: ReceivedBody["parsed"]): ReceivedBody | undefined {
  const { bytes, outline, isExact } = json;
  if (!isExact) return undefined;
  const members = new Map<string, ByteRange & { readonly index: number }>();
  for (const [index, { name, start, to }] of outline.members.entries()) {
    if (name !== undefined) members.set(name, { index, from: start, to });
  }
  return { bytes, parsed, members, messages: outline.messages };
}

/** Keeps what a later request with the same values can use. Only of a body that was accepted. */
export function cacheValues(json: ReceivedJson, body: ReceivedBody["parsed"], cache: MessageCache): void {
  const { bytes, outline, isExact } = json;
  if (!isExact) return;
  const { hasRawNumbers } = outline;
  const cachedOf = (kind: string, range: ValueRange, role: CachedValue["role"]): CachedValue => {
    const { from, to, values, writesCache = false } = range;
    return range.cached ?? cache.add(bytes, from, to, { kind, role, values, hasRawNumbers, writesCache, memos: [] });
  };
  for (const range of outline.members) {
    const { name, from, to } = range;
    const value = name === undefined || name === "messages" ? undefined : body[name];
    if (isCached(name, to - from) && typeof value === "object" && value !== null)
      attachMemos(value, cachedOf(name, range, undefined).memos);
  }
  let previous: CachedValue | undefined;
  for (const [index, range] of outline.messages.entries()) {
    const message = body.messages[index];
    const length = range.to - range.from;
    if (message === undefined || !isCached("messages", length)) previous = undefined;
    else {
      const cached = cachedOf("messages", range, message.role);
      if (range.cached === undefined) attachMemos(message, cached.memos);
      if (previous !== undefined) cache.noteLengthBehind(previous, length);
      previous = cached;
    }
  }
}
