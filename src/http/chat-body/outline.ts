import { endOfString, type JsonLimits, type JsonProblem, JsonScanner } from "#platform/json/json-scan.ts";
import type { KnownPiece, PieceCache } from "./piece-cache.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where a value stands in the bytes of a body: `[from, to)`. */
export interface ValueRange {
  readonly from: number;
  readonly to: number;
  /** What an earlier request has shown of it. */
  readonly known: KnownPiece | undefined;
  /** Members of objects in it, JSON values, and whether a number in it is odd, unless it is known. */
  readonly members: number;
  readonly values: number;
  readonly hasOddNumbers: boolean;
}

export interface MemberRange extends ValueRange {
  readonly name: string | undefined;
  /** Where the quote before the name stands. */
  readonly start: number;
}

/** Where the members of a JSON object, and its messages, stand in its bytes. Valid if these turn out to be JSON. */
export interface Outline {
  readonly members: readonly MemberRange[];
  readonly messages: readonly ValueRange[];
}

const noPieces: readonly ValueRange[] = [];

/** Smaller pieces are parsed and scanned in less time than it takes to look for them. */
const minMessageBytes = 64;
const minMemberBytes = 1_024;

/** Whether what is found in a piece is kept: a message, or a large member that agents send with each of them. */
export function isCached(kind: string | undefined, bytes: number): kind is string {
  if (kind === "messages") return bytes >= minMessageBytes;
  return bytes >= minMemberBytes && (kind === "tools" || kind === "functions" || kind === "response_format");
}

/** @returns an empty outline for JSON that is no object */
export function outlineOf(bytes: Uint8Array, limits: JsonLimits, cache: PieceCache | undefined): Outline | JsonProblem {
  const outliner = new Outliner(bytes, limits, cache);
  return outliner.read() ? outliner : outliner.scanner.problem;
}

class Outliner implements Outline {
  readonly members: MemberRange[] = [];
  messages: readonly ValueRange[] = noPieces;
  readonly scanner: JsonScanner;
  readonly #bytes: Uint8Array;
  readonly #cache: PieceCache | undefined;
  #at = 0;

  constructor(bytes: Uint8Array, limits: JsonLimits, cache: PieceCache | undefined) {
    this.#bytes = bytes;
    this.#cache = cache;
    this.scanner = new JsonScanner(bytes, limits);
  }

  read(): boolean {
    const bytes = this.#bytes;
    // A byte order mark, which the decoder leaves out.
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = 3;
    if (this.#next() === OPEN_BRACE) return this.#readMembers() && Number.isNaN(this.#next());
    const end = this.scanner.endOfValue(this.#at, 0);
    if (end < 0) return false;
    this.#at = end;
    return Number.isNaN(this.#next());
  }

  #readMembers(): boolean {
    if (!this.scanner.addValues(1)) return false;
    this.#at++;
    if (this.#next() === CLOSE_BRACE) {
      this.#at++;
      return true;
    }
    for (;;) {
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
      this.members.push({ ...value, name, start });
      const next = this.#next();
      this.#at++;
      if (next === CLOSE_BRACE) return true;
      if (next !== COMMA || !this.scanner.addValues(1)) return false;
      this.#next();
    }
  }

  #readMessages(): ValueRange | undefined {
    const { scanner } = this;
    const from = this.#at;
    const messages: ValueRange[] = [];
    this.messages = messages;
    if (!scanner.addValues(1)) return undefined;
    this.#at++;
    if (this.#next() === CLOSE_BRACKET) this.#at++;
    else {
      let previous: KnownPiece | undefined;
      for (;;) {
        const message = this.#readValue("messages", 2, previous);
        if (message === undefined) return undefined;
        messages.push(message);
        previous = message.known;
        const next = this.#next();
        this.#at++;
        if (next === CLOSE_BRACKET) break;
        if (next !== COMMA || !scanner.addValues(1)) return undefined;
        this.#next();
      }
    }
    return { from, to: this.#at, known: undefined, members: 0, values: 0, hasOddNumbers: false };
  }

  /** The value that begins here, in so many containers. Where it is the message that followed the previous one before, its end is known. */
  #readValue(kind: string | undefined, depth: number, previous: KnownPiece | undefined): ValueRange | undefined {
    const { scanner } = this;
    const bytes = this.#bytes;
    const cache = this.#cache;
    const from = this.#at;
    const first = bytes[from];
    const guess = from + (cache?.lengthBehind(previous) ?? 0);
    if (kind !== undefined && guess > from && first === OPEN_BRACE && bytes[guess - 1] === CLOSE_BRACE) {
      const known = cache?.find(kind, bytes, from, guess);
      if (known !== undefined) {
        this.#at = guess;
        return scanner.addValues(known.values) ? rangeOfKnown(from, guess, known) : undefined;
      }
    }
    const { members, values } = scanner;
    scanner.hasOddNumbers = false;
    const to = scanner.endOfValue(from, depth);
    if (to < 0) return undefined;
    this.#at = to;
    if (isCached(kind, to - from) && (first === OPEN_BRACE || first === OPEN_BRACKET)) {
      const known = cache?.find(kind, bytes, from, to);
      if (known !== undefined) return rangeOfKnown(from, to, known);
    }
    return {
      from,
      to,
      known: undefined,
      members: scanner.members - members,
      values: scanner.values - values,
      hasOddNumbers: scanner.hasOddNumbers,
    };
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

function rangeOfKnown(from: number, to: number, known: KnownPiece): ValueRange {
  return { from, to, known, members: 0, values: known.values, hasOddNumbers: known.hasOddNumbers };
}

/** A name of plain ASCII as it is written; undefined for all others, which nobody looks for here. */
function nameIn(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (to - from > maxNameLength) return undefined;
  let name = "";
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (byte > 0x7e || byte === BACKSLASH) return undefined;
    name += String.fromCharCode(byte);
  }
  return name;
}

const maxNameLength = 64;
