import { looksRandom } from "#privacy/detect/values/randomness.ts";
import { isCertainSecret, isPassword, isSecret, mayBeSecret } from "#privacy/detect/values/values.ts";
import {
  AMPERSAND,
  ASTERISK,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  CR,
  DIGIT_0,
  DIGIT_9,
  DOLLAR,
  DOT,
  DOUBLE_QUOTE,
  EQUALS,
  GREATER_THAN,
  HYPHEN,
  LESS_THAN,
  LF,
  LOWER_C,
  LOWER_S,
  LOWER_V,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  PERCENT,
  PIPE,
  PLUS,
  QUESTION_MARK,
  SEMICOLON,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  TAB,
  UPPER_V,
} from "#privacy/text/bytes.ts";
import { classes, isLower, isUpper } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyName } from "./key-names.ts";
import type { KeyReference } from "./key-reference.ts";
import { isQuote, skipBlanks, valueStartInSentence } from "./separators.ts";
import { isMixed } from "./user-and-password.ts";
import { type CandidateValue, matchEnd, readGroup, readValue } from "./value-reader.ts";

// The rarer ways to put a value beside a name. All sticky; all repetitions bounded.
const tag = /[^<>\n]{0,80}(?<!\/)>\s{0,40}/y;
const tagValue = /(?:<!\[CDATA\[)?([^<>\n]{4,1024}?)\s{0,40}(?:\]\]>)?(?:<|$)/y;
const cell = /["'`*]{0,3}(?:[ \t]{1,40}\||\|(?=[ \t])|\t)[ \t]{0,40}["'`*]{0,3}/y;
const cellValue = /([^\s|`"']{4,512})["'`*]{0,3}[ \t]{0,40}(?:\||\n|$)/y;
const call = /["'`]?\)?[ \t]{0,4}[(,][ \t]{0,40}|["'][ \t]{1,4}(?=["'])/y;
const nameThenValue =
  /["'`]?[ \t]{0,8}(?:,|;|\/?>|(?:\s{1,4}[\w-]{1,24}=["'][^"'<>\n]{0,80}["']){1,4})?\s{0,80}["'<]?(?:[Vv]alue|val|content|secretValue|stringValue|string)["'>]?\s{0,8}[=:]?\s{0,8}/y;
const blockDefault = /"\s{0,8}\{[^{}]{0,240}?\bdefault\s{0,8}=\s{0,8}/y;
const nextLine = /["'`]?[ \t]{0,8}[:=][ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\n[ \t]{1,24}/y;
/** `<key>password</key><string>…` of a property list. */
const propertyList = /<\/(?:key|name|Name|Key)>\s{0,40}<(?:string|value|Value)>/y;
/** A label on a line of its own, with the value on the next. */
const labelLine = /["'`*]{0,3}[ \t]{0,8}:[ \t*]{0,4}\n{1,2}`?/y;
const wholeLine = /([^\s"'`:<>]{8,256})[`"']?[ \t]{0,8}(?:[\n}]|$)/y;
const optionBehind =
  /["']?(?:[ \t]{1,3}(?!--(?:body|value|data|string|secret-string|plaintext)\b)--[\w-]{1,30}[ =][\w.-]{1,40}){0,3}[ \t]{1,3}(?:--body|-b|--value|-v|-Value|--secret-string|--data|--plaintext|--string)[ \t=]{1,2}/y;
/** Tags that close around a label: `</b>`, `</td><td>`. */
const closedTags = /(?:<\/?[A-Za-z]{1,10}>\s{0,8}){1,4}/y;
/** What a test types into a field that it looked up by this name. */
const formInput =
  /["'`\])]{1,5}(?:[ \t]{0,2},[ \t]{0,2}|\.(?:type|fill|send_keys|sendKeys|setValue|set_value|typeText|enterText|val|input|toBe|toEqual|toStrictEqual|unwrap_or|orElse|getOrElse|default)\()(?=["'`])/y;
/** What a script answers to a prompt that ends with this name. */
const promptAnswer =
  /:?[ \t]{0,2}["'}\]]{1,2}\)?;?(?:[ \t]{0,4}[\n;][ \t]{0,16}|[ \t]{1,4}\{?[ \t]{0,4})(?:[\w.]{1,24}\.)?(?:exp_)?send(?:line)?[ \t(]{1,3}(?:-- )?(?=["'])/y;
/** "The key fingerprint is …", "the token id is …". */
const otherProperty =
  /\b(?:fingerprint|thumbprint|ids?|hash|path|file|name|length|size|(?<!\b(?:I|you|we|to) )type|version|count|digest|checksum|commit)\b/i;
/** Directives that are followed by a name and its value. */
const directive =
  /(?:\b(?:set|config|configure|put|add)(?:[ \t]{1,3}--?[\w-]{1,20}){0,3}|\bENV|\bARG|\bset[xX]?|\bsetenv|[ \t]-[A-Za-z]*x[A-Za-z]*|#define|\bexport)[ \t]{1,4}$/;
/** `log in with the password …`, `connect using password …`. */
const withPassword = /\b(?:with|using)(?: (?:the|my|this|a|your|our))?(?: \w{1,16})?[ \t]{1,3}$/i;
const netrc =
  /\b(?:login|user(?:name)?|account|machine)[ \t:=]{1,4}\S{1,80}(?:[ \t]{1,4}(?:and|with|,|\/|&))?(?:[ \t]{1,3}(?:the|a))?\s{1,40}$/;

/**
 * The patterns below are tried only where a byte or two say that they can match: nearly all names stand in a program or a sentence,
 * with no value beside them.
 * @param valueAt where a value behind an assignment begins, or -1
 */
export function valueAfterName(
  normalized: NormalizedText,
  name: KeyReference,
  valueAt: number,
  most: number,
): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { from, to } = name;
  const next = bytes[to] ?? 0;
  let at = valueAt;
  // `arn:aws:secretsmanager:…:secret:prod/db`
  if (next === COLON && bytes[from - 1] === COLON && name.key.kind === "secret") return undefined;
  // `"AWS::IAM::AccessKey": …`, a type
  if (next === DOUBLE_QUOTE && bytes[from - 1] === COLON && bytes[from - 2] === COLON) return undefined;
  if (at >= 0) {
    const value = valueAfterAssignment(normalized, name, at, most);
    if (value !== null) return value;
  }
  if (next === LESS_THAN) {
    at = matchEnd(propertyList, text, to);
    return at < 0 ? undefined : name.asSecret(readGroup(tagValue, text, at));
  }
  const quoted = next === DOUBLE_QUOTE || next === SINGLE_QUOTE;
  const blank = next === SPACE || next === TAB;
  // What stands behind the quote and the blanks.
  const lead = blank || quoted ? (bytes[skipBlanks(bytes, to + 1, 40)] ?? 0) : 0;
  if (next === CLOSE_BRACKET || next === CLOSE_PAREN || (quoted && mayBeFormInput(bytes[to + 1] ?? 0))) {
    at = matchEnd(formInput, text, to);
    const value = at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
    if (
      value !== undefined &&
      !isNameOfNext(bytes, value.end) &&
      !areConstants(name.text, value.text) &&
      (next === CLOSE_BRACKET || text.charCodeAt(at - 1) === OPEN_PAREN || /\d/.test(value.text))
    )
      return value;
  }
  if (next === GREATER_THAN || next === LF || next === COMMA || quoted) {
    const value = valueInMarkup(normalized, name);
    if (value !== undefined) return value;
  }
  if (next === OPEN_PAREN || next === COMMA || (quoted && mayBeCall(lead))) {
    at = quoted ? matchEnd(call, text, to) : skipBlanks(bytes, to + 1, 40);
    // In a list of strings the next one may be anything.
    const read = at >= 0 && isQuote(bytes[at] ?? 0) ? readValue(text, at, "bare") : undefined;
    const value =
      read !== undefined &&
      !isNameOfNext(bytes, read.end) &&
      (/\d.*\d|[!@#$%^&*]/.test(read.text) || (/[A-Z]/.test(read.text) && looksRandom(read.text))) &&
      !areConstants(name.text, read.text) &&
      (next !== COMMA || endsWithKeyWord(name.text)) &&
      (next !== OPEN_PAREN || !isLookupCall(name.text))
        ? name.asSecret(read)
        : undefined;
    if (value !== undefined) return value;
  }
  if (
    next === TAB ||
    next === PIPE ||
    next === BACKTICK ||
    next === ASTERISK ||
    lead === PIPE ||
    (quoted && bytes[to + 1] === TAB)
  ) {
    at = matchEnd(cell, text, to);
    const value = at >= 0 ? name.asSecret(readGroup(cellValue, text, at)) : undefined;
    if (value !== undefined) return value;
  }
  if (next === COMMA && (from === 0 || bytes[from - 1] === LF)) {
    const value = valueInCsvLine(normalized, to);
    if (value !== undefined) return name.asSecret(value);
  }
  if (lead === HYPHEN) {
    at = matchEnd(optionBehind, text, to);
    const option = at >= 0 ? name.asSecret(readValue(text, at, "bare")) : undefined;
    if (option !== undefined) return option;
  }
  if (blank) {
    const device = valueOnNetworkDevice(normalized, name);
    if (device !== undefined) return device;
    const value = valueWithoutSeparator(normalized, name, skipBlanks(bytes, to, 8));
    if (value !== undefined) return value;
  }
  if (!blank && next !== ASTERISK && next !== BACKTICK && next !== QUESTION_MARK && !quoted) return undefined;
  return valueInSentence(normalized, name);
}

/**
 * The value behind an assignment such as `=` or `:`.
 * @returns undefined where it is no secret, null where the name may have its value elsewhere
 */
function valueAfterAssignment(
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

/** The value of a line of CSV that holds a name, a comma, the value and nothing else. */
function valueInCsvLine({ text, bytes, length }: NormalizedText, to: number): CandidateValue | undefined {
  const value = readValue(text, to + 1, "bare");
  if (value === undefined) return undefined;
  const endsLine = bytes[value.end] === LF || isQuote(bytes[value.end] ?? 0) || value.end === length;
  return endsLine ? value : undefined;
}

/** `secret 0 …`, `password 7 …`, `enable secret …` in the settings of network devices. */
function valueOnNetworkDevice({ text, bytes }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { from, to } = name;
  const type = bytes[to + 1] ?? 0;
  const typed =
    type >= DIGIT_0 &&
    type <= DIGIT_9 &&
    bytes[to + 2] === SPACE &&
    /(?:password|passphrase|secret|key|md5)$/.test(name.text);
  const enabled = bytes[from - 1] === SPACE && text.startsWith("enable ", from - 7);
  const value = typed || enabled ? readValue(text, typed ? to + 3 : to + 1, "bare") : undefined;
  return value !== undefined && isPassword(value.text, "quoted") && name.key.kind !== "none" ? value : undefined;
}

/** "The password for … is …". */
function valueInSentence(normalized: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { to } = name;
  // "Pass … to …" is an order.
  const at =
    bytes[to - 1] === LOWER_S && isPass(name.text) && !isFollowedByIs(text, to)
      ? -1
      : valueStartInSentence(normalized, to);
  if (at < 0) return undefined;
  const word = isShortWord(bytes, at) ? undefined : name.asSecret(readValue(text, at, "prose"));
  const said = word ?? name.secretInGroups(at);
  return said !== undefined && otherProperty.test(text.slice(to, at)) ? undefined : said;
}

/** `<password>…`, `name="password" value="…"`, `- name: PASSWORD` with `value: …` below it, `variable "password" { default = … }`. */
function valueInMarkup(normalized: NormalizedText, name: KeyReference): CandidateValue | undefined {
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
 * Whether a quote ends a literal that began before the name, with an operator behind it: `"PWD=" + dir`, `"?token="+id)`. Told by the
 * number of quotes in the line before it.
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

/** `'USERPWD', 'HTTP200ALIASES'`: a list of constants. */
function areConstants(name: string, value: string): boolean {
  return /^[A-Z][A-Z_]*$/.test(name) && /^[A-Z][A-Z0-9_]*$/.test(value);
}

/** `login(password, "…")`, in contrast to `{token.CHAR, "…"}`. */
function endsWithKeyWord(name: string): boolean {
  return /(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|creds?|credentials?|auth(?:orization)?|bearer)s?\d{0,2}$/i.test(
    name,
  );
}

/** `get_secret("…")`, `process.loadToken("…")`, `key.exportKey("…")`: what stands in the brackets says which one, or how. */
function isLookupCall(name: string): boolean {
  return /(?:^|[._:>-])(?:get|fetch|load|read|find|lookup|resolve|list|has|export|require|describe)(?:[A-Z_-]|$)[\w-]*$/.test(
    name,
  );
}

/** Whether what ends at a place is the name of the next member of an object, not a value. */
function isNameOfNext(bytes: Uint8Array, end: number): boolean {
  return isQuote(bytes[end] ?? 0) && bytes[skipBlanks(bytes, end + 1, 4)] === COLON;
}

/** Quotes and brackets that close what a field was looked up by, or what calls the function that types. */
function mayBeFormInput(c: number): boolean {
  return c === CLOSE_BRACKET || c === CLOSE_PAREN || c === COMMA || c === DOT || c === SPACE || isQuote(c);
}

function mayBeCall(c: number): boolean {
  return c === CLOSE_PAREN || c === OPEN_PAREN || c === COMMA || isQuote(c);
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

/** `--password …`, `login x password …`, `password "…"`, and what can be nothing but a secret. */
function valueWithoutSeparator(normalized: NormalizedText, name: KeyReference, at: number): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { from } = name;
  // A word, or `${…}` in a template.
  if (isShortWord(bytes, at) || (bytes[at] === DOLLAR && bytes[at + 1] === OPEN_BRACE)) return undefined;
  const value = readValue(text, at, "bare");
  if (value === undefined || !mayBeSecret(value.text)) return undefined;
  const meant =
    isQuote(bytes[at] ?? 0) ||
    bytes[from] === HYPHEN ||
    isDirective(name.text) ||
    directive.test(text.slice(Math.max(0, from - 24), from)) ||
    netrc.test(text.slice(Math.max(0, from - 120), from));
  // "Pass `x` to …" is an order, not a password; `user root, pass …` is none.
  if (isPass(name.text))
    return meant &&
      bytes[from] !== HYPHEN &&
      isMixed(value.text) &&
      netrc.test(text.slice(Math.max(0, from - 120), from))
      ? name.asSecret(value)
      : undefined;
  if (meant) return name.asSecret(value);
  if (name.key.kind === "password" && withPassword.test(text.slice(Math.max(0, from - 48), from)))
    return name.asSecret({ ...value, notation: "prose" });
  if (isSecretWithoutSeparator(value.text, name.key)) return value;
  // The last word of a command: `nmcli dev wifi connect home password …`.
  const last =
    (bytes[value.end] ?? 0) <= LF &&
    name.key.kind === "password" &&
    /^[^-=]{2}[^=]*$/.test(value.text) &&
    isMixed(value.text);
  return last && value.text.length >= 8 ? name.asSecret({ ...value, notation: "prose" }) : undefined;
}

function isFollowedByIs(text: string, at: number): boolean {
  return text.startsWith(" is ", at) || text.startsWith(" ist ", at) || text.startsWith(" lautet ", at);
}

function isPass(name: string): boolean {
  return /^(?:[a-z]+-)?pass$/i.test(name);
}

/** Settings whose value follows without a separator. */
function isDirective(name: string): boolean {
  return name === "requirepass" || name === "masterauth";
}

/** A value straight behind its name, without any separator, has to leave no doubt. */
function isSecretWithoutSeparator(value: string, key: KeyName): boolean {
  if (value.length < 8 || key.kind === "none" || key.kind === "weak") return false;
  if (key.kind === "password") {
    if (!isPassword(value, "prose") || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
    return /[!@#$%^&*?~+]/.test(value) || looksRandom(value);
  }
  if (isCertainSecret(value, "bare")) return value.length >= 20;
  return (
    value.length >= 32 && /^[0-9a-f]+$|^[0-9a-f-]{36}$/i.test(value) && key.rule !== "token" && isSecret(value, "bare")
  );
}

/** Fewer than eight letters and a blank: what stands behind most names in a sentence. */
function isShortWord(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + 8 && ((classes[bytes[at] ?? 0] ?? 0) & (isLower | isUpper)) !== 0) at++;
  return at > from && at < from + 8 && bytes[at] === SPACE;
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
