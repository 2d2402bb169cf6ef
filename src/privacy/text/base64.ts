import {
  CR,
  DIGIT_4,
  DIGIT_5,
  EQUALS,
  HYPHEN,
  LF,
  PLUS,
  SLASH,
  SPACE,
  TAB,
  TILDE,
  UNDERSCORE,
  UPPER_A,
} from "./characters.ts";
import type { NormalizedText } from "./normalized-text.ts";

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

/** A stretch of base64 or hex and the printable text it stands for. */
export interface EncodedText {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** What it is called when its text holds a secret. */
  readonly rule: "base64_secret" | "hex_secret";
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

/** What the first `most` characters of base64 stand for, as ISO-8859-1; line ends between them do not count. */
export function decodeHead(normalized: NormalizedText, start: number, most: number): string {
  return Buffer.from(normalized.text.slice(start, start + most).replace(/[\s>]+/g, ""), "base64").toString("latin1");
}

/** Sentences without a number, and without anything set to anything, need no second look. */
const mayHoldSecret = /[0-9:=]/;

/** Decodes a stretch if its beginning and its whole are printable ASCII. */
export function decodePrintable(normalized: NormalizedText, start: number, end: number): string | undefined {
  const size = end - start;
  if (size < minEncodedLength || size > maxEncodedLength) return undefined;
  const wide = isUtf16(normalized.bytes, start) ? decodeUtf16(normalized.text.slice(start, end)) : undefined;
  if (wide !== undefined) return wide;
  // 12 characters, 9 bytes: drawn text passes once in ten thousand.
  for (let i = start; i < start + 12; i += 4) if (!isPrintableQuad(normalized.bytes, i)) return undefined;
  const text = Buffer.from(normalized.text.slice(start, end), "base64").toString("latin1");
  return /^[\t\n\r\x20-\x7e]{8,}$/.test(text) && mayHoldSecret.test(text) ? text : undefined;
}

/** Whether base64 begins like that of UTF-16, as PowerShell's `-EncodedCommand` takes it: every second byte is 0. */
function isUtf16(bytes: Uint8Array, at: number): boolean {
  // x0x 0x0: the letter A stands for six bits of 0.
  const b = sextets[bytes[at + 1] ?? 0] ?? -1;
  const marked =
    bytes[at] === SLASH && bytes[at + 1] === SLASH && (bytes[at + 2] === DIGIT_4 || bytes[at + 2] === DIGIT_5);
  if (!marked && ((b & 15) !== 0 || ((sextets[bytes[at + 2] ?? 0] ?? -1) & 60) !== 0)) return false;
  return bytes[at + 4] === UPPER_A && ((sextets[bytes[at + 5] ?? 0] ?? -1) & 48) === 0 && bytes[at + 7] === UPPER_A;
}

/** The text that base64 of UTF-16 stands for, if it is printable ASCII. */
function decodeUtf16(encoded: string): string | undefined {
  const text = Buffer.from(encoded, "base64")
    .toString("utf16le")
    .replace(/^\ufeff/, "");
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

const hexDigits = /^(?:0x)?((?:[2-7][0-9a-f]|0[9ad]){20,})$/i;

/** Decodes hex if all of it is printable ASCII, which of a hash it never is. */
function decodePrintableHex(run: string): string | undefined {
  const digits = run.length > maxEncodedLength ? undefined : hexDigits.exec(run)?.[1];
  if (digits === undefined) return undefined;
  const text = Buffer.from(digits, "hex").toString("latin1");
  return text.includes("\x7f") ? undefined : text;
}

/** The lines behind one of hex that hold nothing else; together about as much as is decoded in one piece. */
const furtherHexLines = /(?:\r?\n[ \t]{0,8}(?:[0-9a-fA-F]{2}){1,128}(?![^\r\n])){1,1000}/y;

/** Hex that stands for text, and where it ends: behind the run, or lines below, as `xxd -p` wraps it. */
export function printableHexAt(
  text: string,
  from: number,
  to: number,
):
  | {
      readonly text: string;
      readonly end: number;
      readonly mayHoldSecret: boolean;
      /** Characters that were looked at, also for nothing: what a budget has to count. */
      readonly lengthRead: number;
    }
  | undefined {
  const line = decodePrintableHex(text.slice(from, to));
  if (line === undefined) return undefined;
  furtherHexLines.lastIndex = to;
  const end = to + (furtherHexLines.exec(text)?.[0].length ?? 0);
  // Lines of hex behind it may be something else, such as hashes.
  const lines = end === to ? undefined : decodePrintableHex(text.slice(from, end).replace(/\s+/g, ""));
  const decoded = lines ?? line;
  return {
    text: decoded,
    end: lines === undefined ? to : end,
    mayHoldSecret: mayHoldSecret.test(decoded),
    lengthRead: end - from,
  };
}
