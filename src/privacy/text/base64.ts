import { CR, EQUALS, HYPHEN, LF, PLUS, SLASH, SPACE, TAB, TILDE, UNDERSCORE } from "./characters.ts";
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

/** A stretch of base64 and the printable text it stands for. */
export interface EncodedText extends Span {
  readonly text: string;
}

/** The characters of base64 that are neither letters nor digits. */
export function isBase64Symbol(c: number): boolean {
  return c === PLUS || c === SLASH || c === EQUALS;
}

/** The end of the base64 characters from a place on, `=` included. */
export function base64End(normalized: NormalizedText, from: number): number {
  const { bytes, length } = normalized;
  let end = from;
  while (end < length && (base64Characters[bytes[end] ?? 0] === 1 || bytes[end] === EQUALS)) end++;
  return end;
}

/** Sentences without a number, and without anything set to anything, need no second look. */
const mayHoldSecret = /[0-9:=]/;

/** Decodes a stretch if its beginning and its whole are printable ASCII. */
export function decodePrintable(normalized: NormalizedText, start: number, end: number): string | undefined {
  const size = end - start;
  if (size < minEncodedLength || size > maxEncodedLength) return undefined;
  // 12 characters, 9 bytes: drawn text passes once in ten thousand.
  for (let i = start; i < start + 12; i += 4) if (!isPrintableQuad(normalized.bytes, i)) return undefined;
  const text = Buffer.from(normalized.text.slice(start, end), "base64").toString("latin1");
  return /^[\t\n\r\x20-\x7e]{8,}$/.test(text) && mayHoldSecret.test(text) ? text : undefined;
}

function isPrintableQuad(bytes: Uint8Array, at: number): boolean {
  const a = sextets[bytes[at] ?? 0] ?? -1;
  const b = sextets[bytes[at + 1] ?? 0] ?? -1;
  const c = sextets[bytes[at + 2] ?? 0] ?? -1;
  const d = sextets[bytes[at + 3] ?? 0] ?? -1;
  if ((a | b | c | d) < 0) return false;
  return isPrintable((a << 2) | (b >> 4)) && isPrintable(((b & 15) << 4) | (c >> 2)) && isPrintable(((c & 3) << 6) | d);
}

function isPrintable(code: number): boolean {
  return (code >= SPACE && code <= TILDE) || code === LF || code === CR || code === TAB;
}
