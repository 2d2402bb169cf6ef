import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkRun } from "#upstream/upstream.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** Characters below it are control characters, which JSON strings must escape. */
const SPACE = 0x20;

/** Letters: in JSON they are valid only inside a string. */
const probe = "probe";

/**
 * The JSON text of a chunk before and after its content. Nearly all chunks of a stream differ in their content only, so
 * a chunk that starts and ends like the template, with valid JSON string characters in between, need not be parsed: it is
 * valid JSON, and the same object except for its content.
 */
export class ChunkTemplate {
  /** What an event of this template begins with, up to its content, and what it ends with. */
  readonly head: string;
  readonly tail: string;
  /** What is between the contents of two consecutive events. */
  readonly #between: string;

  private constructor(before: string, after: string) {
    this.head = `data: ${before}`;
    this.tail = `${after}\n\n`;
    this.#between = this.tail + this.head;
  }

  /**
   * The template of a chunk with one choice that has text; undefined where its content is not found for certain. The proof:
   * with another word in that place the JSON text says that word for the content. The word stands between the two quotes that
   * the content had, of which the first follows a colon, so it is one whole string, and nothing else has changed.
   */
  static of(raw: string, chunk: JsonObject): ChunkTemplate | undefined {
    const content = contentOf(chunk);
    if (typeof content !== "string" || content === "" || content === probe) return undefined;
    // An event is looked for as one line, and several data lines make one text too.
    if (raw.includes("\n")) return undefined;
    const quoted = JSON.stringify(content);
    const named = /"content": ?$/;
    let at = raw.indexOf(quoted);
    while (at >= 0 && !named.test(raw.slice(Math.max(0, at - 12), at))) at = raw.indexOf(quoted, at + 1);
    if (at < 0) return undefined;
    const before = raw.slice(0, at + 1);
    const after = raw.slice(at + quoted.length - 1);
    let other: Json;
    try {
      other = JSON.parse(before + probe + after);
    } catch {
      return undefined;
    }
    return isObject(other) && contentOf(other) === probe ? new ChunkTemplate(before, after) : undefined;
  }

  /** The events of this template that follow each other in `text`, from `from` and up to `until` at most. */
  match(text: string, from: number, until: number): ChunkRun | undefined {
    if (!text.startsWith(this.head, from)) return undefined;
    const last = until - this.tail.length;
    const ends: number[] = [];
    for (let start = from + this.head.length; ; ) {
      const end = endOfString(text, start, last);
      if (end <= start) break;
      if (text.startsWith(this.#between, end)) {
        ends.push(end - from);
        start = end + this.#between.length;
      } else {
        if (text.startsWith(this.tail, end)) ends.push(end - from);
        break;
      }
    }
    if (ends.length === 0) return undefined;
    const to = from + (ends.at(-1) ?? 0) + this.tail.length;
    // The same string, where there is nothing else in it.
    const events = from === 0 && to === text.length ? text : text.slice(from, to);
    return { kind: "run", template: this, events, contentEnds: ends };
  }
}

function contentOf(chunk: JsonObject): Json | undefined {
  const choices = chunk["choices"];
  const choice = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  const delta = isObject(choice) ? choice["delta"] : undefined;
  return isObject(delta) ? delta["content"] : undefined;
}

/**
 * Where the quote is that ends the JSON string whose inside begins at `from`, `last` at the latest; -1 if something comes before
 * it that no string may hold.
 */
function endOfString(text: string, from: number, last: number): number {
  for (let at = from; at <= last; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit < SPACE) return -1;
    if (unit !== BACKSLASH) continue;
    at += 1;
    if (text.charCodeAt(at) === LETTER_U) {
      if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return -1;
      at += 4;
    } else if (at >= text.length || !simpleEscapes.includes(text.charAt(at))) {
      return -1;
    }
  }
  return -1;
}

const simpleEscapes = '"\\/bfnrt';
