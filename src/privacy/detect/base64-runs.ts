import { beginsText, decodeText, type EncodedText, wrappedEnd } from "#privacy/text/base64.ts";
import { COMMA, EQUALS, isTokenByte } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { mayBeSecretDocument, secretDocumentAt } from "./keys.ts";
import { TokenReader } from "./tokens.ts";
import { vendorValueIn } from "./vendor-values.ts";

/** What a public key of SSH begins with. */
const publicKey = /^AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh)/;
const dataUrl = /data:(?!text\/|application\/(?:json|x-yaml|yaml|toml|x-sh))[\w.+-]{1,40}\/[\w.+-]{1,60}[^,\s]{0,40}$/;
const maxBase64KeyLength = 400;
/** Shortest base64 that may stand for something. */
const minBase64Length = 24;
/** Shortest run of token characters that is looked at; every rule's token holds one. */
const minRunLength = 16;

/** Reads one run of base64 after the other, left to right, and the runs of token characters in it. */
export class Base64RunReader {
  /** Base64 that decoded to text; scanned when the normalized text is no longer needed. */
  readonly encoded: EncodedText[] = [];
  readonly found: Span[] = [];
  readonly #normalized: NormalizedText;
  readonly #tokens: TokenReader;
  /** Characters that may still be decoded for this text. */
  #decodeBudget = 262_144;
  /** The end of the lines of base64 that were read as one. */
  #joinedTo = 0;

  constructor(normalized: NormalizedText) {
    this.#normalized = normalized;
    this.#tokens = new TokenReader(normalized, this.found);
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
    const end = this.#tokens.readRun(from, to);
    if (this.found.length > count) return end;
    // A long run of base64 is data: no vendor's key is that long, and all its runs look alike.
    if (base64To - base64From > maxBase64KeyLength) return to;
    if (!/\d/.test(normalized.text.slice(from, to))) return to;
    const value = vendorValueIn(normalized, from, to, base64From, base64To);
    if (value !== undefined) this.found.push(value);
    return to;
  }

  /** Reads data that is no text, and text that was encoded. Where it ends; -1 where it may be something else. */
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
    // A line of what was decoded as one text.
    if (start < this.#joinedTo || !beginsText(this.#normalized, start)) return -1;
    this.#joinedTo = wrappedEnd(this.#normalized, start, end);
    const ends = this.#joinedTo === end ? [end] : [this.#joinedTo, end];
    for (const to of ends) {
      this.#decodeBudget -= to - start;
      const text = decodeText(this.#normalized, start, to);
      if (text === undefined) continue;
      this.encoded.push({ start, end: to, rule: "base64_secret", text });
      break;
    }
    return -1;
  }

  /** A secret document whose first line is the base64 `[start, end)`. */
  #documentAt(start: number, end: number): Span | undefined {
    const { bytes } = this.#normalized;
    // The dash of a removed line and the plus of an added one are letters of base64 too.
    const first = mayBeSecretDocument(bytes, start) ? start : start + 1;
    if (!mayBeSecretDocument(bytes, first)) return undefined;
    return secretDocumentAt(this.#normalized, first, end);
  }
}
