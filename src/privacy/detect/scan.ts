import type { EncodedText } from "#privacy/text/base64.ts";
import { EQUALS, SPACE } from "#privacy/text/bytes.ts";
import { classes, isDigit } from "#privacy/text/characters.ts";
import { type NormalizedText, normalize } from "#privacy/text/normalized-text.ts";
import { mergeSpans, type Scan, type Span } from "#privacy/text/spans.ts";
import { AssignmentScanner } from "./assignments.ts";
import { scanPem, scanPutty, scanSaml } from "./keys.ts";
import { eachKeyword, type KeywordKind } from "./keyword-index.ts";
import { scanCookie, scanNotations, scanPiped } from "./notations.ts";
import { addRepeatedValues } from "./repeated-values.ts";
import { eachTokenRun } from "./run-index.ts";
import { TokenRunScanner } from "./token-runs.ts";
import { TokenScanner } from "./tokens.ts";
import { scanDsn, scanUrl } from "./urls.ts";
import { VendorValueScanner } from "./vendor-values.ts";

/** More rules, run over a normalized text; their spans are places in it. */
export type AdditionalRules = (normalized: NormalizedText, found: Span[]) => void;

export interface ScanOptions {
  /** Whether to look for credentials at all, or only for what `more` finds. */
  readonly credentials: boolean;
  /** Ids of rules that find nothing. */
  readonly disabled: ReadonlySet<string>;
  readonly additionalRules: readonly AdditionalRules[];
}

export function credentialScan(options: ScanOptions): Scan {
  const scanner = new CredentialScanner(options);
  return (text) => scanner.scan(text, 0);
}

class CredentialScanner {
  readonly #options: ScanOptions;
  readonly #tokens: TokenScanner;
  readonly #vendorValues: VendorValueScanner;
  readonly #assignments: AssignmentScanner;
  /** The end of the header with cookies that was read last. */
  #cookieEnd = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
    this.#tokens = new TokenScanner(options.disabled);
    this.#vendorValues = new VendorValueScanner(this.#tokens, options.disabled);
    this.#assignments = new AssignmentScanner(options.disabled);
  }

  /** @param depth 0, or 1 for a text that was decoded: nothing in it is decoded again */
  scan(text: string, depth: 0 | 1): readonly Span[] {
    if (text.length < 6) return [];
    const { credentials, disabled, additionalRules } = this.#options;
    const normalized = normalize(text);
    const found: Span[] = [];
    const encoded = credentials ? this.#scanCredentials(normalized, found) : [];
    for (const rules of additionalRules) rules(normalized, found);
    let spans = toSourceSpans(normalized, found);
    if (depth === 0 && encoded.length > 0) {
      const encodedSpans = toSourceSpans(normalized, encoded);
      // The normalized text is invalid from here on: decoded text is scanned with the same buffers.
      for (const [index, span] of encodedSpans.entries()) {
        if (this.scan(encoded[index]?.text ?? "", 1).length > 0) spans.push(span);
      }
    }
    if (depth === 0 && spans.length > 0) addRepeatedValues(text, [...spans], spans);
    spans = mergeSpans(spans);
    return disabled.size === 0 ? spans : spans.filter(({ rule }) => !disabled.has(rule));
  }

  /** @returns what is encoded in the text */
  #scanCredentials(normalized: NormalizedText, found: Span[]): readonly EncodedText[] {
    const { disabled } = this.#options;
    const runScanner = new TokenRunScanner(this.#tokens, this.#vendorValues, disabled, normalized.length);
    eachTokenRun(
      normalized,
      (from, to) => runScanner.scanRun(normalized, from, to, found),
      (at) => runScanner.scanBase64Symbol(normalized, at, found),
    );
    this.#assignments.reset();
    this.#cookieEnd = 0;
    eachKeyword(normalized, (at, word, kind) => this.#scanKeyword(normalized, at, word, kind, found));
    return runScanner.encoded;
  }

  /** @returns where the search for keywords goes on, at least `at + 1` */
  #scanKeyword(normalized: NormalizedText, at: number, word: string, kind: KeywordKind, found: Span[]): number {
    switch (kind) {
      case "name":
        return this.#scanName(normalized, at, word, found);
      case "url":
        scanUrl(normalized, at, found);
        return at + 3;
      case "pem":
        return scanPem(normalized, at, found);
      case "putty":
        scanPutty(normalized, at, found);
        return at + word.length;
      case "saml":
        return scanSaml(normalized, at, found);
      case "piped":
        scanPiped(normalized, at, found);
        return at + word.length;
      case "cookie":
        // A header inside one that was read already is one of its values.
        if (at >= this.#cookieEnd) this.#cookieEnd = scanCookie(normalized, at + word.length, found);
        return at + word.length;
      case "dsn":
        scanDsn(normalized, at, found);
        return at + 1;
      case "notation":
        scanNotations(normalized, at, word, found);
        return at + 1;
    }
  }

  #scanName(normalized: NormalizedText, at: number, word: string, found: Span[]): number {
    if (word === "pass" && readsPasswordFromStdin(normalized.text, at)) scanPiped(normalized, at, found);
    if (word === "pass" && normalized.text.startsWith("chpasswd", at - 2)) scanPiped(normalized, at - 2, found);
    if (word === "secret" && storesSecret(normalized.text, at)) scanPiped(normalized, at, found);
    const length = nameLength(word);
    // `5pw=` in base64: names do not begin with a digit.
    if (length === 2 && (isDigitAt(normalized, at - 1) || isPadding(normalized, at + 2))) return at + 2;
    return this.#assignments.scanAt(normalized, at, length, found);
  }
}

/** `Pw== `, the end of base64. */
function isPadding({ bytes }: NormalizedText, at: number): boolean {
  return bytes[at] === EQUALS && bytes[at + 1] === EQUALS && (bytes[at + 2] ?? 0) <= SPACE;
}

function isDigitAt(normalized: NormalizedText, at: number): boolean {
  return ((classes[normalized.bytes[at] ?? 0] ?? 0) & isDigit) !== 0;
}

/** Options and commands that read a password from a pipe. */
function readsPasswordFromStdin(text: string, at: number): boolean {
  return text.startsWith("password-stdin", at) || text.startsWith("passwd --stdin", at);
}

/** `docker secret create`, `gh secret set`, `wrangler secret put`, `fly secrets import`. */
function storesSecret(text: string, at: number): boolean {
  return /^secrets? (?:create|set|put|import|versions add) /.test(text.slice(at, at + 24));
}

/** `pw:` is looked for as it stands, but only `pw` is the name. */
function nameLength(word: string): number {
  return word.startsWith("pw") && word.length === 3 && word !== "pwd" ? 2 : word.length;
}

/** Maps places in the normalized text to places in the source text. */
function toSourceSpans({ sourceOffsets }: NormalizedText, found: readonly Span[]): Span[] {
  return found.map(({ start, end, rule }) => ({
    start: sourceOffsets?.at(start) ?? start,
    end: sourceOffsets?.at(end) ?? end,
    rule,
  }));
}
