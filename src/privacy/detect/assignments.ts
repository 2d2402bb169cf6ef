import {
  byteSet,
  CLOSE_PAREN,
  classes,
  DOT,
  HYPHEN,
  inName,
  matchEnd,
  SLASH,
  SPACE,
} from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { NamedValue, namesPair, passwordAfterUser } from "./named-values.ts";
import { TableScanner } from "./tables.ts";
import { valueAfterName, valueStartAfterAssignment } from "./value-notations.ts";

/** Longest unquoted value, and longest one inside another. */
const maxValueLength = 2_048;
const maxNestedValueLength = 96;
/** Longest name that is read. */
const maxNameLength = 80;

/** A word or an expression of a program: letters, dots and brackets, nothing that a secret needs. */
const codeExpression =
  /!{0,2}(?=[A-Za-z_]{0,63}[.([])[A-Za-z_.([]{0,63}[A-Za-z_([][ \n\r,;)\]}]|[A-Za-z_]{1,7}(?:[\n\r,;)\]}]| (?![\w.\xc0-\xff-]))/y;
/** Base64 before a name: that is a part of it. */
const dataLength = 24;
const data = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+/]{24}$/;
/** What can stand behind the name of a table's column. */
const endsCell = byteSet('\n,|\t; \x01*"');
/** `SHA256 (build/secrets.tar.gz) = …`, as BSD and OpenSSL print checksums; `checksum/secret: …`. */
const checksumOf =
  /\b(?:md5|sha-?\d{1,3}(?:[-/]\d{3})?|sha3-\d{3}|blake\w{2,4}|crc32|rmd160|checksums?|digest|hash(?:es)?)(?:\s?\([^()\n]{0,100}|\/[\w.-]{0,40})$/i;

/** Finds values by the names beside them: assignments, settings files, tables, options, sentences. */
export class AssignmentScanner {
  readonly #normalized: NormalizedText;
  readonly #found: Span[];
  readonly #tables = new TableScanner();
  /** The stretch without white space in which the last name stood. */
  #scannedFrom = 0;
  #scannedTo = 0;

  constructor(normalized: NormalizedText, found: Span[]) {
    this.#normalized = normalized;
    this.#found = found;
  }

  /**
   * @param keywordAt where a keyword such as `pass` or `token` stands
   * @returns the end of the name around the keyword, so that its other key words are not read again
   */
  scanAt(keywordAt: number, length: number): number {
    const normalized = this.#normalized;
    const found = this.#found;
    const { bytes, text } = normalized;
    let to = keywordAt + length;
    const last = Math.min(normalized.length, to + maxNameLength);
    while (to < last && ((classes[bytes[to] ?? 0] ?? 0) & inName) !== 0) to++;
    const end = to;
    while (to > keywordAt + length && (bytes[to - 1] === DOT || bytes[to - 1] === HYPHEN)) to--;
    const next = bytes[to] ?? 0;
    if (endsCell[next] === 1) this.#tables.scanAt(normalized, wordStart(bytes, keywordAt), to, found);
    // The value of a program's name is passed over before anything else is done.
    const valueAt = valueStartAfterAssignment(normalized, to);
    if (valueAt >= 0 && !namesPair(bytes, keywordAt) && matchEnd(codeExpression, text, valueAt) >= 0) return end;
    const from = wordStart(bytes, keywordAt);
    const name = new NamedValue(normalized, from, to);
    // A name inside a value that was read to its end already: `key=key=key=…` must not be read over and over.
    const inside = from < this.#scannedTo && from > this.#scannedFrom;
    const value =
      valueAfterName(normalized, name, valueAt, inside ? maxNestedValueLength : maxValueLength) ??
      passwordAfterUser(normalized, name, keywordAt);
    if (!inside) {
      this.#scannedFrom = from;
      this.#scannedTo = wordEnd(bytes, to);
    }
    if (
      value !== undefined &&
      !data.test(text.slice(Math.max(0, from - dataLength), from)) &&
      !(
        (next === CLOSE_PAREN || text.charCodeAt(from - 1) === SLASH) &&
        checksumOf.test(text.slice(Math.max(0, from - 120), from))
      )
    ) {
      const { kind, rule } = name.key;
      found.push({ start: value.start, end: value.end, rule: kind === "none" ? "password" : rule });
    }
    return end;
  }
}

/** Where the name around a place begins. */
function wordStart(bytes: Uint8Array, keywordAt: number): number {
  let from = keywordAt;
  const first = Math.max(0, keywordAt - maxNameLength);
  while (from > first && ((classes[bytes[from - 1] ?? 0] ?? 0) & inName) !== 0) from--;
  return from;
}

function wordEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + maxValueLength && (bytes[at] ?? 0) > SPACE) at++;
  return at;
}
