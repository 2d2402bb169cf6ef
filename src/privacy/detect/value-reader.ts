import { wordList } from "#privacy/rules/tables.ts";
import { byteSet, matchEnd } from "#privacy/text/characters.ts";
import type { Notation } from "./kept-values.ts";

export interface CandidateValue {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly notation: Notation;
  /** Behind the name of an authentication scheme, as in `Bearer …`. */
  readonly scheme?: true;
}

/** Where a value stands: behind an assignment, in the query of an address, in a sentence. */
export type ValueContext = "bare" | "query" | "prose";

const maxQuotedLength = 4_096;
const maxBareLength = 2_048;

const opening =
  /(?:[rbfuRBFUNLE@$]{1,2}|new |(?:[A-Za-z_][\w.:]{0,40})?(?:String::from|SecretStr|SecretString::new|Secret::new|String|Buffer\.from|from|of|text|b64decode|Ok|Some|Some\(String::from|lit|str)\(|\(|string\(\d{1,5}\) )?["'`]/y;
/** In settings strings, where the next setting begins. */
const nextSetting = /(?:[;,]\s?[A-Za-z_][A-Za-z_ .-]{0,40}|&[A-Za-z_][A-Za-z_.-]{0,40})=/y;
/** What stands before the value itself in an `Authorization` header and its like. */
const authSchemes = wordList("authSchemes");

/**
 * Reads the value that begins at `from`, behind the word for an authentication scheme if one stands there; undefined
 * where nothing of at least 3 characters does.
 * @param most longest unquoted value that is read
 */
export function readValue(
  text: string,
  from: number,
  place: ValueContext,
  most: number = maxBareLength,
): CandidateValue | undefined {
  const value = readWritten(text, from, place, most);
  if (value === undefined) return undefined;
  if (value.notation === "quoted") {
    const space = value.text.indexOf(" ");
    return space > 0 && isScheme(value.text.slice(0, space))
      ? { ...value, start: value.start + space + 1, text: value.text.slice(space + 1), scheme: true }
      : value;
  }
  if (!isScheme(value.text)) return value;
  let next = value.end;
  while (next < value.end + 3 && afterScheme[text.charCodeAt(next)] === 1) next++;
  if (next === value.end) return value;
  const behind = readWritten(text, next, place === "prose" ? "prose" : "bare", maxBareLength);
  return behind === undefined ? value : { ...behind, scheme: true };
}

function isScheme(word: string): boolean {
  return word.length <= 16 && authSchemes.has(word.toLowerCase());
}

function readWritten(text: string, from: number, place: ValueContext, most: number): CandidateValue | undefined {
  const open = matchEnd(opening, text, from);
  return open >= 0 ? readQuoted(text, open) : readBare(text, from, place, most);
}

/** @param start right behind the opening quote */
function readQuoted(text: string, start: number): CandidateValue | undefined {
  const quote = text.charCodeAt(start - 1);
  const limit = Math.min(text.length, start + maxQuotedLength);
  let end = start;
  while (end < limit) {
    const c = text.charCodeAt(end);
    if (c === quote || c === 0x0a) break;
    end++;
  }
  // Not closed: the value is the first word.
  if (text.charCodeAt(end) !== quote) {
    end = start;
    while (end < limit && text.charCodeAt(end) > 0x20) end++;
  }
  return end - start < 3 ? undefined : { start, end, text: text.slice(start, end), notation: "quoted" };
}

const hashMark = /\*[0-9A-F]{40}/y;
const openingMarks = byteSet("(*_");
const closingMarks = byteSet(".,;:)]}?*\\");
const afterScheme = byteSet(" :\t=");
/** White space, quotes and angle brackets end an unquoted value. */
const endsBare = byteSet("\"'`<>").map((end, c) => (c <= 0x20 ? 1 : end));
const mayEndBare = byteSet("&,;#");

function readBare(text: string, from: number, place: ValueContext, most: number): CandidateValue | undefined {
  let start = from;
  // Not the mark of MySQL before a hash.
  while (start < from + 3 && openingMarks[text.charCodeAt(start)] === 1 && matchEnd(hashMark, text, start) < 0) start++;
  const limit = Math.min(text.length, start + most);
  let end = start;
  for (; end < limit; end++) {
    const c = text.charCodeAt(end);
    if (endsBare[c] === 1) break;
    if (mayEndBare[c] !== 1) continue;
    const mark = text.charAt(end);
    if (place === "query" && (mark === "&" || mark === "#")) break;
    if (mark !== "#" && matchEnd(nextSetting, text, end) >= 0) break;
    if ((mark === "," || mark === ";") && text.charCodeAt(end + 1) <= 0x20) break;
  }
  if (end === limit && end < text.length) return undefined;
  while (end > start && closingMarks[text.charCodeAt(end - 1)] === 1) end--;
  // `I changed it to Sommer!` ends in a mark; `x7#k!` may well not.
  if (place === "prose" && /^[a-z]*!$/i.test(text.slice(start, end))) end--;
  const notation = place === "prose" ? "prose" : "bare";
  return end - start < 4 ? undefined : { start, end, text: text.slice(start, end), notation };
}

/** Reads what group 1 of a sticky pattern matches, as a quoted value. */
export function readGroup(pattern: RegExp, text: string, at: number): CandidateValue | undefined {
  pattern.lastIndex = at;
  const value = pattern.exec(text)?.[1];
  if (value === undefined) return undefined;
  const start = text.indexOf(value, at);
  return { start, end: start + value.length, text: value, notation: "quoted" };
}
