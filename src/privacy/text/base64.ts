import { byteSet, EQUALS, isTokenByte, matchEnd, PLUS, SLASH, TAB } from "./characters.ts";
import type { NormalizedText } from "./normalized-text.ts";
import type { Span } from "./spans.ts";

/** Shorter encoded texts hold no setting that matters. */
const minEncodedLength = 24;
/** Longest that is decoded in one piece, and how much is decoded of one text. */
const maxEncodedLength = 65_536;

/** 1 for the characters of base64 in both alphabets, which are also those of a token and `+/`. */
export const base64Characters = isTokenByte.map((inToken, code) => (code === PLUS || code === SLASH ? 1 : inToken));

/** A run of base64 and the printable text it stands for. */
export interface EncodedText extends Span {
  readonly text: string;
}

/** The characters of base64 that are neither letters nor digits. */
export function isBase64Symbol(c: number): boolean {
  return c === PLUS || c === SLASH || c === EQUALS;
}

/** The end of the base64 characters from a place on, `=` included. */
function base64End(normalized: NormalizedText, from: number): number {
  const { bytes, length } = normalized;
  let end = from;
  while (end < length && (base64Characters[bytes[end] ?? 0] === 1 || bytes[end] === EQUALS)) end++;
  return end;
}

/** Sentences without a number, and without anything set to anything, need no second look. */
const mayHoldSecret = /[0-9:=]/;

/** Whether base64 begins with text: 12 characters, 9 bytes. Drawn text passes once in ten thousand. */
export function beginsText({ text }: NormalizedText, at: number): boolean {
  return text9.test(Buffer.from(text.slice(at, at + 12), "base64").toString("latin1"));
}

/** Printable characters in UTF-8, or in UTF-16. */
const text9 = /^(?:[\t\n\r\x20-\x7e]{9}|(?:[\t\n\r\x20-\x7e]\0){4}[\t\n\r\x20-\x7e])$/;

/** The text that base64 of one or more lines stands for, in UTF-8 or UTF-16; undefined where it is none. */
export function decodeText(normalized: NormalizedText, start: number, end: number): string | undefined {
  const size = end - start;
  if (size < minEncodedLength || size > maxEncodedLength) return undefined;
  const decoded = Buffer.from(normalized.text.slice(start, end), "base64"); // which passes over line ends
  const text = decoded.toString(decoded[1] === 0 ? "utf16le" : "utf8");
  return /^[\t\n\r\x20-\x7e\xa0-\ufffc]{8,}$/.test(text) && mayHoldSecret.test(text) ? text : undefined;
}

/** Lines of wrapped base64 that are read as one. */
const maxLines = 4_096;
/** A line end with indentation and the marks of a quoted mail; what may stand behind a line of base64. */
const lineBreak = /[\r \t>]{0,46}\n[\r\n \t>]{0,47}/y;
const endsAlone = byteSet("\"'`<").map((ends, c) => (c < 0x20 && c !== TAB ? 1 : ends));

/** Where base64 ends whose first line is `[start, firstEnd)`: behind lines of that length and a shorter last one. */
export function wrappedEnd(normalized: NormalizedText, start: number, firstEnd: number): number {
  const { bytes, text } = normalized;
  const width = firstEnd - start;
  let end = firstEnd;
  if (width < 40) return end;
  for (let line = 0; line < maxLines; line++) {
    const next = matchEnd(lineBreak, text, end);
    if (next < 0 || base64Characters[bytes[next] ?? 0] === 0) return end;
    const to = base64End(normalized, next);
    const alone = endsAlone[bytes[to] ?? 0] === 1;
    if (to - next === width && alone) {
      end = to;
      continue;
    }
    // A word of the next paragraph is none.
    const close = text[to - 1] === "=" || text[end + 1] !== "\n";
    const isLast = to > next && to - next < width && (to - next) % 4 === 0 && alone && close;
    return isLast ? to : end;
  }
  return end;
}
