import { byteSet, CR, EQUALS, HYPHEN, LF, matchEnd, PLUS, SLASH, SPACE, TAB, TILDE, UNDERSCORE } from "./characters.ts";
import type { NormalizedText } from "./normalized-text.ts";
import type { Span } from "./spans.ts";

/** Shorter encoded texts hold no setting that matters. */
const minEncodedLength = 24;
/** Longest that is decoded in one piece, and how much is decoded of one text. */
const maxEncodedLength = 65_536;

const sextets = new Int8Array(256).fill(-1);
for (const [i, c] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  sextets[c.charCodeAt(0)] = i;
sextets[HYPHEN] = 62; // the URL-safe alphabet
sextets[UNDERSCORE] = 63;

/** 1 for the characters of base64 in both alphabets, which are also those of a token and `+/`. */
export const base64Characters = Uint8Array.from(sextets, (sextet) => (sextet < 0 ? 0 : 1));

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
export function beginsText({ bytes }: NormalizedText, at: number): boolean {
  let [isNarrow, isWide] = [true, true];
  for (let i = 0; i < 9; i++) {
    const first = sextets[bytes[at + i + Math.floor(i / 3)] ?? 0] ?? -1;
    const second = sextets[bytes[at + i + Math.floor(i / 3) + 1] ?? 0] ?? -1;
    if ((first | second) < 0) return false;
    const shift = (i % 3) * 2;
    const code = ((first << (2 + shift)) & 0xff) | (second >> (4 - shift));
    isNarrow &&= isPrintable(code);
    isWide &&= i % 2 === 0 ? isPrintable(code) : code === 0;
    if (!isNarrow && !isWide) return false;
  }
  return true;
}

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

function isPrintable(code: number): boolean {
  return (code >= SPACE && code <= TILDE) || code === LF || code === CR || code === TAB;
}
