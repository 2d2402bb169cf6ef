import { AMPERSAND, BACKSLASH, CR, DOT, EQUALS, LF, PIPE, PLUS, SPACE, TAB, TILDE } from "#privacy/text/bytes.ts";
import { classes, inToken, isQuote } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";

/** A text that code or a mail program split into literals or lines, joined again. */
export interface JoinedLiterals {
  readonly text: string;
  /** Where the first literal begins in the normalized text. */
  readonly start: number;
  /** The place in the normalized text of the character at `index`. */
  offsetAt(index: number): number;
}

/** Most literals of one text, and the longest of them. */
const maxLiterals = 8;
const maxLiteralLength = 512;

/** `" + "`, `' . '`, `"` and `"` on the next line: two literals that are one. */
const concatenation =
  /["'`][ \t]{0,8}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8}(?:\\?\n[ \t]{0,32}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8})?[rbfuL@]?["'`]/y;
const literalBefore =
  /["'`]([\w.-]{2,80})["'`][ \t]{0,8}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8}(?:\\?\n[ \t]{0,32}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8})?[rbfuL@]?["'`]$/;

/** The joined literals around the run `[from, to)`; undefined where there is only one, which a byte or two decide. */
export function joinLiteralsAround(normalized: NormalizedText, from: number, to: number): JoinedLiterals | undefined {
  const { bytes, text } = normalized;
  const first =
    isQuote(bytes[from - 1] ?? 0) && mayJoin(lastNonBlankBefore(bytes, from - 2))
      ? literalStartBefore(text, from)
      : from;
  if (first === from && !mayContinue(bytes, to)) return undefined;
  const starts: number[] = [];
  const lengths: number[] = [];
  let joined = "";
  let at = first;
  for (let i = 0; i < maxLiterals; i++) {
    const end = literalEnd(bytes, at);
    starts.push(at);
    lengths.push(joined.length);
    joined += text.slice(at, end);
    const next = nextLiteralStart(normalized, end);
    if (next < 0) break;
    at = next;
  }
  if (starts.length < 2) return undefined;
  return {
    text: joined,
    start: first,
    offsetAt: (index) => {
      let piece = starts.length - 1;
      while (piece > 0 && (lengths[piece] ?? 0) > index) piece--;
      return (starts[piece] ?? first) + index - (lengths[piece] ?? 0);
    },
  };
}

function literalStartBefore(text: string, from: number): number {
  const lead = text.slice(Math.max(0, from - 160), from);
  const match = literalBefore.exec(lead);
  return match === null ? from : from - lead.length + match.index + 1;
}

function literalEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + maxLiteralLength) {
    const c = bytes[at] ?? 0;
    if (((classes[c] ?? 0) & inToken) === 0 && c !== DOT) break;
    at++;
  }
  return at;
}

/** Where the text continues after a literal that ends at `end`: the next literal, or the next line of quoted-printable; -1 if it does not. */
function nextLiteralStart(normalized: NormalizedText, end: number): number {
  const { bytes, text } = normalized;
  if (bytes[end] === EQUALS) {
    const next = bytes[end + 1] === CR ? end + 2 : end + 1;
    return bytes[next] === LF && ((classes[bytes[next + 1] ?? 0] ?? 0) & inToken) !== 0 ? next + 1 : -1;
  }
  if (!isQuote(bytes[end] ?? 0) || !mayJoin(firstNonBlankAfter(bytes, end + 1))) return -1;
  concatenation.lastIndex = end;
  return concatenation.test(text) ? concatenation.lastIndex : -1;
}

function mayContinue(bytes: Uint8Array, to: number): boolean {
  const c = bytes[to] ?? 0;
  if (c === EQUALS) return bytes[to + 1] === LF || bytes[to + 1] === CR;
  return isQuote(c) && mayJoin(firstNonBlankAfter(bytes, to + 1));
}

function firstNonBlankAfter(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + 48 && isWhitespace(bytes[at] ?? 0)) at++;
  return bytes[at] ?? 0;
}

function lastNonBlankBefore(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && at > from - 48 && isWhitespace(bytes[at] ?? 0)) at--;
  return bytes[at] ?? 0;
}

/** An operator that joins literals, or the next literal itself. */
function mayJoin(c: number): boolean {
  return c === PLUS || c === DOT || c === AMPERSAND || c === TILDE || c === PIPE || c === BACKSLASH || isQuote(c);
}

function isWhitespace(c: number): boolean {
  return c === SPACE || c === TAB || c === LF || c === CR;
}
