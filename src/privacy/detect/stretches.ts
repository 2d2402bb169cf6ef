import { decodePrintable, type EncodedText, printableHexAt } from "#privacy/text/base64.ts";
import {
  byteSet,
  COLON,
  COMMA,
  EQUALS,
  isKeyCharacter,
  isQuote,
  isTokenByte,
  LOWER_R,
  matchEnd,
} from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { mayBeSecretDocument, messageHeadLength, secretDocumentAt } from "./keys.ts";
import { matchToken, ReadAhead, scanRun } from "./tokens.ts";
import { isSecret } from "./values.ts";
import { vendorValueIn } from "./vendor-values.ts";

/** What a public key of SSH begins with. */
const publicKey = /^AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh)/;
const dataUrl = /data:(?!text\/|application\/(?:json|x-yaml|yaml|toml|x-sh))[\w.+-]{1,40}\/[\w.+-]{1,60}[^,\s]{0,40}$/;
const keyEnd = /[\w.\xc0-\xff~+/=-]*/y;
const maxBase64KeyLength = 400;
/** Shortest base64 that may stand for something. */
const minBase64Length = 24;
/** Shortest run of token characters that is looked at; every rule's token holds one. */
const minRunLength = 16;

/** Reads one stretch of base64 after the other, left to right, and the runs of token characters in it. */
export class StretchReader {
  /** Base64 and hex that decoded to text; scanned when the normalized text is no longer needed. */
  readonly encoded: EncodedText[] = [];
  readonly found: Span[] = [];
  readonly #normalized: NormalizedText;
  readonly #ahead = new ReadAhead();
  /** Characters that may still be decoded for this text. */
  #decodeBudget = 262_144;

  constructor(normalized: NormalizedText) {
    this.#normalized = normalized;
  }

  /** @returns where reading goes on, at least `to` */
  read(from: number, to: number): number {
    const { bytes } = this.#normalized;
    const first = this.#nextRun(from, to);
    // Mostly the path of a file, or a line.
    if (first === to && !mayBeSecretDocument(bytes, from) && !mayBeSecretDocument(bytes, from + 1)) return to;
    let end = to;
    while (bytes[end] === EQUALS) end++;
    const data = end - from < minBase64Length ? -1 : this.#readBase64(from, end);
    if (data >= 0) return data;
    let next = first;
    for (let run = first; run < to; run = this.#nextRun(next, to)) {
      let runEnd = run + minRunLength;
      while (runEnd < to && isTokenByte[bytes[runEnd] ?? 0] === 1) runEnd++;
      next = this.#readRun(run, runEnd, from, end);
    }
    return Math.max(next, to);
  }

  /** Where the next run begins that is long enough; `to` or more where there is none. */
  #nextRun(from: number, to: number): number {
    const { bytes } = this.#normalized;
    let run = from;
    for (let at = from; at < to; at++) {
      if (isTokenByte[bytes[at] ?? 0] === 0) run = at + 1;
      else if (at - run === minRunLength - 1) return run;
    }
    return Math.max(from, to);
  }

  #readRun(from: number, to: number, base64From: number, base64To: number): number {
    const normalized = this.#normalized;
    const count = this.found.length;
    const end = scanRun(normalized, from, to, this.#ahead, this.found);
    const token = this.found.length > count ? this.found.at(-1) : undefined;
    const pieces = this.#readSplitLiteral(token?.start ?? from, token?.end ?? to);
    if (token !== undefined || pieces >= 0) return Math.max(end, pieces);
    if (this.#readBearer(from)) return to;
    // A long stretch of base64 is data: no vendor's key is that long, and all its runs look alike.
    if (base64To - base64From > maxBase64KeyLength) return to;
    if (!/\d/.test(normalized.text.slice(from, to))) return to;
    const value = vendorValueIn(normalized, from, to, base64From, base64To);
    if (value !== undefined) this.found.push(value);
    return to - from >= 40 && this.#decodeBudget > 0 ? this.#readHex(from, to) : to;
  }

  /** A value behind `Bearer …` or `bearer: …`, where no `Authorization` stands before it. */
  #readBearer(from: number): boolean {
    const { bytes, text } = this.#normalized;
    let start = from;
    while (start > 0 && from - start < 24 && isKeyCharacter(bytes[start - 1] ?? 0)) start--;
    if (((bytes[start - 2] ?? 0) | 0x20) !== LOWER_R && bytes[start - 2] !== COLON) return false;
    if (!/bearer[ :=]{1,3}$/i.test(text.slice(Math.max(0, start - 9), start))) return false;
    const end = matchEnd(keyEnd, text, start);
    if (!isSecret(text.slice(start, end), "quoted")) return false;
    this.found.push({ start, end, rule: "auth_header" });
    return true;
  }

  #readHex(from: number, to: number): number {
    const hex = printableHexAt(this.#normalized.text, from, to);
    if (hex === undefined) return to;
    this.#decodeBudget -= hex.lengthRead / 2;
    if (hex.mayHoldSecret) this.encoded.push({ start: from, end: hex.end, text: hex.text, rule: "hex_secret" });
    return hex.end;
  }

  /** A token that goes on in the next literal or line, or began in the one before. Returns its end, or -1. */
  #readSplitLiteral(from: number, to: number): number {
    const pieces = joinLiteralsAround(this.#normalized, from, to);
    const token = pieces === undefined ? undefined : matchToken(pieces.text);
    if (pieces === undefined || token === undefined) return -1;
    const end = this.#ahead.tokenEnd(this.#normalized.bytes, pieces.offsetAt(token.length - 1) + 1, false);
    if (end <= to && pieces.start >= from) return -1;
    this.found.push({ start: pieces.start, end, rule: token.rule });
    return end;
  }

  /** Data that no one reads as text, and text that was encoded. Returns where the data ends; -1 where it may be something else. */
  #readBase64(start: number, end: number): number {
    const { bytes, text } = this.#normalized;
    if (text.startsWith("AAAA", start) && publicKey.test(text.slice(start, start + 16))) return end;
    if (bytes[start - 1] === COMMA && text.startsWith("base64,", start - 7)) {
      if (dataUrl.test(text.slice(Math.max(0, start - 80), start - 1))) return end;
    }
    if (this.#decodeBudget <= 0) return -1;
    const document = this.#documentAt(start, end);
    if (document !== undefined) {
      this.found.push(document);
      return document.end;
    }
    const decoded = decodePrintable(this.#normalized, start, end);
    if (decoded === undefined) return -1;
    this.#decodeBudget -= decoded.length;
    this.encoded.push({ start, end, text: decoded, rule: "base64_secret" });
    return -1;
  }

  /** A secret document whose first line is the base64 `[start, end)`. */
  #documentAt(start: number, end: number): Span | undefined {
    const { bytes } = this.#normalized;
    // The dash of a removed line and the plus of an added one are letters of base64 too.
    const first = mayBeSecretDocument(bytes, start) ? start : start + 1;
    if (!mayBeSecretDocument(bytes, first)) return undefined;
    this.#decodeBudget -= messageHeadLength;
    return secretDocumentAt(this.#normalized, first, end);
  }
}

/** A text that code or a mail program split into literals or lines, joined again. */
interface JoinedLiterals {
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
function joinLiteralsAround({ bytes, text }: NormalizedText, from: number, to: number): JoinedLiterals | undefined {
  const behind = bytes[to] ?? 0;
  const isJoined = (isQuote(behind) || behind === 0x3d) && matchEnd(joint, text, to) >= 0;
  const before = mayFollowLiteral(bytes, from - 1)
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

const betweenLiterals = byteSet(" \t\n+.&~|\\rbfuL@");

/** Whether a quote stands at a place and another one before it, with nothing between them but what joins literals. */
function mayFollowLiteral(bytes: Uint8Array, quote: number): boolean {
  if (!isQuote(bytes[quote] ?? 0)) return false;
  let at = quote - 1;
  while (at > quote - 80 && betweenLiterals[bytes[at] ?? 0] === 1) at--;
  return isQuote(bytes[at] ?? 0);
}

/** How far before the end of a text that ends with a quote the literal before it begins: in the same line or the one before. */
function literalBeforeQuote(text: string): number | undefined {
  const lines = text.slice(text.lastIndexOf("\n", text.lastIndexOf("\n") - 1) + 1);
  const index = lines.search(literalBefore);
  return index < 0 ? undefined : lines.length - index - 1;
}
