import {
  base64End,
  base64Range,
  decodePrintable,
  type EncodedText,
  isBase64Byte,
  isBase64Symbol,
  printableHexAt,
} from "#privacy/text/base64.ts";
import { COMMA, PLUS, SLASH } from "#privacy/text/bytes.ts";
import { matchEnd } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { mayBeSecretDocument, messageHeadLength, minDocumentLength, secretDocumentAt } from "./keys.ts";
import { joinLiteralsAround } from "./split-literals.ts";
import { ReadAhead, type TokenScanner } from "./tokens.ts";
import { isSecret } from "./values.ts";
import type { VendorValueScanner } from "./vendor-values.ts";

/** What a public key of SSH begins with. */
const publicKey = /^AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh)/;
const maxBase64KeyLength = 400;

/** Reads one run of token characters after the other, left to right, and what belongs to it on both sides. */
export class TokenRunScanner {
  /** Base64 that decoded to text; scanned when the normalized text is no longer needed. */
  readonly encoded: EncodedText[] = [];
  readonly #tokens: TokenScanner;
  readonly #vendorValues: VendorValueScanner;
  readonly #disabled: ReadonlySet<string>;
  readonly #ahead: ReadAhead;
  /** Characters that may still be decoded for this text. */
  #decodeBudget = 262_144;
  /** End of the base64 that was looked at last. */
  #base64End = 0;
  #base64Start = 0;
  /** End of the base64 around the `+` or `/` that was visited last. */
  #symbolEnd = 0;

  /** @param length of the text */
  constructor(tokens: TokenScanner, vendorValues: VendorValueScanner, disabled: ReadonlySet<string>, length: number) {
    this.#tokens = tokens;
    this.#vendorValues = vendorValues;
    this.#disabled = disabled;
    this.#ahead = new ReadAhead(length);
  }

  /** @returns where reading goes on, at least `to` */
  scanRun(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    if (from >= this.#base64End) {
      const before = found.length;
      const blob = this.#scanBase64(normalized, from, to, found);
      if (blob > to || found.length > before) return blob;
    }
    const count = found.length;
    const end = this.#tokens.scanRun(normalized, from, to, this.#ahead, found);
    const token = found.length > count ? found.at(-1) : undefined;
    const pieces = this.#scanSplitLiteral(normalized, token?.start ?? from, token?.end ?? to, found);
    if (token !== undefined || pieces >= 0) return Math.max(end, pieces);
    if (!this.#disabled.has("auth_header") && this.#scanBearer(normalized, from, to, found)) return to;
    // A long stretch of base64 is data: no vendor's key is that long, and all its runs look alike.
    if (to <= this.#base64End && this.#base64End - this.#base64Start > maxBase64KeyLength) return to;
    if (!/\d/.test(normalized.text.slice(from, to))) return to;
    const value = this.#vendorValues.spanIn(normalized, from, to, this.#base64Start, this.#base64End);
    if (value !== undefined) found.push(value);
    return to - from >= 40 && this.#decodeBudget > 0 ? this.#scanHex(normalized, from, to) : to;
  }

  #scanHex(normalized: NormalizedText, from: number, to: number): number {
    const hex = printableHexAt(normalized.text, from, to);
    if (hex === undefined) return to;
    this.#decodeBudget -= hex.lengthRead / 2;
    if (hex.mayHoldSecret) this.encoded.push({ start: from, end: hex.end, text: hex.text, rule: "hex_secret" });
    return hex.end;
  }

  /**
   * Reads the base64 around a `+` or `/`, unless it was read with a run: the first line of a wrapped key may hold one in every 16 characters.
   * @returns where reading goes on, at least `at + 1`
   */
  scanBase64Symbol(normalized: NormalizedText, at: number, found: Span[]): number {
    const { bytes } = normalized;
    // What was read with the last one is not read again, which bounds the time that a text of nothing but these can take.
    const limit = this.#symbolEnd;
    if (at < limit || at < this.#base64End) return at + 1;
    let start = at;
    while (start > limit && isBase64Byte(bytes[start - 1] ?? 0)) start--;
    this.#symbolEnd = at + 1;
    const isContinued = start > 0 && start === limit && isBase64Byte(bytes[start - 1] ?? 0);
    if (isContinued || (!mayBeSecretDocument(bytes, start) && !mayBeSecretDocument(bytes, start + 1))) return at + 1;
    const end = base64End(normalized, at);
    this.#symbolEnd = Math.max(at + 1, end);
    if (end - start < minDocumentLength) return at + 1;
    const document = this.#documentAt(normalized, start, end);
    if (document === undefined) return at + 1;
    found.push(document);
    return Math.max(at + 1, document.end);
  }

  /** A token that goes on in the next literal or line, or began in the one before. Returns its end, or -1. */
  #scanSplitLiteral(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    const pieces = joinLiteralsAround(normalized, from, to);
    const token = pieces === undefined ? undefined : this.#tokens.matchToken(pieces.text);
    if (pieces === undefined || token === undefined) return -1;
    const end = this.#ahead.tokenEnd(normalized.bytes, pieces.offsetAt(token.length - 1) + 1, false);
    if (end <= to && pieces.start >= from) return -1;
    found.push({ start: pieces.start, end, rule: token.rule });
    return end;
  }

  /** Data that no one reads as text, and text that was encoded. Returns where the data ends. */
  #scanBase64(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    const { bytes, text } = normalized;
    const before = bytes[from - 1];
    // Identifiers are short and have no base64 symbols beside them: they are skipped.
    if (to - from < 20 && before !== SLASH && before !== PLUS && !isBase64Symbol(bytes[to] ?? 0)) return to;
    const [start, end] = base64Range(normalized, from, to);
    this.#base64Start = start;
    this.#base64End = end;
    if (text.startsWith("AAAA", start) && publicKey.test(text.slice(start, start + 16))) return end;
    if (bytes[start - 1] === COMMA && text.startsWith("base64,", start - 7)) {
      const header = text.slice(Math.max(0, start - 80), start);
      if (
        /data:(?!text\/|application\/(?:json|x-yaml|yaml|toml|x-sh))[\w.+-]{1,40}\/[\w.+-]{1,60}[^,\s]{0,40}$/.test(
          header.slice(0, -1),
        )
      )
        return end;
    }
    if (this.#decodeBudget <= 0 || end - start < 24) return to;
    const document = this.#documentAt(normalized, start, end);
    if (document !== undefined && document.end >= to) {
      found.push(document);
      return document.end;
    }
    const decoded = decodePrintable(normalized, start, end);
    if (decoded === undefined) return to;
    this.#decodeBudget -= decoded.length;
    this.encoded.push({ start, end, text: decoded, rule: "base64_secret" });
    return to;
  }

  /** A secret document whose first line is the base64 `[start, end)`. */
  #documentAt(normalized: NormalizedText, start: number, end: number): Span | undefined {
    // The dash of a removed line and the plus of an added one are letters of base64 too.
    const first = mayBeSecretDocument(normalized.bytes, start) ? start : start + 1;
    if (this.#decodeBudget <= 0 || !mayBeSecretDocument(normalized.bytes, first)) return undefined;
    this.#decodeBudget -= messageHeadLength;
    return secretDocumentAt(normalized, first, end);
  }

  /** A value behind `Bearer …` or `bearer: …`, where no `Authorization` stands before it. */
  #scanBearer({ text }: NormalizedText, from: number, to: number, found: Span[]): boolean {
    const before = bearer.exec(text.slice(Math.max(0, from - 34), from));
    if (before === null) return false;
    const start = from - (before[1]?.length ?? 0);
    const end = matchEnd(keyEnd, text, to);
    if (!isSecret(text.slice(start, end), "quoted")) return false;
    found.push({ start, end, rule: "auth_header" });
    return true;
  }
}

const bearer = /bearer[ :=]{1,3}([\w.\xc0-\xff~+/=-]{0,24})$/i;
const keyEnd = /[\w.\xc0-\xff+/=-]*/y;
