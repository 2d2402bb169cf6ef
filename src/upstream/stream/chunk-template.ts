import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkRun, ContentTemplate } from "#upstream/upstream.ts";

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
export class ChunkTemplate implements ContentTemplate {
  readonly #before: string;
  readonly #after: string;
  /** What an event of this template begins with, up to its content, and what it ends with. */
  readonly #head: string;
  readonly #tail: string;

  private constructor(before: string, after: string) {
    this.#before = before;
    this.#after = after;
    this.#head = `data: ${before}`;
    this.#tail = `${after}\n\n`;
  }

  /**
   * The template of a chunk with one choice that has text; undefined where its content is not found for certain. The proof:
   * the same JSON text with another word in that place parses as the same chunk with that word as content, so the place is
   * inside the content string and nowhere else.
   */
  static of(raw: string, chunk: JsonObject): ChunkTemplate | undefined {
    const content = contentOf(chunk);
    if (typeof content !== "string" || content === "") return undefined;
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
    if (!isObject(other) || contentOf(other) !== probe) return undefined;
    setContent(other, content);
    return JSON.stringify(other) === JSON.stringify(chunk) ? new ChunkTemplate(before, after) : undefined;
  }

  /** Where the content begins in an event of this template. */
  get contentStart(): number {
    return this.#head.length;
  }

  /** Where the content ends in a text that is one event of this template and nothing else; -1 for any other text. */
  endOfOnlyContent(text: string): number {
    const end = text.length - this.#tail.length;
    return this.#contentEnd(text, 0, text.length) === end ? end : -1;
  }

  /** The events of this template that follow each other in `text`, from `from` and up to `until` at most. */
  match(text: string, from: number, until: number): ChunkRun | undefined {
    let contentJson = "";
    let count = 0;
    let at = from;
    for (let to = this.#contentEnd(text, at, until); to > 0; to = this.#contentEnd(text, at, until)) {
      const next = to + this.#tail.length;
      const content = text.slice(at + this.#head.length, to);
      contentJson = count === 0 ? content : contentJson + content;
      count += 1;
      at = next;
    }
    if (count === 0) return undefined;
    // The same string, where there is nothing else in it.
    return new Run(this, from === 0 && at === text.length ? text : text.slice(from, at), count, contentJson);
  }

  /** The contents of events that have matched. */
  contentsOf(events: string): string[] {
    const contents: string[] = [];
    for (let at = 0; at < events.length; ) {
      const to = this.#contentEnd(events, at, events.length);
      contents.push(events.slice(at + this.#head.length, to));
      at = to + this.#tail.length;
    }
    return contents;
  }

  withContent(contentJson: string): string {
    return this.#before + contentJson + this.#after;
  }

  /** Where the content of an event ends that begins at `at`; -1 if it is none of this template, or goes on behind `until`. */
  #contentEnd(text: string, at: number, until: number): number {
    if (!text.startsWith(this.#head, at)) return -1;
    const start = at + this.#head.length;
    const end = endOfString(text, start, until - this.#tail.length);
    return end > start && text.startsWith(this.#tail, end) ? end : -1;
  }
}

/** What an event is beside its data. */
const eventFraming = "data: \n\n";

class Run implements ChunkRun {
  readonly kind = "run";
  readonly template: ChunkTemplate;
  readonly events: string;
  readonly count: number;
  readonly contentJson: string;

  constructor(template: ChunkTemplate, events: string, count: number, contentJson: string) {
    this.template = template;
    this.events = events;
    this.count = count;
    this.contentJson = contentJson;
  }

  get dataLength(): number {
    return this.events.length - this.count * eventFraming.length;
  }

  contents(): readonly string[] {
    return this.count === 1 ? [this.contentJson] : this.template.contentsOf(this.events);
  }
}

function contentOf(chunk: JsonObject): Json | undefined {
  const choices = chunk["choices"];
  const choice = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  const delta = isObject(choice) ? choice["delta"] : undefined;
  return isObject(delta) ? delta["content"] : undefined;
}

function setContent(chunk: JsonObject, content: string): void {
  const choice = (chunk["choices"] as [JsonObject])[0]; // `contentOf` has found it
  (choice["delta"] as JsonObject)["content"] = content;
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
