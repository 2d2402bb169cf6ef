import { classes, inToken } from "#privacy/text/characters.ts";
import type { View } from "#privacy/text/normalized-text.ts";
import { isQuote } from "./assignments/separators.ts";

/** A text that code or a mail program cut into pieces, put together again. */
export interface Pieces {
  readonly text: string;
  /** Where in the view the first piece begins. */
  readonly start: number;
  /** Where in the view the character at `index` of the text stands. */
  at(index: number): number;
}

/** Most pieces of one text, and longest piece. */
const mostPieces = 8;
const longestPiece = 512;

/** `" + "`, `' . '`, `"` and `"` on the next line: two literals that are one. */
const joint =
  /["'`][ \t]{0,8}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8}(?:\\?\n[ \t]{0,32}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8})?[rbfuL@]?["'`]/y;
const before =
  /["'`]([\w.-]{2,80})["'`][ \t]{0,8}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8}(?:\\?\n[ \t]{0,32}(?:[+.&~]|\.\.|\|\|)?[ \t]{0,8})?[rbfuL@]?["'`]$/;

/** The pieces of which the run `[from, to)` is one; undefined where it stands alone, which a byte or two decide. */
export function piecesAround(view: View, from: number, to: number): Pieces | undefined {
  const { bytes, text } = view;
  const first = isQuote(bytes[from - 1] ?? 0) && mayJoin(lastBefore(bytes, from - 2)) ? pieceBefore(text, from) : from;
  if (first === from && !mayGoOn(bytes, to)) return undefined;
  const starts: number[] = [];
  const lengths: number[] = [];
  let joined = "";
  let at = first;
  for (let i = 0; i < mostPieces; i++) {
    const end = pieceEnd(bytes, at);
    starts.push(at);
    lengths.push(joined.length);
    joined += text.slice(at, end);
    const next = nextPiece(view, end);
    if (next < 0) break;
    at = next;
  }
  if (starts.length < 2) return undefined;
  return {
    text: joined,
    start: first,
    at: (index) => {
      let piece = starts.length - 1;
      while (piece > 0 && (lengths[piece] ?? 0) > index) piece--;
      return (starts[piece] ?? first) + index - (lengths[piece] ?? 0);
    },
  };
}

function pieceBefore(text: string, from: number): number {
  const lead = text.slice(Math.max(0, from - 160), from);
  const match = before.exec(lead);
  return match === null ? from : from - lead.length + match.index + 1;
}

function pieceEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + longestPiece) {
    const c = bytes[at] ?? 0;
    if (((classes[c] ?? 0) & inToken) === 0 && c !== 0x2e) break;
    at++;
  }
  return at;
}

/** Where the text goes on behind a piece that ends at `end`: the next literal, or the next line of quoted-printable; -1 if it does not. */
function nextPiece(view: View, end: number): number {
  const { bytes, text } = view;
  if (bytes[end] === 0x3d) {
    const next = bytes[end + 1] === 0x0d ? end + 2 : end + 1;
    return bytes[next] === 0x0a && ((classes[bytes[next + 1] ?? 0] ?? 0) & inToken) !== 0 ? next + 1 : -1;
  }
  if (!isQuote(bytes[end] ?? 0) || !mayJoin(firstBehind(bytes, end + 1))) return -1;
  joint.lastIndex = end;
  return joint.test(text) ? joint.lastIndex : -1;
}

function mayGoOn(bytes: Uint8Array, to: number): boolean {
  const c = bytes[to] ?? 0;
  if (c === 0x3d) return bytes[to + 1] === 0x0a || bytes[to + 1] === 0x0d;
  return isQuote(c) && mayJoin(firstBehind(bytes, to + 1));
}

function firstBehind(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + 48 && isWhite(bytes[at] ?? 0)) at++;
  return bytes[at] ?? 0;
}

function lastBefore(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && at > from - 48 && isWhite(bytes[at] ?? 0)) at--;
  return bytes[at] ?? 0;
}

/** An operator that joins literals, or the next literal itself. */
function mayJoin(c: number): boolean {
  return c === 0x2b || c === 0x2e || c === 0x26 || c === 0x7e || c === 0x7c || c === 0x5c || isQuote(c);
}

function isWhite(c: number): boolean {
  return c === 0x20 || c === 0x09 || c === 0x0a || c === 0x0d;
}
