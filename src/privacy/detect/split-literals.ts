import { isQuote, matchEnd } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";

/** A text that code or a mail program split into literals or lines, joined again. */
export interface JoinedLiterals {
  readonly text: string;
  /** Where the first literal begins in the normalized text. */
  readonly start: number;
  /** The place in the normalized text of the character at `index`. */
  offsetAt(index: number): number;
}

/** Most literals of one text. */
const maxLiterals = 8;
const operator = "[ \\t]{0,8}(?:[+.&~]|\\.\\.|\\|\\|)?[ \\t]{0,8}";
/** `" + "`, `' . '`, `"` and `"` on the next line: two literals that are one. */
const concatenation = `["'\`]${operator}(?:\\\\?\\n[ \\t]{0,32}${operator})?[rbfuL@]?["'\`]`;
/** The same, or a soft line break of quoted-printable. */
const joint = new RegExp(`${concatenation}|=\\r?\\n(?=[\\w-])`, "y");
const literalBefore = new RegExp(`["'\`]([\\w.-]{2,80})${concatenation}$`);
const literal = /[\w.-]{0,512}/y;

/** The joined literals around the run `[from, to)`; undefined where there is only one, which a byte or two decide. */
export function joinLiteralsAround(
  { bytes, text }: NormalizedText,
  from: number,
  to: number,
): JoinedLiterals | undefined {
  const behind = bytes[to] ?? 0;
  const isJoined = (isQuote(behind) || behind === 0x3d) && matchEnd(joint, text, to) >= 0;
  const before = isQuote(bytes[from - 1] ?? 0)
    ? literalBeforeQuote(text.slice(Math.max(0, from - 160), from))
    : undefined;
  if (!isJoined && before === undefined) return undefined;
  const start = from - (before ?? 0);
  const pieces: { readonly at: number; readonly length: number }[] = [];
  let joined = "";
  for (let at = start; at >= 0 && pieces.length < maxLiterals; ) {
    pieces.push({ at, length: joined.length });
    const end = matchEnd(literal, text, at);
    joined += text.slice(at, end);
    at = matchEnd(joint, text, end);
  }
  return {
    text: joined,
    start,
    offsetAt: (index) => {
      const piece = pieces.findLast(({ length }) => length <= index) ?? { at: start, length: 0 };
      return piece.at + index - piece.length;
    },
  };
}

/** How far before the end of a text that ends with a quote the literal before it begins: in the same line or the one before. */
function literalBeforeQuote(text: string): number | undefined {
  if (!/[\s"'`+.&~|]$/.test(text.slice(0, -1).replace(/[rbfuL@]$/, ""))) return undefined;
  const lines = text.slice(text.lastIndexOf("\n", text.lastIndexOf("\n") - 1) + 1);
  const index = lines.search(literalBefore);
  return index < 0 ? undefined : lines.length - index - 1;
}
