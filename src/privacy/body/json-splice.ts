import { beforeEscape } from "#platform/json/json-in-steps.ts";
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
  let cutsEscape = false;
  let token = nextToken(json, 0);
  for (const span of spans) {
    while (token !== undefined && token.end <= span.start) token = nextToken(json, token.next);
    while (token !== undefined && token.start < span.end) {
      if (token.literal) {
        // A span may begin or end inside an escape sequence only if it came from text that is not JSON.
        const start = Math.max(token.start, span.start);
        const end = Math.min(token.end, span.end);
        cutsEscape ||= beforeEscape(json, token.start, start) < start || beforeEscape(json, token.start, end) < end;
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
  out += json.slice(at);
  // Parsed once more only where it is needed: it may be megabytes.
  return cutsEscape && !isJson(out) ? undefined : out;
}

/** The inside of a string literal, or a number with at least one digit. */
interface Token {
  readonly literal: boolean;
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

const literalOrNumber = /"((?:[^"\\]|\\[\s\S])*)"|-?[0-9][0-9.eE+-]*/g;

function nextToken(json: string, from: number): Token | undefined {
  literalOrNumber.lastIndex = from;
  const match = literalOrNumber.exec(json);
  if (match === null) return undefined;
  const next = match.index + match[0].length;
  return match[1] === undefined
    ? { literal: false, start: match.index, end: next, next }
    : { literal: true, start: match.index + 1, end: next - 1, next };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // the answer itself: this is no JSON
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
