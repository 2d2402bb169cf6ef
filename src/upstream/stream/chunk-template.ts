import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkRun } from "#upstream/upstream.ts";

/** Letters: in JSON they are valid only inside a string. */
const probe = "probe";

/** The inside of a JSON string that is not empty. One with more escapes than this is rare enough to be parsed. */
const insideOfString = /(?!")[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,1000}/y;

/**
 * The JSON text of a chunk before and after its content. Nearly all chunks of a stream differ in their content only, so
 * a chunk that starts and ends like the template, with valid JSON string characters in between, need not be parsed: it
 * is valid JSON, and the same object except for its content.
 */
export class ChunkTemplate {
  /** What an event of this template begins with, up to its content, and what it ends with. */
  readonly head: string;
  readonly tail: string;

  private constructor(before: string, after: string) {
    this.head = `data: ${before}`;
    this.tail = `${after}\n\n`;
  }

  /**
   * The template of a chunk with one choice that has text; undefined where its content is not found for certain. The
   * proof: with another word in that place the JSON text says that word for the content. The word stands between the
   * two quotes that the content had, of which the first follows a colon, so it is one whole string, and nothing else
   * has changed.
   */
  static of(raw: string, chunk: JsonObject): ChunkTemplate | undefined {
    const content = contentIn(chunk);
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
    return isObject(other) && contentIn(other) === probe ? new ChunkTemplate(before, after) : undefined;
  }

  /** The events of this template that follow each other in `text`, from `from` and up to `until` at most. */
  match(text: string, from: number, until: number): ChunkRun | undefined {
    const { head, tail } = this;
    const contentEnds: number[] = [];
    let to = from;
    while (text.startsWith(head, to)) {
      insideOfString.lastIndex = to + head.length;
      if (!insideOfString.test(text)) break;
      const end = insideOfString.lastIndex;
      if (end + tail.length > until || !text.startsWith(tail, end)) break;
      contentEnds.push(end - from);
      to = end + tail.length;
    }
    if (to === from) return undefined;
    // The same string, where there is nothing else in it.
    const events = from === 0 && to === text.length ? text : text.slice(from, to);
    return { kind: "run", template: this, events, contentEnds };
  }
}

function contentIn(chunk: JsonObject): Json | undefined {
  const choices = chunk["choices"];
  const choice = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  const delta = isObject(choice) ? choice["delta"] : undefined;
  return isObject(delta) ? delta["content"] : undefined;
}
