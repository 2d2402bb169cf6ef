const QUOTE = 0x22;
const COMMA = 0x2c;
const POINT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Every integer of fewer digits is a safe one. */
const maxSafeDigits = 15;

/** Why JSON goes no further: it is none, or exceeds a limit. */
export type JsonProblem = "not_json" | "too_deep" | "too_many_values";

export interface JsonLimits {
  /** Deepest nesting of objects and arrays. */
  readonly depth: number;
  /** Objects, arrays, texts, numbers and literals. A value of two characters takes a hundred bytes of memory and more once it is parsed. */
  readonly values: number;
}

/**
 * Finds where values of JSON in UTF-8 end, without parsing it: so a hostile body is refused before it takes memory, and
 * a known one need not be parsed. Strings are skipped by a native search. Does not check that the text is JSON.
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  /** Of the value that ended here. */
  problem: JsonProblem = "not_json";
  /** Values so far. */
  values = 1;
  /** Members of objects so far, at any depth: fewer are parsed where a key stands twice. */
  members = 0;
  /** Whether a number so far would be written in another way once it is parsed: it is long, or has an exponent. */
  hasRawNumbers = false;
  readonly #limits: JsonLimits;

  constructor(bytes: Uint8Array, limits: JsonLimits) {
    this.bytes = bytes;
    this.#limits = limits;
  }

  /** Whether so many more values are allowed. */
  addValues(count: number): boolean {
    this.values += count;
    if (this.values <= this.#limits.values) return true;
    this.problem = "too_many_values";
    return false;
  }

  /** The place behind the value that begins at a place, which lies so deep; -1 with a `problem`. */
  endOfValue(from: number, depth: number): number {
    const { bytes } = this;
    const { depth: maxDepth, values: maxValues } = this.#limits;
    let { values } = this;
    let inside = depth;
    for (let at = from; at < bytes.length; at++) {
      switch (bytes[at]) {
        case QUOTE:
          at = endOfString(bytes, at + 1);
          if (at < 0) return this.#fail("not_json", values);
          if (inside > depth) break;
          this.values = values;
          return at + 1;
        case COLON:
          this.members += 1;
          break;
        case COMMA:
          if (inside === depth) return this.#ended(at, values);
          if (++values > maxValues) return this.#fail("too_many_values", values);
          break;
        case OPEN_BRACKET:
        case OPEN_BRACE:
          if (++inside > maxDepth) return this.#fail("too_deep", values);
          if (++values > maxValues) return this.#fail("too_many_values", values);
          break;
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          // Of what the value is in.
          if (inside === depth) return this.#ended(at, values);
          if (--inside === depth) return this.#ended(at + 1, values);
          break;
        default:
          if (isDigit(bytes[at])) at = this.#endOfNumber(at) - 1;
      }
    }
    return inside === depth ? this.#ended(bytes.length, values) : this.#fail("not_json", values);
  }

  #ended(at: number, values: number): number {
    this.values = values;
    return at;
  }

  #fail(problem: JsonProblem, values: number): -1 {
    this.values = values;
    this.problem = problem;
    return -1;
  }

  #endOfNumber(from: number): number {
    const { bytes } = this;
    let at = from + 1;
    for (; isInNumber(bytes[at]); at++) {
      if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) this.hasRawNumbers = true;
    }
    if (at - from > maxSafeDigits) this.hasRawNumbers = true;
    return at;
  }
}

/** Of a body, and of JSON in its texts, such as the arguments of tool calls. */
export const maxJsonDepth = 64;
const maxInnerValues = 100_000;

/**
 * The value of JSON that stands in a text of a body, within a body's limits: an array of arrays takes ninety times its
 * length once it is parsed.
 * @throws SyntaxError for what is no JSON, RangeError for what exceeds a limit
 */
export function parseInnerJson(text: string): unknown {
  // Each level takes two characters, each value at least one.
  if (text.length > 2 * maxJsonDepth) {
    const scanner = new JsonScanner(Buffer.from(text), { depth: maxJsonDepth, values: maxInnerValues });
    if (scanner.endOfValue(0, 0) < 0 && scanner.problem !== "not_json") throw new RangeError(scanner.problem);
  }
  return JSON.parse(text);
}

/** Whether a text of JSON holds more values than that; looks no further, and only where that may be. */
export function hasMoreValuesThan(text: string, limit: number): boolean {
  // Each value takes a character, and another that separates it from the next.
  if (text.length < 2 * limit) return false;
  const scanner = new JsonScanner(Buffer.from(text), { depth: Number.POSITIVE_INFINITY, values: limit });
  return scanner.endOfValue(0, 0) < 0 && scanner.problem === "too_many_values";
}

const searchesBeforeLoop = 4;
const closeTogether = 32;

/** The place of the quote that closes a string, looked for from a place in it on; -1 where there is none. */
export function endOfString(bytes: Uint8Array, from: number): number {
  let quote = bytes.indexOf(QUOTE, from);
  let last = from - 1;
  /** Escaped quotes in a row that stood close together. */
  let close = 0;
  while (quote >= 0) {
    let backslashes = 0;
    while (quote - backslashes > from && bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    close = quote - last < closeTogether ? close + 1 : 0;
    last = quote;
    let at = quote + 1;
    // Where escapes are dense, as in JSON within JSON, a native search for each quote would cost more; elsewhere it costs less.
    const near = close < searchesBeforeLoop ? at : at + closeTogether;
    for (; at < near; at += bytes[at] === BACKSLASH ? 2 : 1) {
      if (bytes[at] === QUOTE) return at;
    }
    quote = bytes.indexOf(QUOTE, at);
  }
  return -1;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9;
}

function isInNumber(byte: number | undefined): boolean {
  return isDigit(byte) || byte === POINT || byte === LOWER_E || byte === UPPER_E || byte === PLUS || byte === MINUS;
}
