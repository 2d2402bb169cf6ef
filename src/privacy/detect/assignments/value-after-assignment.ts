import {
  AMPERSAND,
  ASTERISK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  CR,
  DOT,
  EQUALS,
  GREATER_THAN,
  LESS_THAN,
  LF,
  OPEN_BRACKET,
  PERCENT,
  PIPE,
  PLUS,
  QUESTION_MARK,
  SEMICOLON,
} from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyReference } from "./key-reference.ts";
import { isQuote, skipBlanks } from "./separators.ts";
import { type CandidateValue, matchEnd, readGroup, readValue } from "./value-reader.ts";

// All patterns are sticky, and all repetitions are bounded.
const nextLine = /["'`]?[ \t]{0,8}[:=][ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\n[ \t]{1,24}/y;
/** A label on a line of its own, with the value on the next. */
const labelLine = /["'`*]{0,3}[ \t]{0,8}:[ \t*]{0,4}\n{1,2}`?/y;
const wholeLine = /([^\s"'`:<>]{8,256})[`"']?[ \t]{0,8}(?:[\n}]|$)/y;
/** What a script answers to a prompt that ends with this name. */
const promptAnswer =
  /:?[ \t]{0,2}["'}\]]{1,2}\)?;?(?:[ \t]{0,4}[\n;][ \t]{0,16}|[ \t]{1,4}\{?[ \t]{0,4})(?:[\w.]{1,24}\.)?(?:exp_)?send(?:line)?[ \t(]{1,3}(?:-- )?(?=["'])/y;
/** Tags that close around a label: `</b>`, `</td><td>`. */
const closedTags = /(?:<\/?[A-Za-z]{1,10}>\s{0,8}){1,4}/y;

/**
 * The value behind an assignment such as `=` or `:`.
 * @returns undefined where it is no secret, null where the name may have its value elsewhere
 */
export function valueAfterAssignment(
  normalized: NormalizedText,
  name: KeyReference,
  valueAt: number,
  most: number,
): CandidateValue | undefined | null {
  const { text, bytes } = normalized;
  const { from, to } = name;
  const next = bytes[to] ?? 0;
  let at = valueAt;
  // `<b>Password:</b> …`, `passwords = ["…", …]`
  const inTags = bytes[at] === LESS_THAN ? matchEnd(closedTags, text, at) : -1;
  if (inTags >= 0) at = inTags;
  else if (bytes[at] === OPEN_BRACKET && isQuote(bytes[skipBlanks(bytes, at + 1, 8)] ?? 0))
    at = skipBlanks(bytes, at + 1, 8);
  const query = from > 0 && (bytes[from - 1] === QUESTION_MARK || bytes[from - 1] === AMPERSAND);
  const value = readValue(text, at, query ? "query" : "bare", most);
  if (value !== undefined) {
    const accepted = name.asSecret(value);
    if (accepted !== undefined) return isBehindLiteral(bytes, at) || isCallOf(bytes, accepted) ? undefined : accepted;
    if (value.notation === "quoted") return undefined;
  } else if (mayEndLine(bytes[at] ?? 0)) {
    let line = matchEnd(nextLine, text, to);
    if (line >= 0) return name.asSecret(readValue(text, line, "bare"));
    line = matchEnd(labelLine, text, to);
    const answer = line < 0 ? matchEnd(promptAnswer, text, to) : -1;
    if (answer >= 0) return name.asSecret(readValue(text, answer, "bare"));
    const whole = line >= 0 ? readGroup(wholeLine, text, line) : undefined;
    if (whole !== undefined && /\d/.test(whole.text) && !/^[\w.-]+=./.test(whole.text))
      return name.asSecret({ ...whole, notation: "prose" });
  }
  return next === COLON || next === EQUALS ? undefined : null;
}

/** What stands behind an assignment whose value is on the next line: the end of this one, a block's mark, what closes a string. */
function mayEndLine(c: number): boolean {
  return (
    c <= CR ||
    c === PIPE ||
    c === GREATER_THAN ||
    c === CLOSE_BRACE ||
    c === CLOSE_BRACKET ||
    c === ASTERISK ||
    isQuote(c)
  );
}

/**
 * Whether a quote ends a literal that began before the name, with an operator behind it: `"PWD=" + dir`, `"?token="+id)`. The
 * number of quotes in the line before it decides.
 */
function isBehindLiteral(bytes: Uint8Array, at: number): boolean {
  const quote = bytes[at] ?? 0;
  if (!isQuote(quote)) return false;
  const operator = bytes[skipBlanks(bytes, at + 1, 4)] ?? 0;
  if (!isOperator(operator)) return false;
  let count = 0;
  for (let i = at - 1; i >= 0 && i > at - maxLeadLength && bytes[i] !== LF; i--) if (bytes[i] === quote) count++;
  return count % 2 === 1;
}

const maxLeadLength = 240;

/** `+` `.` `,` `)` `;` `%` `&`: what goes on behind a literal. */
function isOperator(c: number): boolean {
  return (
    c === PLUS || c === DOT || c === COMMA || c === CLOSE_PAREN || c === SEMICOLON || c === PERCENT || c === AMPERSAND
  );
}

/** `cfg.get("…")`: a word that ends in a bracket, and a literal in it; `$self->`. */
function isCallOf(bytes: Uint8Array, { end, text, notation }: CandidateValue): boolean {
  if (notation !== "bare") return false;
  if (bytes[end] === GREATER_THAN) return /^\$\w+-$/.test(text);
  return isQuote(bytes[end] ?? 0) && /^[A-Za-z_$][\w$.>:-]*[([]$/.test(text);
}
