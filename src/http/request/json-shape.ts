import { closingQuote, closingQuoteInSteps } from "#platform/json/json-values.ts";
import type { JsonOutline } from "./json-outline.ts";

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Deepest nesting of objects and arrays that a body may have. */
export const maxJsonDepth = 64;

/** What a scan of JSON text finds before the text is parsed. Does not check that the text is JSON. */
export interface JsonShape {
  /** It nests deeper than the limit; then nothing else is known. */
  readonly tooDeep: boolean;
  /** It holds more values than the limit, counted as `hasMoreValuesThan` counts them; then nothing else is known. */
  readonly tooManyValues: boolean;
  /** Numbers written with an exponent (`1e20`): the only values that may be longer once serialized again. */
  readonly exponents: number;
  /** Some number has so many digits that a double may not hold it. */
  readonly longIntegers: boolean;
  /** Some number is too large for a double (`1e400`): it would be parsed as infinite, and serialized as `null`. */
  readonly infinite: boolean;
  /** Some key (or whole string) is `cache_control` or `prompt_cache_breakpoint`, however it is spelled. */
  readonly cacheControl: boolean;
}

/** Keys that ask an upstream to write to its prompt cache: aggregators treat both alike. */
const plainCacheKeys = ["cache_control", "prompt_cache_breakpoint"];

/** Whether a key, or a whole text, is one of them. */
function isCacheKeyName(text: unknown): boolean {
  return plainCacheKeys.some((key) => key === text);
}

const minCacheKeyLength = "cache_control".length + 1;
/** Every character as an escape of six characters, and the quotes. */
const maxCacheKeyLength = "prompt_cache_breakpoint".length * 6 + 1;

/** Every integer of fewer digits is a safe one. */
const maxSafeDigits = 15;

/**
 * Scans the text, so that a hostile body is refused before it is parsed; strings are skipped by a native
 * search, so it costs little on bodies that are mostly text.
 * @param outline gets what it notes, where one is wanted
 */
export function shapeOfJson(
  text: string,
  maxDepth: number,
  maxValues = Number.POSITIVE_INFINITY,
  outline?: JsonOutline,
): JsonShape {
  const scanner = new ShapeScanner(text, maxDepth, maxValues, outline);
  scanner.scanTo(text.length, Number.POSITIVE_INFINITY);
  return scanner.shape;
}

/** The same in steps, for texts of megabytes. */
export function* shapeOfJsonInSteps(
  text: string,
  maxDepth: number,
  maxValues: number,
): Generator<undefined, JsonShape> {
  const scanner = new ShapeScanner(text, maxDepth, maxValues);
  while (!scanner.scanTo(scanner.at + stepLength)) yield;
  return scanner.shape;
}

/** Characters outside of strings that a step looks at. */
const stepLength = 1_048_576;

class ShapeScanner {
  readonly shape: Scan = {
    tooDeep: false,
    tooManyValues: false,
    exponents: 0,
    longIntegers: false,
    infinite: false,
    cacheControl: false,
    large: 0,
  };
  /** Where to go on. */
  at = 0;
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #outline: JsonOutline | undefined;
  #depth = 0;
  #values = 1;
  /** Where the last string begins and ends; the end is -1 as long as it is not found. */
  #open = 0;
  #close = 0;

  constructor(text: string, maxDepth: number, maxValues: number, outline?: JsonOutline) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
    this.#outline = outline;
  }

  /**
   * Goes on up to a place: beyond it to the end of a string or number, or not so far where the end of a string takes many searches.
   * @returns whether all that is wanted is known
   */
  scanTo(to: number, maxSearches?: number): boolean {
    const text = this.#text;
    const shape = this.shape;
    const outline = this.#outline;
    const maxDepth = this.#maxDepth;
    const maxValues = this.#maxValues;
    let depth = this.#depth;
    let values = this.#values;
    let { at } = this;
    if (this.#close < 0) at = this.#endOfString(at, maxSearches) + 1;
    for (const end = Math.min(to, text.length); at < end; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          this.#open = at;
          at = this.#endOfString(at + 1, maxSearches);
          break;
        case COLON:
          outline?.colon(depth, this.#open, this.#close);
          break;
        case COMMA:
          if (++values > maxValues) {
            shape.tooManyValues = true;
            return true;
          }
          outline?.comma(depth, at);
          break;
        case OPEN_BRACKET:
        case OPEN_BRACE:
          shape.tooDeep = ++depth > maxDepth;
          shape.tooManyValues = ++values > maxValues;
          if (shape.tooDeep || shape.tooManyValues) return true;
          break;
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          outline?.close(depth, at);
          depth--;
          break;
        default:
          if (isDigit(text.charCodeAt(at))) {
            const numberEnd = scanNumber(text, at, shape);
            outline?.number(at, numberEnd);
            at = numberEnd - 1;
          }
      }
    }
    this.#depth = depth;
    this.#values = values;
    if (this.#close >= 0) this.at = at;
    return this.at >= text.length;
  }

  /** The end of the string that was opened last, looked for from a place on; the end of the text where it is not found, or not yet. */
  #endOfString(from: number, maxSearches?: number): number {
    const text = this.#text;
    const end = closingQuote(text, from, maxSearches);
    if (end < 0) {
      this.#close = end === -1 ? 0 : -1;
      this.at = ~end;
      return text.length;
    }
    this.#close = end;
    const length = end - this.#open;
    if (length >= minCacheKeyLength && length <= maxCacheKeyLength)
      this.shape.cacheControl ||= isCacheKey(text, this.#open, end);
    return end;
  }
}

type Scan = { -readonly [name in keyof JsonShape]: JsonShape[name] } & {
  /** Numbers so far that had to be converted to know whether they are infinite. */
  large: number;
};

/** Every number below 1e308 is a double. */
const maxExponent = 308;

/** Conversions cost, so there is a bound on them; more numbers near 1e308 than this count as infinite. */
const maxLarge = 10_000;

/** Records the number that begins at `start`, after its sign; returns the index of what follows it. */
function scanNumber(text: string, start: number, seen: Scan): number {
  let end = endOfDigits(text, start);
  let power = end - start;
  if (text.charCodeAt(end) === POINT) end = endOfDigits(text, end);
  const e = text.charCodeAt(end);
  if (e === UPPER_E || e === LOWER_E) {
    seen.exponents++;
    const sign = text.charCodeAt(end + 1);
    const from = sign === PLUS || sign === MINUS ? end + 1 : end;
    end = endOfDigits(text, from);
    power += exponentOf(text, from + 1, end, sign === MINUS);
  } else if (power > maxSafeDigits) {
    seen.longIntegers = true;
  }
  if (power > maxExponent && !seen.infinite) {
    // To convert millions of digits takes as long as to read them.
    const isBeyond = power > maxExponent + 1 && text.charCodeAt(start) !== DIGIT_0;
    seen.infinite = isBeyond || ++seen.large > maxLarge || Number(text.slice(start, end)) === Number.POSITIVE_INFINITY;
  }
  return end;
}

/** The number that a run of digits spells; far above any exponent for long runs. */
function exponentOf(text: string, from: number, to: number, negative: boolean): number {
  let value = 0;
  for (let at = from; at < to && value < 1e9; at++) value = 10 * value + text.charCodeAt(at) - DIGIT_0;
  return negative ? -value : value;
}

function isCacheKey(text: string, open: number, close: number): boolean {
  for (const key of plainCacheKeys) {
    if (close - open === key.length + 1 && text.startsWith(key, open + 1)) return true;
  }
  const string = text.slice(open, close + 1);
  if (!string.includes("\\u00")) return false;
  try {
    return isCacheKeyName(JSON.parse(string));
  } catch {
    // Not JSON: the parser reports it.
    return false;
  }
}

/** Whether a body of too many values nests too deep as well, as far as its beginning shows: the better reason to give. */
export function startsTooDeep(text: string): boolean {
  return shapeOfJson(text.slice(0, 65_536), maxJsonDepth).tooDeep;
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_9;
}

/** Valid JSON text with its long integers in quotes, so that they can be read as they are spelled; in steps. */
export function* quoteLongIntegers(text: string): Generator<undefined, string> {
  let out = "";
  let from = 0;
  let stepEnd = stepLength;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at + 1);
      if (at < -1) at = yield* closingQuoteInSteps(text, ~at);
      if (at < 0) break;
    } else if (isDigit(code)) {
      const start = text.charCodeAt(at - 1) === MINUS ? at - 1 : at;
      const end = endOfNumber(text, at);
      const digits = endOfDigits(text, at) - at;
      // Numbers with a fraction or an exponent are not integers: they keep the value of the double.
      if (digits > maxSafeDigits && at + digits === end) {
        out += `${text.slice(from, start)}"${text.slice(start, end)}"`;
        from = end;
      }
      at = end - 1;
    }
    if (at < stepEnd) continue;
    stepEnd = at + stepLength;
    yield;
  }
  return out + text.slice(from);
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (isInNumber(text.charCodeAt(end))) end++;
  return end;
}

/** A digit, sign, decimal point or exponent. */
function isInNumber(code: number): boolean {
  return isDigit(code) || code === PLUS || code === MINUS || code === POINT || code === UPPER_E || code === LOWER_E;
}

function endOfDigits(text: string, start: number): number {
  let end = start + 1;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}
