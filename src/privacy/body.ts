import type { Json, JsonObject } from "#domain/chat.ts";
import { mayContinueToken } from "./continuation.ts";
import { spliceJson } from "./json-splice.ts";
import { Placeholders } from "./placeholders.ts";
import type { ChatBody, Finding, RedactedBody } from "./redaction.ts";
import { restorer } from "./restore.ts";
import type { Scan, Span } from "./spans.ts";

/** Forwarded as they came, so what is found in them can only be reported. */
const forwardedUnchanged = new Set(["tools", "functions", "tool_choice", "function_call", "response_format"]);
/** Names and ids that pair messages with each other; they are no text. */
const notText = new Set(["role", "type", "id", "tool_call_id", "model"]);
/** Keys that make a short value beside them a secret; the value alone would not show it. */
const tellingKey = /pass|pwd|secret|token|key|cred|auth/i;
/** How much of each of two adjacent parts is read again across their joint. */
const jointWindow = 4_096;

/** Redacts one request body. Numbers run through the whole body in document order. */
export function redactBody(body: ChatBody, scan: Scan, restoring: boolean): RedactedBody {
  const walk = new Walk(scan);
  let changed: ChatBody | undefined;
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === undefined || notText.has(key) || forwardedUnchanged.has(key)) continue;
    const redacted = key === "messages" ? walk.messages(body.messages) : walk.value(value, key);
    if (redacted === value) continue;
    changed ??= { ...body };
    changed[key] = redacted;
  }
  const findings = walk.takeFindings();
  for (const key of forwardedUnchanged) {
    const value = body[key];
    if (value !== undefined) walk.value(value, key);
  }
  const unredactable = walk.takeFindings();
  let total = 0;
  for (const finding of findings) total += finding.count;
  const result = { body: changed ?? body, findings, total, unredactable };
  return restoring && total > 0 ? { ...result, restore: restorer(walk.placeholders.values()) } : result;
}

const noFindings: readonly Finding[] = [];

class Walk {
  readonly placeholders = new Placeholders();
  readonly #scan: Scan;
  #messageIndex = -1;
  /** `messageIndex rule` → finding, in order of first appearance; not there before the first. */
  #findings: Map<string, { rule: string; count: number; messageIndex: number }> | undefined;

  constructor(scan: Scan) {
    this.#scan = scan;
  }

  takeFindings(): readonly Finding[] {
    if (this.#findings === undefined) return noFindings;
    const taken = [...this.#findings.values()];
    this.#findings = undefined;
    return taken;
  }

  messages(messages: ChatBody["messages"]): Json[] {
    let changed: Json[] | undefined;
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      if (message === undefined) continue;
      this.#messageIndex = index;
      const redacted = this.value(message, "");
      if (redacted === message) continue;
      changed ??= [...messages];
      changed[index] = redacted;
    }
    this.#messageIndex = -1;
    return changed ?? messages;
  }

  /** The value, or a copy of it without secrets. */
  value(value: Json, key: string): Json {
    if (typeof value === "string") return this.#string(value, key);
    if (Array.isArray(value)) return this.#array(value, key);
    if (value !== null && typeof value === "object") return this.#object(value);
    return value;
  }

  #object(object: JsonObject): JsonObject {
    let changed: JsonObject | undefined;
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (value === undefined || value === null || notText.has(key)) continue;
      const redacted = this.value(value, key);
      if (redacted === value) continue;
      changed ??= { ...object };
      changed[key] = redacted;
    }
    return changed ?? object;
  }

  #array(array: Json[], key: string): Json[] {
    const texts = textParts(array);
    const joints = texts.length > 1 ? this.#joints(texts) : undefined;
    let changed: Json[] | undefined;
    for (let index = 0; index < array.length; index++) {
      const item = array[index];
      if (item === undefined) continue;
      const across = joints?.get(index);
      const redacted = across === undefined ? this.value(item, key) : this.#part(item, across);
      if (redacted === item) continue;
      changed ??= [...array];
      changed[index] = redacted;
    }
    return changed ?? array;
  }

  /** Secrets that begin in one text part and end in the next: what each part has to lose. */
  #joints(texts: readonly TextPart[]): Map<number, PartSpan[]> | undefined {
    let cuts: Map<number, PartSpan[]> | undefined;
    const cut = (index: number, span: PartSpan) => {
      cuts ??= new Map();
      cuts.set(index, [...(cuts.get(index) ?? []), span]);
    };
    for (let i = 1; i < texts.length; i++) {
      const left = texts[i - 1];
      const right = texts[i];
      if (left === undefined || right === undefined || right.index !== left.index + 1) continue;
      const from = Math.max(0, left.text.length - jointWindow);
      const joint = left.text.length - from;
      const window = left.text.slice(from) + right.text.slice(0, jointWindow);
      for (const span of this.#scan(window)) {
        if (span.start >= joint || span.end <= joint) continue;
        // A token that is whole without the next part, whose text only happens to go on with such characters.
        if (!mayContinueToken(right.text) && this.#isWhole(window.slice(0, joint), span.start)) continue;
        const value = window.slice(span.start, span.end);
        cut(left.index, { start: from + span.start, end: left.text.length, rule: span.rule, value, continues: false });
        cut(right.index, { start: 0, end: span.end - joint, rule: span.rule, value, continues: true });
      }
    }
    return cuts;
  }

  /** Whether what begins at a place of a text is a secret up to its end, with nothing behind it. */
  #isWhole(text: string, start: number): boolean {
    return this.#scan(text).some((span) => span.start === start && span.end === text.length);
  }

  #part(part: Json, across: readonly PartSpan[]): Json {
    // Only objects with a string `text` get spans across a joint (see textParts).
    const { text } = part as { text: string };
    const own = this.#scan(text)
      .filter((span) => !across.some((other) => span.start < other.end && other.start < span.end))
      .map((span) => ({ ...span, value: text.slice(span.start, span.end), continues: false }));
    const spans = [...own, ...across].sort((a, b) => a.start - b.start);
    let out = "";
    let at = 0;
    for (const span of spans) {
      const start = Math.max(span.start, at);
      out += text.slice(at, start);
      // The placeholder stands in the part where the secret begins; a part that would end up empty carries it too,
      // because some upstreams refuse an empty text part.
      if (!span.continues || span.end === text.length) out += this.placeholders.of(span.rule, span.value);
      if (!span.continues) this.#count(span.rule);
      at = Math.max(at, span.end);
    }
    return { ...(part as JsonObject), text: out + text.slice(at) };
  }

  #string(text: string, key: string): string {
    if (key === "arguments") return this.#arguments(text);
    const spans = tellingKey.test(key) && text.length < jointWindow ? this.#keyed(text, key) : this.#scan(text);
    return spans.length === 0 ? text : this.#replace(text, spans);
  }

  /** A string under a telling key is read together with that key. */
  #keyed(text: string, key: string): readonly Span[] {
    const lead = `${key}: `;
    const spans: Span[] = [];
    for (const { start, end, rule } of this.#scan(lead + text)) {
      if (end > lead.length) spans.push({ start: Math.max(0, start - lead.length), end: end - lead.length, rule });
    }
    return spans;
  }

  #arguments(json: string): string {
    const spans = this.#scan(json);
    if (spans.length === 0) return json;
    const redacted = spliceJson(json, spans, (rule, value) => {
      this.#count(rule);
      return this.placeholders.of(rule, value);
    });
    return redacted ?? this.#replace(json, spans);
  }

  #replace(text: string, spans: readonly Span[]): string {
    let out = "";
    let at = 0;
    for (const { start, end, rule } of spans) {
      this.#count(rule);
      out += text.slice(at, start) + this.placeholders.of(rule, text.slice(start, end));
      at = end;
    }
    return out + text.slice(at);
  }

  #count(rule: string) {
    const key = `${this.#messageIndex} ${rule}`;
    this.#findings ??= new Map();
    const finding = this.#findings.get(key);
    if (finding !== undefined) finding.count += 1;
    else this.#findings.set(key, { rule, count: 1, messageIndex: this.#messageIndex });
  }
}

interface TextPart {
  readonly index: number;
  readonly text: string;
}

interface PartSpan extends Span {
  readonly value: string;
  /** The secret began in the part before. */
  readonly continues: boolean;
}

function textParts(array: readonly Json[]): TextPart[] {
  const parts: TextPart[] = [];
  if (array.length < 2) return parts;
  for (const [index, item] of array.entries()) {
    if (item === null || typeof item !== "object" || Array.isArray(item)) continue;
    if (typeof item["text"] === "string" && item["text"] !== "") parts.push({ index, text: item["text"] });
  }
  return parts;
}
