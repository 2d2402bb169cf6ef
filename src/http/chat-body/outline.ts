import { endOfString, type JsonLimits, type JsonProblem, JsonScanner } from "#platform/json/json-scan.ts";
import type { CachedValue, MessageCache } from "./message-cache.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where a value stands in the bytes of a body: `[from, to)`. */
export interface ValueRange {
  readonly from: number;
  readonly to: number;
  /** What an earlier request has shown of it. */
  readonly cached?: CachedValue | undefined;
  /** JSON values in it. */
  readonly values: number;
  /** Whether it asks the upstream to write to its prompt cache; unset until it has been parsed. */
  writesCache?: boolean;
}

export interface MemberRange extends ValueRange {
  /** Undefined where it is long, or written with escapes. */
  readonly name: string | undefined;
  /** Where the quote before the name stands. */
  readonly start: number;
}

/** Where the members of a JSON object, and its messages, stand in its bytes. Valid if these turn out to be JSON. */
export interface Outline {
  readonly members: readonly MemberRange[];
  readonly messages: readonly ValueRange[];
  /** Members of objects at any depth, but for those in what is cached. */
  readonly memberCount: number;
  /** Whether a number would be written in another way once it is parsed. */
  readonly hasRawNumbers: boolean;
}

/** Smaller values are parsed and scanned in less time than it takes to look for them. */
const minMessageBytes = 64;
const minMemberBytes = 1_024;

/** Whether what is found in a value is kept: a message, or a large member that agents send with each of them. */
export function isCached(kind: string | undefined, bytes: number): kind is string {
  return kind === "messages" ? bytes >= minMessageBytes : bytes >= minMemberBytes && isCachedKind(kind);
}

export function isCachedKind(member: string | undefined): boolean {
  return member === "tools" || member === "functions" || member === "response_format";
}

/** @returns an empty outline for JSON that is no object */
export function outlineOf(
  bytes: Uint8Array,
  limits: JsonLimits,
  cache: MessageCache | undefined,
): Outline | JsonProblem {
  const outliner = new Outliner(bytes, limits, cache);
  return outliner.read() ? outliner.outline() : outliner.scanner.problem;
}

class Outliner {
  readonly scanner: JsonScanner;
  readonly #bytes: Uint8Array;
  readonly #cache: MessageCache | undefined;
  readonly #members: MemberRange[] = [];
  #messages: ValueRange[] = [];
  #at = 0;

  constructor(bytes: Uint8Array, limits: JsonLimits, cache: MessageCache | undefined) {
    this.#bytes = bytes;
    this.#cache = cache;
    this.scanner = new JsonScanner(bytes, limits);
  }

  outline(): Outline {
    const { members, hasRawNumbers } = this.scanner;
    const memberCount = members + this.#members.length;
    return { members: this.#members, messages: this.#messages, memberCount, hasRawNumbers };
  }

  read(): boolean {
    if (this.#next() === OPEN_BRACE) return this.#readItems(CLOSE_BRACE, () => this.#readMember()) && this.#isAtEnd();
    this.#at = this.scanner.endOfValue(this.#at, 0);
    return this.#at >= 0 && this.#isAtEnd();
  }

  #isAtEnd(): boolean {
    return Number.isNaN(this.#next());
  }

  /** The items of the object or array that begins here, up to the bracket that closes it. */
  #readItems(close: number, readItem: () => boolean): boolean {
    if (!this.scanner.addValues(1)) return false;
    this.#at++;
    if (this.#next() === close) {
      this.#at++;
      return true;
    }
    for (;;) {
      if (!readItem()) return false;
      const next = this.#next();
      this.#at++;
      if (next === close) return true;
      if (next !== COMMA || !this.scanner.addValues(1)) return false;
      this.#next();
    }
  }

  #readMember(): boolean {
    const start = this.#at;
    if (this.#next() !== QUOTE) return false;
    const keyEnd = endOfString(this.#bytes, this.#at + 1);
    if (keyEnd < 0) return false;
    const name = nameIn(this.#bytes, this.#at + 1, keyEnd);
    this.#at = keyEnd + 1;
    if (this.#next() !== COLON) return false;
    this.#at++;
    const isMessages = this.#next() === OPEN_BRACKET && name === "messages";
    const value = isMessages ? this.#readMessages() : this.#readValue(name, 1, undefined);
    if (value === undefined) return false;
    this.#members.push({ name, start, from: value.from, to: value.to, cached: value.cached, values: value.values });
    return true;
  }

  #readMessages(): ValueRange | undefined {
    const from = this.#at;
    const messages: ValueRange[] = [];
    this.#messages = messages;
    let previous: CachedValue | undefined;
    const isRead = this.#readItems(CLOSE_BRACKET, () => {
      const message = this.#readValue("messages", 2, previous);
      if (message === undefined) return false;
      messages.push(message);
      previous = message.cached;
      return true;
    });
    return isRead ? { from, to: this.#at, values: 0 } : undefined;
  }

  /** The value that begins here, in so many containers; its end is known if it followed the previous one before. */
  #readValue(kind: string | undefined, depth: number, previous: CachedValue | undefined): ValueRange | undefined {
    const { scanner } = this;
    const bytes = this.#bytes;
    const cache = this.#cache;
    const from = this.#at;
    const first = bytes[from];
    for (const length of cache?.lengthsBehind(previous) ?? []) {
      const guess = from + length;
      if (kind === undefined || first !== OPEN_BRACE || bytes[guess - 1] !== CLOSE_BRACE) continue;
      const cached = cache?.find(kind, bytes, from, guess);
      if (cached === undefined) continue;
      this.#at = guess;
      return scanner.addValues(cached.values) ? { from, to: guess, cached, values: cached.values } : undefined;
    }
    const { members, values } = scanner;
    const to = scanner.endOfValue(from, depth);
    if (to < 0) return undefined;
    this.#at = to;
    let cached: CachedValue | undefined;
    if (isCached(kind, to - from) && (first === OPEN_BRACE || first === OPEN_BRACKET))
      cached = cache?.find(kind, bytes, from, to);
    if (cached !== undefined) scanner.members = members;
    return { from, to, cached, values: scanner.values - values };
  }

  /** The first byte that is no white space, from here on; NaN at the end. */
  #next(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    for (;;) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
        this.#at = at;
        return byte ?? Number.NaN;
      }
      at++;
    }
  }
}

/** A name of plain ASCII as it is written; undefined for all others, which nobody looks for here. */
function nameIn(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (to - from > maxNameLength) return undefined;
  const name = String.fromCharCode(...bytes.subarray(from, to));
  return /^[\x00-\x5b\x5d-\x7e]*$/.test(name) ? name : undefined;
}

const maxNameLength = 64;
