import { isPassword } from "#privacy/detect/values/values.ts";
import { vendorRule } from "#privacy/rules/keyed-rules.ts";
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

  readonly #tables: TableScanner;

  constructor(disabled: ReadonlySet<string>) {
    this.#disabled = disabled;
    this.#tables = new TableScanner(disabled);
  }

  /** To be called before each text: what was read of the last one says nothing about this one. */
  reset(): void {
    this.#scannedFrom = 0;
    this.#scannedTo = 0;
    this.#tables.reset();
  }

  /**
   * @param anchor where a key word such as `pass` or `token` stands
   * @returns the end of the name around the anchor, so that its other key words are not read again
   */
  scanAt(normalized: NormalizedText, anchor: number, length: number, found: Span[]): number {
    const { bytes } = normalized;
    let to = anchor + length;
    const last = Math.min(normalized.length, to + maxNameLength);
    while (to < last && ((classes[bytes[to] ?? 0] ?? 0) & inName) !== 0) to++;
    const end = to;
    while (to > anchor + length && (bytes[to - 1] === 0x2e || bytes[to - 1] === 0x2d)) to--;
    if (mayEndTableCell(bytes[to] ?? 0)) this.#tables.scanAt(normalized, wordStart(bytes, anchor), to, found);
    if (!mayHoldValue(bytes, to)) {
      if (isAsPassword(bytes, anchor)) this.#scanValueBeforeName(normalized, anchor, to, found);
      return end;
    }
    // The value of a program's name is passed over before anything else is done.
    const valueAt = valueStartAfterAssignment(normalized, to);
    if (valueAt >= 0 && !namesPair(bytes, anchor) && isCodeExpression(bytes, valueAt)) return end;
    const from = wordStart(bytes, anchor);
    const name = new KeyReference(normalized, from, to);
    // A name inside a value that was read to its end already: `key=key=key=…` must not be read over and over.
    const inside = from < this.#scannedTo && from > this.#scannedFrom;
    const value =
      valueAfterName(normalized, name, valueAt, inside ? maxNestedValueLength : maxValueLength) ??
      passwordAfterUser(normalized, name, anchor);
    if (!inside) {
      this.#scannedFrom = from;
      this.#scannedTo = wordEndsAt(bytes, to);
    }
    if (value === undefined && isAsPassword(bytes, anchor)) this.#scanValueBeforeName(normalized, anchor, to, found);
    if (value !== undefined) {
      const { kind, rule: general } = name.key;
      const rule = kind === "none" || kind === "password" ? "password" : (vendorRule(name.text, value.text) ?? general);
      if (!this.#disabled.has(rule)) found.push({ start: value.start, end: value.end, rule });
    }
    return end;
  }

  #scanValueBeforeName(normalized: NormalizedText, anchor: number, to: number, found: Span[]) {
    const { text } = normalized;
    const from = Math.max(0, anchor - 180);
    const lead = text.slice(from, anchor);
    const match = asPassword.exec(lead);
    const value = match?.[1];
    if (match === null || value === undefined || !/\d/.test(value) || !isPassword(value, "prose")) return;
    if (readKeyName(text.slice(anchor, to)).kind !== "password" || this.#disabled.has("password")) return;
    const start = from + match.index + match[0].indexOf(value);
    found.push({ start, end: start + value.length, rule: "password" });
  }
}

/** Where the name around a place begins. */
function wordStart(bytes: Uint8Array, anchor: number): number {
  let from = anchor;
  const first = Math.max(0, anchor - maxNameLength);
  while (from > first && ((classes[bytes[from - 1] ?? 0] ?? 0) & inName) !== 0) from--;
  return from;
}

/** What can stand behind the name of a column: a separator, the end of the line, a blank before one of them, a quote, a star. */
function mayEndTableCell(c: number): boolean {
  return (
    c === 0x0a ||
    c === 0x2c ||
    c === 0x7c ||
    c === 0x09 ||
    c === 0x3b ||
    c === 0x20 ||
    c === BOUNDARY ||
    c === 0x2a ||
    c === 0x22
  );
}

/** ` as password`, ` as the password`: the value stands before its name. */
function isAsPassword(bytes: Uint8Array, anchor: number): boolean {
  if (bytes[anchor - 1] !== 0x20 || ((bytes[anchor] ?? 0) | 0x20) !== 0x70) return false; // password, passphrase, pwd
  if (isAs(bytes, anchor - 1)) return true;
  let at = anchor - 1;
  while (at > anchor - 7 && ((classes[bytes[at - 1] ?? 0] ?? 0) & isLower) !== 0) at--;
  return bytes[at - 1] === 0x20 && isAs(bytes, at - 1);
}

function isAs(bytes: Uint8Array, end: number): boolean {
  return bytes[end - 1] === 0x73 && bytes[end - 2] === 0x61 && bytes[end - 3] === 0x20;
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
    if ((kind & (isLower | isUpper)) !== 0 || c === 0x5f) continue;
    if (c === 0x2e || c === 0x28 || c === 0x5b) expression = true;
    else break;
  }
  const c = bytes[at] ?? 0;
  if (at === from) return false;
  // White space, comma, semicolon, closing brackets: the end. Anything else needs a closer look, and so do two words: `Basic dXNlcjpw`.
  const ends =
    c === 0x20 || c === 0x0a || c === 0x0d || c === 0x2c || c === 0x3b || c === 0x29 || c === 0x5d || c === 0x7d;
  if (!ends) return false;
  if (expression) return bytes[at - 1] !== 0x2e;
  return at - from < 8 && !(c === 0x20 && ((classes[bytes[at + 1] ?? 0] ?? 0) & inName) !== 0);
}

function wordEndsAt(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + maxValueLength && (bytes[at] ?? 0) > 0x20) at++;
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
    case 0x5b: // [
    case 0x3c: // </key>
      return (
        next === 0x3a ||
        next === 0x3d ||
        next === 0x5d ||
        next === 0x2f ||
        next === 0x20 ||
        (next >= 0x30 && next <= 0x39)
      );
    case 0x3a: // :
    case 0x3d: // =
    case 0x09:
    case 0x7c: // |
    case 0x2a: // *
    case 0x60: // `
    case 0x3e: // >
      return true;
    case 0x20: {
      const c = bytes[skipBlanks(bytes, to, 40)] ?? 0;
      return (
        ((classes[c] ?? 0) & inName) !== 0 ||
        isQuote(c) ||
        c === 0x3a ||
        c === 0x3d ||
        c === 0x3f ||
        c === 0x3c ||
        c === 0x7c ||
        c === 0x28 ||
        c === BOUNDARY ||
        c > 0x7f ||
        isPasswordSymbol(c)
      );
    }
    case 0x22: // "
    case 0x27: // '
      return next !== 0x3b && next !== 0x7d; // ; }
    case 0x28: // (
      return isQuote(next) || next === 0x20;
    case 0x29: // )
    case 0x5d: // ]
      return next === 0x20 || next === 0x3a || next === 0x3d || next === 0x29 || next === 0x2e || isQuote(next);
    case 0x2c: // ,
      return next >= 0x20 || isQuote(bytes[skipBlanks(bytes, to + 1, 8)] ?? 0);
    case 0x2d: // ->
    case 0x21: // !=
    case 0x3f: // ?:
      return next === 0x3e || next === 0x3d || next === 0x3a || next === 0x3f || next === 0x20;
    case 0x0a: {
      const c = bytes[skipBlanks(bytes, to + 1, 40)] ?? 0;
      return c === 0x76 || c === 0x56 || c === 0x63 || c === 0x73; // value, Value, content, stringValue
    }
    default:
      return false;
  }
}

/** Beginnings of made-up passwords: ! # $ % & @ ^ ~ + */
function isPasswordSymbol(c: number): boolean {
  return (c >= 0x21 && c <= 0x26 && c !== 0x22) || c === 0x40 || c === 0x5e || c === 0x7e || c === 0x2b;
}
