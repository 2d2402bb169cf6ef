import { parseInnerJson } from "#platform/json/json-scan.ts";
import type { Span } from "#privacy/text/spans.ts";

/**
 * Replaces spans inside the string literals of a JSON text, so that the rest of it stays byte for byte what it was.
 * A span that runs over several literals is cut to each of them; a number in a span becomes a string.
 * @param placeholder gives the replacement for a rule and a decoded value; must need no JSON escaping
 * @returns the JSON without the spans, or undefined if `json` is not JSON
 */
export function spliceJson(
  json: string,
  spans: readonly Span[],
  placeholder: (rule: string, value: string) => string,
): string | undefined {
  if (!isJson(json)) return undefined;
  let out = "";
  let at = 0;
  let token = nextToken(json, 0);
  for (const span of spans) {
    while (token !== undefined && token.end <= span.start) token = nextToken(json, token.next);
    while (token !== undefined && token.start < span.end) {
      if (token.literal) {
        const start = Math.max(at, outsideEscape(json, token.start, Math.max(token.start, span.start), 0));
        const end = outsideEscape(json, token.start, Math.min(token.end, span.end), 1);
        out += json.slice(at, start) + placeholder(span.rule, decoded(json.slice(start, end)));
        at = end;
        if (span.end <= token.end) break;
      } else {
        out += `${json.slice(at, token.start)}"${placeholder(span.rule, json.slice(token.start, token.end))}"`;
        at = token.end;
      }
      token = nextToken(json, token.next);
    }
  }
  return out + json.slice(at);
}

/** A place in a literal, moved to the beginning (0) or the end (1) of the escape sequence that it is in. */
function outsideEscape(json: string, from: number, place: number, side: 0 | 1): number {
  for (let at = place - 1; at >= Math.max(from, place - 5); at--) {
    if (json.charCodeAt(at) !== 0x5c || backslashesBefore(json, from, at) % 2 === 1) continue;
    const length = json[at + 1] === "u" ? 6 : 2;
    if (at + length > place) return at + side * length;
  }
  return place;
}

/** The inside of a string literal, or a number with at least one digit. */
interface Token {
  readonly literal: boolean;
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

const quoteOrNumber = /"|-?[0-9][0-9.eE+-]*/g;

function nextToken(json: string, from: number): Token | undefined {
  quoteOrNumber.lastIndex = from;
  const match = quoteOrNumber.exec(json);
  if (match === null) return undefined;
  const { index } = match;
  if (match[0] !== '"')
    return { literal: false, start: index, end: quoteOrNumber.lastIndex, next: quoteOrNumber.lastIndex };
  // An expression for a whole literal takes forty times as long, for megabytes of escapes half a second.
  const close = closingQuote(json, index + 1);
  return close < 0 ? undefined : { literal: true, start: index + 1, end: close, next: close + 1 };
}

/** The place of the quote that closes a string, looked for from its beginning on; -1 where there is none. */
function closingQuote(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    if (backslashesBefore(json, from, quote) % 2 === 0) return quote;
  }
  return -1;
}

function backslashesBefore(json: string, from: number, at: number): number {
  let count = 0;
  while (at - count > from && json.charCodeAt(at - count - 1) === 0x5c) count++;
  return count;
}

function isJson(text: string): boolean {
  try {
    parseInnerJson(text);
    return true;
  } catch {
    return false; // the answer itself: this is no JSON, or more of it than anybody reads
  }
}

function decoded(inside: string): string {
  if (!inside.includes("\\")) return inside;
  try {
    const value: unknown = JSON.parse(`"${inside}"`);
    return typeof value === "string" ? value : inside;
  } catch {
    return inside; // cut inside an escape sequence: the raw form identifies it as well
  }
}
