import { closingQuote, closingQuoteInSteps } from "./json-values.ts";

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Characters that a step reads or writes, about. An escape sequence takes up to ten nanoseconds for each of its characters. */
const usualStepLength = 1_048_576;
/** What a value takes beside its text, in characters that could be read in the same time. */
const valueOverhead = 32;

/**
 * `JSON.parse` in steps, for texts that would take it a tenth of a second, such as 16 MB of escaped quotes. A long string takes
 * several steps. Texts of many short values take a few times as long as with `JSON.parse`.
 * @param stepLength at least as long as an escape sequence
 * @throws SyntaxError for a text that is not JSON
 */
export function parseJsonInSteps(text: string, stepLength = usualStepLength): Generator<undefined, unknown> {
  return new JsonReader(text, stepLength).read();
}

/**
 * `JSON.stringify` in steps, as UTF-8. What it would leave out of an object is left out.
 * @returns the text in pieces
 */
export function writeJsonInSteps(
  value: object,
  stepLength = usualStepLength,
): Generator<undefined, readonly Uint8Array[]> {
  return new JsonWriter(stepLength).write(value);
}

/** An array or object whose end has not been read yet. */
type Container =
  | { readonly close: typeof CLOSE_BRACKET; readonly value: unknown[] }
  | { readonly close: typeof CLOSE_BRACE; readonly value: Record<string, unknown>; key: string };

class JsonReader {
  readonly #text: string;
  readonly #stepLength: number;
  #at = 0;
  /** Since the last step. */
  #worked = 0;

  constructor(text: string, stepLength: number) {
    this.#text = text;
    this.#stepLength = stepLength;
  }

  *read(): Generator<undefined, unknown> {
    const open: Container[] = [];
    for (;;) {
      let value: unknown;
      const first = this.#next();
      if (first === OPEN_BRACE || first === OPEN_BRACKET) {
        this.#at++;
        const container = first === OPEN_BRACE ? emptyObject() : emptyArray();
        if (this.#next() !== container.close) {
          if (container.close === CLOSE_BRACE) container.key = yield* this.#key();
          open.push(container);
          continue;
        }
        this.#at++;
        value = container.value;
      } else value = first === QUOTE ? yield* this.#string() : yield* this.#numberOrWord();

      // It may be the last of its container, which may be the last of its own.
      for (;;) {
        const container = open.at(-1);
        const next = this.#next();
        if (container === undefined) {
          if (this.#at < this.#text.length) throw notJson();
          return value;
        }
        addTo(container, value);
        this.#worked += valueOverhead;
        if (this.#worked > this.#stepLength) {
          this.#worked = 0;
          yield;
        }
        if (next !== COMMA && next !== container.close) throw notJson();
        this.#at++;
        if (next === COMMA) {
          if (container.close === CLOSE_BRACE) container.key = yield* this.#key();
          break;
        }
        open.pop();
        value = container.value;
      }
    }
  }

  /** The first character that is no white space, from here on; NaN at the end. */
  #next(): number {
    const text = this.#text;
    // A field would be written for each character of megabytes of white space.
    let at = this.#at;
    for (;;) {
      const c = text.charCodeAt(at);
      if (c !== SPACE && c !== LF && c !== CR && c !== TAB) {
        this.#at = at;
        return c;
      }
      at++;
    }
  }

  *#key(): Generator<undefined, string> {
    if (this.#next() !== QUOTE) throw notJson();
    const key = yield* this.#string();
    if (this.#next() !== COLON) throw notJson();
    this.#at++;
    return key;
  }

  *#string(): Generator<undefined, string> {
    const text = this.#text;
    let from = this.#at + 1;
    let end = closingQuote(text, from);
    if (end < -1) end = yield* closingQuoteInSteps(text, ~end);
    if (end < 0) throw notJson();
    this.#at = end + 1;
    this.#worked += end - from;
    // Without an escape sequence it is only copied.
    const escapeAt = end - from > this.#stepLength ? text.indexOf("\\", from) : -1;
    if (escapeAt < 0 || escapeAt > end) return JSON.parse(text.slice(from - 1, end + 1));
    const pieces: string[] = [];
    while (from < end) {
      yield;
      const to = from + this.#stepLength < end ? beforeEscape(text, from, from + this.#stepLength) : end;
      pieces.push(JSON.parse(`"${text.slice(from, to)}"`));
      from = to;
    }
    this.#worked = 0;
    return pieces.join("");
  }

  *#numberOrWord(): Generator<undefined, unknown> {
    const at = this.#at;
    numberOrWord.lastIndex = at;
    if (!numberOrWord.test(this.#text)) throw notJson();
    this.#at = numberOrWord.lastIndex;
    this.#worked += this.#at - at;
    if (this.#at - at > this.#stepLength) yield;
    return JSON.parse(this.#text.slice(at, this.#at));
  }
}

/** What may be one; `JSON.parse` knows. */
const numberOrWord = /[-+.\w]+/y;

function emptyObject(): Container {
  return { close: CLOSE_BRACE, value: {}, key: "" };
}

function emptyArray(): Container {
  return { close: CLOSE_BRACKET, value: [] };
}

function addTo(container: Container, value: unknown): void {
  if (container.close === CLOSE_BRACKET) container.value.push(value);
  else if (container.key !== "__proto__") container.value[container.key] = value;
  // Assigned, it would be the object's prototype.
  else
    Object.defineProperty(container.value, container.key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

/**
 * `cut`, or the place before it where an escape sequence of a JSON string begins that goes on beyond it.
 * @param from a place in the same string at or before `cut`, such as its beginning, that is in no escape sequence
 */
export function beforeEscape(text: string, from: number, cut: number): number {
  // The longest has six characters.
  let at = Math.max(from, cut - 5);
  let backslashes = 0;
  while (at - backslashes > from && text.charCodeAt(at - backslashes - 1) === BACKSLASH) backslashes++;
  if (backslashes % 2 === 1) at--;
  while (at < cut) {
    const isEscape = text.charCodeAt(at) === BACKSLASH;
    const end = isEscape ? at + (text.charCodeAt(at + 1) === LOWER_U ? 6 : 2) : at + 1;
    if (end > cut) return at;
    at = end;
  }
  return cut;
}

function notJson(): SyntaxError {
  return new SyntaxError("not JSON");
}

// The types of the language do not know this yet.
const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/** Objects of more members are not looked through before they are written. */
const fewMembers = 16;

class JsonWriter {
  readonly #stepLength: number;
  readonly #pieces: Uint8Array[] = [];
  #text = "";

  constructor(stepLength: number) {
    this.#stepLength = stepLength;
  }

  *write(value: object): Generator<undefined, readonly Uint8Array[]> {
    yield* this.#writeValue(value);
    this.#pieces.push(Buffer.from(this.#text));
    return this.#pieces;
  }

  *#writeValue(value: unknown): Generator<undefined, void> {
    if (typeof value === "string" && value.length > this.#stepLength) yield* this.#writeLongString(value);
    else if (!this.#isLarge(value)) this.#text += JSON.stringify(value) ?? "null";
    else if (Array.isArray(value)) yield* this.#writeArray(value);
    else yield* this.#writeObject(value);
    if (this.#text.length > this.#stepLength) {
      this.#pieces.push(Buffer.from(this.#text));
      this.#text = "";
      yield;
    }
  }

  *#writeArray(array: readonly unknown[]): Generator<undefined, void> {
    let separator = "[";
    for (const item of array) {
      this.#text += separator;
      separator = ",";
      yield* this.#writeValue(item);
    }
    this.#text += separator === "[" ? "[]" : "]";
  }

  *#writeObject(object: object): Generator<undefined, void> {
    let separator = "{";
    for (const [key, member] of Object.entries(object)) {
      if (member === undefined) continue;
      this.#text += `${separator}${JSON.stringify(key)}:`;
      separator = ",";
      yield* this.#writeValue(member);
    }
    this.#text += separator === "{" ? "{}" : "}";
  }

  *#writeLongString(text: string): Generator<undefined, void> {
    this.#text += '"';
    for (let from = 0; from < text.length; ) {
      let to = Math.min(text.length, from + this.#stepLength);
      // Half a surrogate pair would be written as an escape sequence.
      if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
      this.#pieces.push(Buffer.from(this.#text + JSON.stringify(text.slice(from, to)).slice(1, -1)));
      this.#text = "";
      from = to;
      yield;
    }
    this.#text += '"';
  }

  /** Whether a value holds more than a few short members, such as a message of a few kilobytes has. */
  #isLarge(value: unknown): value is object {
    if (typeof value !== "object" || value === null || isRawJSON(value)) return false;
    let members = 0;
    let length = 0;
    for (const member of Object.values(value)) {
      if (typeof member === "object" && member !== null && !isRawJSON(member)) return true;
      if (typeof member === "string") length += member.length;
      if (++members > fewMembers || length > this.#stepLength) return true;
    }
    return false;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
