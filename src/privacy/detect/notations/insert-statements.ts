import { matchAt } from "#platform/text-search/match-at.ts";
import { readKeyName } from "#privacy/detect/assignments/key-names.ts";
import { isPassword, isSecret } from "#privacy/detect/values/values.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** Longest list of columns before the name of one, and most rows that are read. */
const maxColumnsLength = 400;
const maxRows = 200;
const insertInto = /\b(?:insert|replace)\s{1,4}(?:ignore\s{1,4})?into\s{1,4}\S{1,100}\s{0,4}$/i;
const listOfColumns = /\(([^()]{1,800})\)\s{0,8}values\s{0,8}/iy;
const rowStart = /\(\s{0,8}/y;
/** A value and what stands behind it: a string, where a quote is doubled to stand in it, or anything else without a comma. */
const value = /(?:'((?:[^'\n]|''){0,2048})'|[^,()'\n]{0,200}(?:\([^()\n]{0,200}\))?)\s{0,8}([,)])\s{0,8}/y;

/**
 * What is written into columns called `password`, `token` or `secret`: `INSERT INTO users (name, password) VALUES ('app', '…')`.
 * @param from where a name stands that may be one of the columns
 * @returns the end of what was read; `from` where it is none
 */
export function scanInsert(
  { text }: NormalizedText,
  from: number,
  disabled: ReadonlySet<string>,
  found: Span[],
): number {
  const open = text.slice(Math.max(0, from - maxColumnsLength), from).lastIndexOf("(");
  if (open < 0) return from;
  const listAt = Math.max(0, from - maxColumnsLength) + open;
  if (!insertInto.test(text.slice(Math.max(0, listAt - 140), listAt))) return from;
  const list = matchAt(listOfColumns, text, listAt);
  if (list === undefined) return from;
  const columns = (list[1] ?? "").split(",").map((name) => readKeyName(name.trim().replaceAll(/["'`[\]]/g, "")));
  let at = listAt + list[0].length;
  for (let row = 0; row < maxRows && matchAt(rowStart, text, at) !== undefined; row++) {
    at = rowStart.lastIndex;
    for (const { kind, rule } of columns) {
      const cell = matchAt(value, text, at);
      if (cell === undefined) return at;
      const [whole, literal, end] = cell;
      if (
        literal !== undefined &&
        (kind === "password" ? isPassword(literal, "quoted") : kind === "secret" && isSecret(literal, "quoted"))
      ) {
        const id = kind === "password" ? "password" : rule;
        if (!disabled.has(id)) found.push({ start: at + 1, end: at + 1 + literal.length, rule: id });
      }
      at += whole.length;
      if (end === ")") break;
    }
    if (text[at] === ",") at++;
    while (text[at] === " " || text[at] === "\n" || text[at] === "\r") at++;
  }
  return at;
}
