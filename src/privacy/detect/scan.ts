import type { EncodedText } from "#privacy/text/base64.ts";
import { EQUALS, SPACE } from "#privacy/text/characters.ts";
import { type NormalizedText, normalize } from "#privacy/text/normalized-text.ts";
import { mergeSpans, type Scan, type Span } from "#privacy/text/spans.ts";
import { AssignmentScanner } from "./assignments.ts";
import { Base64RunReader } from "./base64-runs.ts";
import { scanPem, scanPutty } from "./keys.ts";
import { type KeywordKind, type PrefilterVisitor, prefilter } from "./keyword-prefilter.ts";
import { scanCookie, scanDsn, scanNotations, scanPiped, scanUrl } from "./notations.ts";
import { scanInsert } from "./tables.ts";

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
  return (text) => scan(text, options, 0);
}

/** @param depth 0, or 1 for a text that was decoded: nothing in it is decoded again */
function scan(text: string, options: ScanOptions, depth: 0 | 1): readonly Span[] {
  if (text.length < 6) return [];
  const { credentials, disabled, additionalRules } = options;
  const normalized = normalize(text);
  const reader = new CredentialReader(normalized);
  if (credentials) prefilter(normalized, reader);
  const { found, encoded } = reader;
  for (const rules of additionalRules) rules(normalized, found);
  let spans = toSourceSpans(normalized, found);
  if (depth === 0 && encoded.length > 0) {
    const encodedSpans = toSourceSpans(normalized, encoded);
    // The normalized text is invalid from here on: decoded text is scanned with the same buffers.
    for (const [index, span] of encodedSpans.entries())
      if (scan(encoded[index]?.text ?? "", options, 1).length > 0) spans.push(span);
  }
  if (disabled.size > 0) spans = spans.filter(({ rule }) => !disabled.has(rule));
  if (depth === 0 && spans.length > 0) addRepeatedValues(text, spans);
  return mergeSpans(spans);
}

/** Reads what stands at the keywords and in the runs of base64 of one text. */
class CredentialReader implements PrefilterVisitor {
  /** Behind assignments and other keywords. */
  readonly #beside: Span[] = [];
  readonly #normalized: NormalizedText;
  readonly #runs: Base64RunReader;
  readonly #assignments: AssignmentScanner;
  /** The end of the header with cookies that was read last. */
  #cookieEnd = 0;
  #nextAtSign = -1;

  constructor(normalized: NormalizedText) {
    this.#normalized = normalized;
    this.#runs = new Base64RunReader(normalized);
    this.#assignments = new AssignmentScanner(normalized, this.#beside);
  }

  /** What says itself what it is comes first: it names what others find too. */
  get found(): Span[] {
    return [...this.#runs.found, ...this.#beside];
  }

  /** What is encoded in the text. */
  get encoded(): readonly EncodedText[] {
    return this.#runs.encoded;
  }

  base64Run(from: number, to: number): number {
    return this.#runs.read(from, to);
  }

  keyword(at: number, word: string, kind: KeywordKind): number {
    const normalized = this.#normalized;
    const found = this.#beside;
    const end = at + word.length;
    if (kind === "name") return this.#readName(at, word);
    if (kind === "pem") return scanPem(normalized, at, found);
    if (kind === "url") scanUrl(normalized, at, this.#atSignBehind(at), found);
    else if (kind === "putty") scanPutty(normalized, at, found);
    else if (kind === "piped") scanPiped(normalized, at, found);
    // A header inside one that was read already is one of its values.
    else if (kind === "cookie")
      this.#cookieEnd = at < this.#cookieEnd ? this.#cookieEnd : scanCookie(normalized, end, found);
    else {
      if (kind === "insert") scanInsert(normalized, at, found);
      else if (kind === "dsn") scanDsn(normalized, at, found);
      else scanNotations(normalized, at, word, found);
      return at + 1; // `linkedinToken`
    }
    return end;
  }

  /** Where the next `@` stands, looked for once. */
  #atSignBehind(at: number): number {
    const { text } = this.#normalized;
    if (this.#nextAtSign < at) this.#nextAtSign = text.indexOf("@", at);
    if (this.#nextAtSign < 0) this.#nextAtSign = Number.POSITIVE_INFINITY;
    return this.#nextAtSign;
  }

  #readName(at: number, word: string): number {
    // `pw:` is looked for as it stands, but only `pw` is the name.
    const length = word.startsWith("pw") && word.length === 3 && word !== "pwd" ? 2 : word.length;
    // `5pw=` in base64: names do not begin with a digit.
    const isBase64 = () => /\d/.test(this.#normalized.text.charAt(at - 1)) || isPadding(this.#normalized, at + 2);
    if (length === 2 && isBase64()) return at + 2;
    return this.#assignments.scanAt(at, length);
  }
}

/** `Pw== `, the end of base64. */
const isPadding = ({ bytes }: NormalizedText, at: number) =>
  bytes[at] === EQUALS && bytes[at + 1] === EQUALS && (bytes[at + 2] ?? 0) <= SPACE;

/** Maps places in the normalized text to places in the source text. */
function toSourceSpans({ sourceOffsets }: NormalizedText, found: readonly Span[]): Span[] {
  return found.map(({ start, end, rule }) => ({
    start: sourceOffsets?.at(start) ?? start,
    end: sourceOffsets?.at(end) ?? end,
    rule,
  }));
}

/** Longest text that is searched, so that a long one has the same findings in one piece and in slices. */
const maxTextLength = 131_072;
/** Values that are searched for, by their length: shorter ones are common, longer ones are documents. */
const minValueLength = 8;
const maxValueLength = 512;
/** Characters that may be searched for all values together. */
const maxSearched = 2_097_152;

/**
 * The other places of values that were found by what stands beside them: a password of a settings file is the same
 * secret in the next command's output. Only values with letters and digits count: a word may stand for itself.
 */
function addRepeatedValues(text: string, spans: Span[]): void {
  if (text.length > maxTextLength) return;
  const searched = new Set<string>();
  let left = maxSearched;
  for (const { start, end, rule } of [...spans]) {
    if (end - start < minValueLength || end - start > maxValueLength) continue;
    const value = text.slice(start, end);
    if (searched.has(value) || !isUnlikeWords(value)) continue;
    searched.add(value);
    left -= text.length;
    if (left < 0) return;
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
      const to = at + value.length;
      if (at !== start && !isWordCharacter(text, at - 1) && !isWordCharacter(text, to))
        spans.push({ start: at, end: to, rule });
    }
  }
}

/** With letters and digits, and no names as programs have them (`page-2`, `item_3`). */
function isUnlikeWords(value: string): boolean {
  return /\d/.test(value) && /[a-z]/i.test(value) && !/^[a-z]+(?:[-_. ][a-z]+)*[-_. ]?\d{1,4}$/i.test(value);
}

const isWordCharacter = (text: string, at: number) => /\w/.test(text.charAt(at));
