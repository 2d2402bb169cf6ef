import { scanInsert } from "#privacy/detect/notations/insert-statements.ts";
import { isPassword } from "#privacy/detect/values/values.ts";
import { vendorRule } from "#privacy/rules/keyed-rules.ts";
import {
  AMPERSAND,
  ASTERISK,
  AT_SIGN,
  BACKTICK,
  CARET,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  CR,
  DIGIT_0,
  DIGIT_9,
  DOT,
  DOUBLE_QUOTE,
  EQUALS,
  EXCLAMATION,
  GREATER_THAN,
  HYPHEN,
  LESS_THAN,
  LF,
  LOWER_A,
  LOWER_C,
  LOWER_P,
  LOWER_S,
  LOWER_V,
  OPEN_BRACKET,
  OPEN_PAREN,
  PIPE,
  PLUS,
  QUESTION_MARK,
  SEMICOLON,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  TAB,
  TILDE,
  UNDERSCORE,
  UPPER_V,
} from "#privacy/text/bytes.ts";
import { classes, inName, isLower, isUpper } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { BOUNDARY, COLOUR } from "#privacy/text/unicode.ts";
import { readKeyName } from "./key-names.ts";
import { KeyReference } from "./key-reference.ts";
import { isQuote, skipBlanks, valueStartAfterAssignment } from "./separators.ts";
import { TableScanner } from "./tables.ts";
import { namesPair, passwordAfterUser } from "./user-and-password.ts";
import { valueAfterName } from "./value-after-name.ts";

/** Longest unquoted value, and longest one inside another. */
const maxValueLength = 2_048;
const maxNestedValueLength = 96;
/** Longest name that is read. */
const maxNameLength = 80;
/** `use … as the password`. */
const asPassword = /(?:^|[\s"'`(])([^\s"'`()]{6,128})["'`]? as (?:the |my |a |your |our |its )?(?:\w{1,16} )?$/;

/** Finds values by the names beside them: assignments, settings files, tables, options, sentences. */
export class AssignmentScanner {
  readonly #disabled: ReadonlySet<string>;
  /** The stretch without white space in which the last name stood. */
  #scannedFrom = 0;
  #scannedTo = 0;
  /** The end of the statement that was read last. */
  #insertedTo = 0;

  readonly #tables: TableScanner;

  constructor(disabled: ReadonlySet<string>) {
    this.#disabled = disabled;
    this.#tables = new TableScanner(disabled);
  }

  /** To be called before each text: what was read of the last one says nothing about this one. */
  reset(): void {
    this.#scannedFrom = 0;
    this.#scannedTo = 0;
    this.#insertedTo = 0;
    this.#tables.reset();
  }

  /**
   * @param keywordAt where a keyword such as `pass` or `token` stands
   * @returns the end of the name around the keyword, so that its other key words are not read again
   */
  scanAt(normalized: NormalizedText, keywordAt: number, length: number, found: Span[]): number {
    const { bytes } = normalized;
    let to = keywordAt + length;
    const last = Math.min(normalized.length, to + maxNameLength);
    while (to < last && ((classes[bytes[to] ?? 0] ?? 0) & inName) !== 0) to++;
    const end = to;
    while (to > keywordAt + length && (bytes[to - 1] === DOT || bytes[to - 1] === HYPHEN)) to--;
    if (mayEndTableCell(bytes[to] ?? 0)) this.#tables.scanAt(normalized, wordStart(bytes, keywordAt), to, found);
    if (keywordAt >= this.#insertedTo && mayEndColumn(bytes[to] ?? 0))
      this.#insertedTo = scanInsert(normalized, keywordAt, this.#disabled, found);
    if (!mayHoldValue(bytes, to)) {
      if (isAsPassword(bytes, keywordAt)) this.#scanValueBeforeName(normalized, keywordAt, to, found);
      return end;
    }
    // The value of a program's name is passed over before anything else is done.
    const valueAt = valueStartAfterAssignment(normalized, to);
    if (valueAt >= 0 && !namesPair(bytes, keywordAt) && isCodeExpression(bytes, valueAt)) return end;
    const from = wordStart(bytes, keywordAt);
    if (bytes[to] === CLOSE_PAREN && isInChecksumLine(normalized.text, from)) return end;
    const name = new KeyReference(normalized, from, to);
    // A name inside a value that was read to its end already: `key=key=key=…` must not be read over and over.
    const inside = from < this.#scannedTo && from > this.#scannedFrom;
    const value =
      valueAfterName(normalized, name, valueAt, inside ? maxNestedValueLength : maxValueLength) ??
      passwordAfterUser(normalized, name, keywordAt);
    if (!inside) {
      this.#scannedFrom = from;
      this.#scannedTo = wordEndsAt(bytes, to);
    }
    if (value === undefined && isAsPassword(bytes, keywordAt))
      this.#scanValueBeforeName(normalized, keywordAt, to, found);
    if (value !== undefined) {
      const { kind, rule: general } = name.key;
      const rule = kind === "none" || kind === "password" ? "password" : (vendorRule(name.text, value.text) ?? general);
      if (!this.#disabled.has(rule)) found.push({ start: value.start, end: value.end, rule });
    }
    return end;
  }

  #scanValueBeforeName(normalized: NormalizedText, keywordAt: number, to: number, found: Span[]) {
    const { text } = normalized;
    const from = Math.max(0, keywordAt - 180);
    const lead = text.slice(from, keywordAt);
    const match = asPassword.exec(lead);
    const value = match?.[1];
    if (match === null || value === undefined || !/\d/.test(value) || !isPassword(value, "prose")) return;
    if (readKeyName(text.slice(keywordAt, to)).kind !== "password" || this.#disabled.has("password")) return;
    const start = from + match.index + match[0].indexOf(value);
    found.push({ start, end: start + value.length, rule: "password" });
  }
}

/** `SHA256 (build/secrets.tar.gz) = …`, as BSD and OpenSSL print checksums: the name is a file's. */
const checksumOf = /\b(?:md5|sha-?\d{1,3}(?:[-/]\d{3})?|sha3-\d{3}|blake\w{2,4}|crc32|rmd160)\s?\([^()\n]{0,100}$/i;
const maxChecksumLead = 120;

function isInChecksumLine(text: string, from: number): boolean {
  return checksumOf.test(text.slice(Math.max(0, from - maxChecksumLead), from));
}

/** Where the name around a place begins. */
function wordStart(bytes: Uint8Array, keywordAt: number): number {
  let from = keywordAt;
  const first = Math.max(0, keywordAt - maxNameLength);
  while (from > first && ((classes[bytes[from - 1] ?? 0] ?? 0) & inName) !== 0) from--;
  return from;
}

/** What can stand behind a name in the list of columns of `INSERT INTO`. */
function mayEndColumn(c: number): boolean {
  return c === COMMA || c === CLOSE_PAREN || c === BACKTICK || c === DOUBLE_QUOTE || c === CLOSE_BRACKET;
}

/** What can stand behind the name of a table's column: a separator, the end of the line, a blank before one of them, a quote, a star. */
function mayEndTableCell(c: number): boolean {
  return (
    c === LF ||
    c === COMMA ||
    c === PIPE ||
    c === TAB ||
    c === SEMICOLON ||
    c === SPACE ||
    c === BOUNDARY ||
    c === ASTERISK ||
    c === DOUBLE_QUOTE
  );
}

/** ` as password`, ` as the password`: the value stands before its name. */
function isAsPassword(bytes: Uint8Array, keywordAt: number): boolean {
  if (bytes[keywordAt - 1] !== SPACE || ((bytes[keywordAt] ?? 0) | 0x20) !== LOWER_P) return false; // password, passphrase, pwd
  if (isAs(bytes, keywordAt - 1)) return true;
  let at = keywordAt - 1;
  while (at > keywordAt - 7 && ((classes[bytes[at - 1] ?? 0] ?? 0) & isLower) !== 0) at--;
  return bytes[at - 1] === SPACE && isAs(bytes, at - 1);
}

function isAs(bytes: Uint8Array, end: number): boolean {
  return bytes[end - 1] === LOWER_S && bytes[end - 2] === LOWER_A && bytes[end - 3] === SPACE;
}

/**
 * Whether a value is a word or an expression of a program: letters, dots and brackets, nothing that a secret needs. Answers for most
 * values without reading them.
 */
function isCodeExpression(bytes: Uint8Array, from: number): boolean {
  let at = from;
  let expression = false;
  for (; at < from + 64; at++) {
    const c = bytes[at] ?? 0;
    const kind = classes[c] ?? 0;
    if ((kind & (isLower | isUpper)) !== 0 || c === UNDERSCORE) continue;
    if (c === DOT || c === OPEN_PAREN || c === OPEN_BRACKET) expression = true;
    else break;
  }
  const c = bytes[at] ?? 0;
  if (at === from) return false;
  // White space, comma, semicolon, closing brackets: the end. Anything else needs a closer look, and so do two words: `Basic dXNlcjpw`.
  const ends =
    c === SPACE ||
    c === LF ||
    c === CR ||
    c === COMMA ||
    c === SEMICOLON ||
    c === CLOSE_PAREN ||
    c === CLOSE_BRACKET ||
    c === CLOSE_BRACE;
  if (!ends) return false;
  if (expression) return bytes[at - 1] !== DOT;
  return at - from < 8 && !(c === SPACE && ((classes[bytes[at + 1] ?? 0] ?? 0) & inName) !== 0);
}

function wordEndsAt(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + maxValueLength && (bytes[at] ?? 0) > SPACE) at++;
  return at;
}

/**
 * Whether what stands right behind a name can lead to a value. A byte or two decide for most of the names in a program, which are
 * called, passed on or looked up rather than set.
 */
function mayHoldValue(bytes: Uint8Array, to: number): boolean {
  const next = bytes[to + 1] ?? 0;
  switch (bytes[to]) {
    case COLOUR: // a colour ends
    case OPEN_BRACKET:
    case LESS_THAN: // </key>
      return (
        next === COLON ||
        next === EQUALS ||
        next === CLOSE_BRACKET ||
        next === SLASH ||
        next === SPACE ||
        (next >= DIGIT_0 && next <= DIGIT_9)
      );
    case COLON:
    case EQUALS:
    case TAB:
    case PIPE:
    case ASTERISK:
    case BACKTICK:
    case GREATER_THAN:
      return true;
    case SPACE: {
      const c = bytes[skipBlanks(bytes, to, 40)] ?? 0;
      return (
        ((classes[c] ?? 0) & inName) !== 0 ||
        isQuote(c) ||
        c === COLON ||
        c === EQUALS ||
        c === QUESTION_MARK ||
        c === LESS_THAN ||
        c === PIPE ||
        c === OPEN_PAREN ||
        c === BOUNDARY ||
        c > 0x7f ||
        isPasswordSymbol(c)
      );
    }
    case DOUBLE_QUOTE:
    case SINGLE_QUOTE:
      return next !== SEMICOLON && next !== CLOSE_BRACE; // ; }
    case OPEN_PAREN:
      return isQuote(next) || next === SPACE;
    case CLOSE_PAREN:
    case CLOSE_BRACKET:
      return (
        next === SPACE || next === COLON || next === EQUALS || next === CLOSE_PAREN || next === DOT || isQuote(next)
      );
    case COMMA:
      return next >= SPACE || isQuote(bytes[skipBlanks(bytes, to + 1, 8)] ?? 0);
    case HYPHEN: // ->
    case EXCLAMATION: // !=
    case QUESTION_MARK: // ?:
      return next === GREATER_THAN || next === EQUALS || next === COLON || next === QUESTION_MARK || next === SPACE;
    case LF: {
      const c = bytes[skipBlanks(bytes, to + 1, 40)] ?? 0;
      return c === LOWER_V || c === UPPER_V || c === LOWER_C || c === LOWER_S; // value, Value, content, stringValue
    }
    default:
      return false;
  }
}

/** Beginnings of made-up passwords: ! # $ % & @ ^ ~ + */
function isPasswordSymbol(c: number): boolean {
  return (
    (c >= EXCLAMATION && c <= AMPERSAND && c !== DOUBLE_QUOTE) ||
    c === AT_SIGN ||
    c === CARET ||
    c === TILDE ||
    c === PLUS
  );
}
