import type { Writing } from "./values.ts";

export interface Value {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly writing: Writing;
}

/** Where a value stands: behind an assignment, in the query of an address, in a sentence. */
export type Place = "bare" | "query" | "prose";

const longestQuoted = 4_096;
const longestBare = 2_048;

const opening =
  /(?:[rbfuRBFU@$]{1,2}|new |(?:[A-Za-z_][\w.:]{0,40})?(?:String::from|SecretStr|SecretString::new|Secret::new|String|Buffer\.from|from|of|text|b64decode|Ok|Some|Some\(String::from|lit|str)\(|\()?["'`]/y;
/** In settings strings, where the next setting begins. */
const nextSetting = /(?:[;,]\s?[A-Za-z_][A-Za-z_ .-]{0,40}|&[A-Za-z_][A-Za-z_.-]{0,40})=/y;
/** What stands before the value itself in an `Authorization` header and its like. */
const schemes = new Set(
  "bearer token apikey api-key key basic digest bot geniekey ssws negotiate splunk api-token deepl-auth-key oauth accesskey private-token client-id klaviyo-api-key".split(
    " ",
  ),
);
const longestScheme = 16;

/**
 * Reads the value that begins at `from`; undefined where nothing of at least 3 characters does.
 * @param most longest unquoted value that is read
 */
export function readValue(text: string, from: number, place: Place, most: number = longestBare): Value | undefined {
  const open = match(opening, text, from);
  if (open >= 0) {
    const value = readQuoted(text, open);
    const space = value?.text.indexOf(" ") ?? -1;
    if (
      value === undefined ||
      space <= 0 ||
      space > longestScheme ||
      !schemes.has(value.text.slice(0, space).toLowerCase())
    )
      return value;
    return { ...value, start: value.start + space + 1, text: value.text.slice(space + 1) };
  }
  const value = readBare(text, from, place, most);
  if (value === undefined || value.text.length > longestScheme || !schemes.has(value.text.toLowerCase())) return value;
  let next = value.end;
  while (next < value.end + 3 && isOneOf(text.charCodeAt(next), " :\t=")) next++;
  return next === value.end ? value : (readValue(text, next, place === "prose" ? "prose" : "bare") ?? value);
}

/** @param start right behind the opening quote */
function readQuoted(text: string, start: number): Value | undefined {
  const quote = text.charCodeAt(start - 1);
  const limit = Math.min(text.length, start + longestQuoted);
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
  return end - start < 3 ? undefined : { start, end, text: text.slice(start, end), writing: "quoted" };
}

function readBare(text: string, from: number, place: Place, most: number): Value | undefined {
  let start = from;
  while (start < from + 3 && isOneOf(text.charCodeAt(start), "(*_")) start++;
  const limit = Math.min(text.length, start + most);
  let end = start;
  while (end < limit) {
    const c = text.charCodeAt(end);
    if (c <= 0x20 || c === 0x22 || c === 0x27 || c === 0x60 || c === 0x3c || c === 0x3e) break;
    if (c === 0x26 || c === 0x2c || c === 0x3b || c === 0x23) {
      if (place === "query" && (c === 0x26 || c === 0x23)) break;
      if (c !== 0x23 && match(nextSetting, text, end) >= 0) break;
      if ((c === 0x2c || c === 0x3b) && text.charCodeAt(end + 1) <= 0x20) break;
    }
    end++;
  }
  if (end === limit && end < text.length) return undefined;
  while (end > start && isOneOf(text.charCodeAt(end - 1), ".,;:)]}?*\\")) end--;
  // `I changed it to Sommer!` ends in a mark; `x7#k!` may well not.
  if (place === "prose" && text.charCodeAt(end - 1) === 0x21 && /^[a-z]*!$/i.test(text.slice(start, end))) end--;
  return end - start < 4
    ? undefined
    : { start, end, text: text.slice(start, end), writing: place === "prose" ? "prose" : "bare" };
}

/** Reads what group 1 of a sticky pattern matches, as a quoted value. */
export function readMatch(pattern: RegExp, text: string, at: number): Value | undefined {
  pattern.lastIndex = at;
  const value = pattern.exec(text)?.[1];
  if (value === undefined) return undefined;
  const start = text.indexOf(value, at);
  return { start, end: start + value.length, text: value, writing: "quoted" };
}

/** Runs a sticky pattern at a place; where it ends, or -1. */
export function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function isOneOf(c: number, characters: string): boolean {
  for (let i = 0; i < characters.length; i++) if (characters.charCodeAt(i) === c) return true;
  return false;
}
