import {
  COMMA,
  DOUBLE_QUOTE,
  GREATER_THAN,
  LESS_THAN,
  LF,
  LOWER_C,
  LOWER_S,
  LOWER_V,
  SEMICOLON,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  UPPER_V,
} from "#privacy/text/bytes.ts";
import { classes, isLower } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyReference } from "./key-reference.ts";
import { isQuote, skipBlanks } from "./separators.ts";
import { type CandidateValue, matchEnd, readGroup, readValue } from "./value-reader.ts";

// All patterns are sticky, and all repetitions are bounded.
const tag = /[^<>\n]{0,80}(?<!\/)>\s{0,40}/y;
const tagValue = /(?:<!\[CDATA\[)?([^<>\n]{4,1024}?)\s{0,40}(?:\]\]>)?(?:<|$)/y;
const cell = /["'`*]{0,3}(?:[ \t]{1,40}\||\|(?=[ \t])|\t)[ \t]{0,40}["'`*]{0,3}/y;
const cellValue = /([^\s|`"']{4,512})["'`*]{0,3}[ \t]{0,40}(?:\||\n|$)/y;
const nameThenValue =
  /["'`]?[ \t]{0,8}(?:,|;|\/?>|(?:\s{1,4}[\w-]{1,24}=["'][^"'<>\n]{0,80}["']){1,4})?\s{0,80}["'<]?(?:[Vv]alue|val|content|secretValue|stringValue|string)["'>]?\s{0,8}[=:]?\s{0,8}/y;
const blockDefault = /"\s{0,8}\{[^{}]{0,240}?\bdefault\s{0,8}=\s{0,8}/y;
const propertyList = /<\/(?:key|name|Name|Key)>\s{0,40}<(?:string|value|Value)>/y;

/** `<password>…`, `name="password" value="…"`, `- name: PASSWORD` with `value: …` below it, `variable "password" { default = … }`. */
export function valueInMarkup(normalized: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { from, to } = name;
  let at = mayNameThenValue(bytes, to) ? matchEnd(nameThenValue, text, to) : -1;
  if (at >= 0) {
    const bare = bytes[at] === DOUBLE_QUOTE || bytes[at] === SINGLE_QUOTE || bytes[to] === LF;
    const value = name.asSecret(bare ? readValue(text, at, "bare") : readGroup(tagValue, text, at));
    if (value !== undefined) return value;
  }
  if (bytes[to] === LF || bytes[to] === COMMA) return undefined;
  at = isTagName(text, from) ? matchEnd(tag, text, to) : -1;
  if (at >= 0) {
    const value = name.asSecret(readGroup(tagValue, text, at));
    if (value !== undefined) return value;
  }
  at = bytes[to] === DOUBLE_QUOTE ? matchEnd(blockDefault, text, to) : -1;
  return at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
}

/** `<key>password</key><string>…` */
export function valueInPropertyList({ text }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const at = matchEnd(propertyList, text, name.to);
  return at < 0 ? undefined : name.asSecret(readGroup(tagValue, text, at));
}

/** The next cell: `| password | … |`. */
export function valueInTableCell({ text }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const at = matchEnd(cell, text, name.to);
  return at < 0 ? undefined : name.asSecret(readGroup(cellValue, text, at));
}

/** The value of a line of CSV that holds a name, a comma, the value and nothing else. */
export function valueInCsvLine(
  { text, bytes, length }: NormalizedText,
  name: KeyReference,
): CandidateValue | undefined {
  const value = readValue(text, name.to + 1, "bare");
  if (value === undefined) return undefined;
  const endsLine = bytes[value.end] === LF || isQuote(bytes[value.end] ?? 0) || value.end === length;
  return endsLine ? name.asSecret(value) : undefined;
}

/** Whether `value`, `val`, `content` or `string` can stand behind a name, with what `nameThenValue` allows between them. */
function mayNameThenValue(bytes: Uint8Array, to: number): boolean {
  let at = to;
  if (isQuote(bytes[at] ?? 0)) at++;
  const separator = skipBlanks(bytes, at, 8);
  let c = bytes[separator] ?? 0;
  if (c === COMMA || c === SEMICOLON || c === SLASH || c === GREATER_THAN) at = separator + (c === SLASH ? 2 : 1);
  else if (separator > at && ((classes[c] ?? 0) & isLower) !== 0) return true; // another attribute
  while (at < to + 100 && (bytes[at] ?? 0) <= SPACE && bytes[at] !== 0) at++;
  c = bytes[at] ?? 0;
  if (c === DOUBLE_QUOTE || c === SINGLE_QUOTE || c === LESS_THAN) c = bytes[at + 1] ?? 0;
  return (
    c === LOWER_V ||
    c === UPPER_V ||
    c === LOWER_C ||
    c === LOWER_S ||
    (bytes[to] === LF && ((classes[c] ?? 0) & isLower) !== 0)
  );
}

/** Whether a name stands inside a tag. */
function isTagName(text: string, from: number): boolean {
  for (let i = from - 1; i >= 0 && i > from - 82; i--) {
    const c = text.charCodeAt(i);
    if (c === LESS_THAN) return text.charCodeAt(i + 1) !== SLASH;
    if (c === GREATER_THAN || c === LF) return false;
  }
  return false;
}
