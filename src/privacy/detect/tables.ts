import { byteSet, LF, matchAt } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { type KeyName, readKeyName } from "./key-names.ts";
import { isPassword, isSecret } from "./values.ts";

/** Longest line, and most lines of one table that are read. */
const maxLineLength = 400;
const maxRows = 200;

/**
 * Tables whose first line names the columns: Markdown, what database clients print, CSV, TSV. What stands below a
 * column called `password`, `token` or `secret` is read as if that name stood beside it.
 */
export class TableScanner {
  /** End of what was read already, so that every line is read once. */
  #readTo = 0;

  /** @param from @param to where a name stands that may head a column */
  scanAt(normalized: NormalizedText, from: number, to: number, found: Span[]): void {
    if (from < this.#readTo) return;
    const start = lineStart(normalized.bytes, from);
    const end = start < 0 ? -1 : lineEnd(normalized.bytes, to);
    if (end < 0) return;
    this.#readTo = end;
    const cells = cellsOf(normalized, start, end);
    const width = cells?.length;
    if (cells === undefined || !cells.every(({ text }) => heading.test(text))) return;
    // A line with as many cells before it, or any in Markdown: this one is no head.
    const before = normalized.text.slice(normalized.text.lastIndexOf("\n", start - 2) + 1, Math.max(0, start - 1));
    if (
      start > 0 &&
      before.length <= maxLineLength &&
      (before.includes("|") || cellsOf(normalized, start - 1 - before.length, start - 1)?.length === width)
    )
      return;
    const names = cells.map(({ text }) => readKeyName(text));
    let at = end + 1;
    for (let row = 0; row < maxRows && at < normalized.length; row++) {
      const rowEnd = lineEnd(normalized.bytes, at);
      if (rowEnd < 0) break;
      if (!ruler.test(normalized.text.slice(at, rowEnd))) {
        const values = cellsOf(normalized, at, rowEnd);
        if (values === undefined || values.length !== width) break;
        for (const [column, { start, text }] of values.entries()) {
          const rule = secretInColumn(names[column], text);
          if (rule !== undefined) found.push({ start, end: start + text.length, rule });
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

/** Marks of a program, which no head of a table has. */
const codeMarks = byteSet("=(){}<>");

function lineStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && bytes[at - 1] !== LF) {
    at--;
    if (from - at > maxLineLength || codeMarks[bytes[at] ?? 0] === 1) return -1;
  }
  return at;
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
    const text = piece.replace(/^[\s"'*`]+|(?<![\s"'*`])[\s"'*`]+$/g, "");
    cells.push({ start: start + at + (text === "" ? 0 : piece.indexOf(text)), text });
    at += piece.length + 1;
  }
  // The lines at both sides of a Markdown table.
  if (cells[0]?.text === "") cells.shift();
  if (cells.at(-1)?.text === "") cells.pop();
  return cells.length < 2 ? undefined : cells;
}

/** A name, not a sentence or a value. */
const heading = /^[A-Za-z#\xc0-\xff][\w ./#\xc0-\xff-]{0,30}$/;
/** The line between the head of a table and its rows. */
const ruler = /^[\s|+:=\x01-]*$/;

/** The rule of a value below the name of a column, if it is a secret there. */
function secretInColumn(name: KeyName | undefined, value: string): string | undefined {
  if (name?.kind === "password") return isPassword(value, "quoted") ? "password" : undefined;
  return name?.kind === "secret" && isSecret(value, "quoted") ? name.rule : undefined;
}

const insertInto = /\b(?:insert|replace)\s{1,4}(?:ignore\s{1,4})?$/i;
const listOfColumns = /into\s{1,4}\S{1,100}\s{0,4}\(([^()]{1,800})\)\s{0,8}values\s{0,8}/iy;
const rowStart = /\(\s{0,8}/y;
/** A value and what stands behind it: a string, in which a quote is doubled, or anything else without a comma. */
const value = /(?:'((?:[^'\n]|''){0,2048})'|[^,()'\n]{0,200}(?:\([^()\n]{0,200}\))?)\s{0,8}([,)])\s{0,8}/y;

/** `INSERT INTO users (name, password) VALUES ('app', '…')`. */
export function scanInsert({ text }: NormalizedText, intoAt: number, found: Span[]): void {
  if (!insertInto.test(text.slice(Math.max(0, intoAt - 24), intoAt))) return;
  const list = matchAt(listOfColumns, text, intoAt);
  if (list === undefined) return;
  const columns = (list[1] ?? "").split(",").map((name) => readKeyName(name.trim().replaceAll(/["'`[\]]/g, "")));
  let at = intoAt + list[0].length;
  for (let row = 0; row < maxRows && matchAt(rowStart, text, at) !== undefined; row++) {
    at = rowStart.lastIndex;
    for (const column of columns) {
      const cell = matchAt(value, text, at);
      if (cell === undefined) return;
      const [whole, literal, end] = cell;
      const rule = literal === undefined ? undefined : secretInColumn(column, literal);
      if (rule !== undefined) found.push({ start: at + 1, end: at + 1 + (literal?.length ?? 0), rule });
      at += whole.length;
      if (end === ")") break;
    }
    if (text[at] === ",") at++;
    while (text[at] === " " || text[at] === "\n" || text[at] === "\r") at++;
  }
}
