import { isPassword, isSecret } from "#privacy/detect/values/values.ts";
import {
  ASTERISK,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_PAREN,
  COMMA,
  DOUBLE_QUOTE,
  EQUALS,
  GREATER_THAN,
  LESS_THAN,
  LF,
  OPEN_BRACE,
  OPEN_PAREN,
  PIPE,
  SEMICOLON,
  SINGLE_QUOTE,
  SPACE,
  TAB,
} from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { BOUNDARY } from "#privacy/text/unicode.ts";
import { readKeyName } from "./key-names.ts";

/** Longest line, and most lines of one table that are read. */
const maxLineLength = 400;
const maxRows = 200;
/** Most columns of a table. */
const maxColumns = 40;

/**
 * Tables whose first line names the columns: Markdown, what database clients print, CSV, TSV. What stands below a column called
 * `password`, `token` or `secret` is read as if that name stood beside it.
 */
export class TableScanner {
  readonly #disabled: ReadonlySet<string>;
  /** End of what was read already, so that every line is read once. */
  #readTo = 0;

  constructor(disabled: ReadonlySet<string>) {
    this.#disabled = disabled;
  }

  reset(): void {
    this.#readTo = 0;
  }

  /** @param from @param to where a name stands that may head a column */
  scanAt(normalized: NormalizedText, from: number, to: number, found: Span[]): void {
    if (from < this.#readTo || !mayBeHeading(normalized.bytes, from, to)) return;
    const start = lineStart(normalized.bytes, from);
    const end = start < 0 ? -1 : lineEnd(normalized.bytes, to);
    if (end < 0) return;
    this.#readTo = end;
    const cells = cellsOf(normalized, start, end);
    if (cells === undefined || cells.length > maxColumns || !cells.every(isHeading)) return;
    const names = cells.map(({ text }) => readKeyName(text));
    const width = cells.length;
    let at = end + 1;
    for (let row = 0; row < maxRows && at < normalized.length; row++) {
      const rowEnd = lineEnd(normalized.bytes, at);
      if (rowEnd < 0) break;
      if (!isRulerLine(normalized.text.slice(at, rowEnd))) {
        const values = cellsOf(normalized, at, rowEnd);
        if (values === undefined || values.length !== width) break;
        for (const [column, { start, text }] of values.entries()) {
          const { kind, rule } = names[column] ?? readKeyName("");
          const secret =
            kind === "password" ? isPassword(text, "quoted") : kind === "secret" ? isSecret(text, "quoted") : false;
          const id = kind === "password" ? "password" : rule;
          if (secret && !this.#disabled.has(id)) found.push({ start, end: start + text.length, rule: id });
        }
      }
      this.#readTo = rowEnd;
      at = rowEnd + 1;
    }
  }
}

interface Cell {
  readonly start: number;
  readonly text: string;
}

/** Whether a name is alone in its cell: a line or a separator before it, and a separator or the end of the line behind. */
function mayBeHeading(bytes: Uint8Array, from: number, to: number): boolean {
  let after = to;
  while (after < to + 40 && isPadding(bytes[after] ?? 0)) after++;
  const right = bytes[after] ?? 0;
  if (right !== LF && !isSeparator(right)) return false;
  let before = from - 1;
  while (before >= 0 && before > from - 40 && isPadding(bytes[before] ?? 0)) before--;
  const left = before < 0 ? LF : (bytes[before] ?? 0);
  if (left === LF && right === LF) return false; // a line of its own: no table
  return left === LF || isSeparator(left);
}

/** Blanks, quotes and emphasis around the text of a cell. */
function isPadding(c: number): boolean {
  return c === SPACE || c === DOUBLE_QUOTE || c === SINGLE_QUOTE || c === ASTERISK || c === BACKTICK;
}

/** `,` `;` `|` tab, and the lines of a box. */
function isSeparator(c: number): boolean {
  return c === COMMA || c === SEMICOLON || c === PIPE || c === TAB || c === BOUNDARY;
}

function lineStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && bytes[at - 1] !== LF) {
    at--;
    if (from - at > maxLineLength || isCodeSymbol(bytes[at] ?? 0)) return -1;
  }
  return at;
}

/** Marks of a program, which no head of a table has. */
function isCodeSymbol(c: number): boolean {
  return (
    c === EQUALS ||
    c === OPEN_PAREN ||
    c === CLOSE_PAREN ||
    c === OPEN_BRACE ||
    c === CLOSE_BRACE ||
    c === LESS_THAN ||
    c === GREATER_THAN
  );
}

function lineEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] !== LF && bytes[at] !== 0) if (++at - from > maxLineLength) return -1;
  return at;
}

/** The cells of a line, by the separator that comes first; undefined for a line of one cell. */
function cellsOf(normalized: NormalizedText, start: number, end: number): Cell[] | undefined {
  const line = normalized.text.slice(start, end);
  const separator = /[|\x01]/.exec(line)?.[0] ?? /[\t;,]/.exec(line)?.[0];
  if (separator === undefined) return undefined;
  const cells: Cell[] = [];
  let at = 0;
  for (const piece of line.split(separator)) {
    const text = piece.replace(/^[\s"'*`]+|[\s"'*`]+$/g, "");
    cells.push({ start: start + at + (text === "" ? 0 : piece.indexOf(text)), text });
    at += piece.length + 1;
  }
  // The lines at both sides of a Markdown table.
  if (cells[0]?.text === "") cells.shift();
  if (cells.at(-1)?.text === "") cells.pop();
  return cells.length < 2 ? undefined : cells;
}

/** A name, not a sentence or a value. */
function isHeading({ text }: Cell): boolean {
  return /^[A-Za-z#\xc0-\xff][\w ./#\xc0-\xff-]{0,30}$/.test(text);
}

/** The line between the head of a table and its rows. */
function isRulerLine(line: string): boolean {
  return /^[\s|+:=\x01-]*$/.test(line);
}
