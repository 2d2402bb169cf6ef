import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkEvent, TemplateMatch } from "#upstream/upstream.ts";

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
  readonly #before: string;
  readonly #after: string;

  private constructor(before: string, after: string) {
    this.#before = before;
    this.#after = after;
  }

  /**
   * The template of a chunk with one choice that has text; undefined where its content is not found for certain. The proof:
   * the same JSON text with another word in that place parses as the same chunk with that word as content, so the place is
   * inside the content string and nowhere else.
   */
  static of(raw: string, chunk: JsonObject): ChunkTemplate | undefined {
    const content = contentOf(chunk);
    if (typeof content !== "string" || content === "") return undefined;
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

  /**
   * The chunk whose data is `text` from `from` to `to`, if it matches the template. The data is a whole event: one line with
   * `data: ` before it, and the line's end and a blank line after it.
   */
  match(text: string, from: number, to: number): ChunkEvent | undefined {
    const start = from + this.#before.length;
    const end = to - this.#after.length;
    if (start >= end || !text.startsWith(this.#before, from) || !text.endsWith(this.#after, to)) return undefined;
    if (!isInsideString(text, start, end)) return undefined;
    return new TemplateChunk(this, text.slice(from - field.length, to + lineEnds.length));
  }

  contentJsonOf(event: string): string {
    return event.slice(field.length + this.#before.length, -this.#after.length - lineEnds.length);
  }

  withContent(contentJson: string): string {
    return this.#before + contentJson + this.#after;
  }
}

const field = "data: ";
const lineEnds = "\n\n";

/** A chunk that matches a template; parsed only when `chunk` is read. */
class TemplateChunk implements ChunkEvent, TemplateMatch {
  readonly kind = "chunk";
  readonly template: ChunkTemplate;
  readonly event: string;
  #chunk: JsonObject | undefined;

  constructor(pattern: ChunkTemplate, event: string) {
    this.template = pattern;
    this.event = event;
  }

  get templateMatch(): TemplateMatch {
    return this;
  }

  get rawLength(): number {
    return this.event.length - field.length - lineEnds.length;
  }

  get raw(): string {
    return this.event.slice(field.length, -lineEnds.length);
  }

  get chunk(): JsonObject {
    this.#chunk ??= JSON.parse(this.raw) as JsonObject; // the template guarantees an object
    return this.#chunk;
  }

  get contentJson(): string {
    return this.template.contentJsonOf(this.event);
  }

  withContent(contentJson: string): string {
    return this.template.withContent(contentJson);
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

/** Whether the characters from `from` to `to` are what JSON allows between the quotes of a string. */
function isInsideString(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at);
    if (unit < SPACE || unit === QUOTE) return false;
    if (unit !== BACKSLASH) continue;
    at += 1;
    if (at >= to) return false;
    if (text.charCodeAt(at) === LETTER_U) {
      if (at + 4 >= to || !/^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return false;
      at += 4;
    } else if (!'"\\/bfnrt'.includes(text.charAt(at))) {
      return false;
    }
  }
  return true;
}
