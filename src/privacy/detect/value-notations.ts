import notationRows from "#privacy/rules/name-notations.jsonl" with { type: "text" };
import { readTable, wordList } from "#privacy/rules/tables.ts";
import {
  byteSet,
  COLON,
  classes,
  EQUALS,
  inName,
  isLetter,
  isQuote,
  matchEnd,
  OPEN_BRACE,
  OPEN_BRACKET,
  SPACE,
  skipBlanks,
} from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyName } from "./key-names.ts";
import { valueBesideName, valueInObject } from "./members.ts";
import type { NamedValue } from "./named-values.ts";
import { looksRandom } from "./randomness.ts";
import { type CandidateValue, readGroup, readValue } from "./value-reader.ts";
import { isCertainSecret, isPassword, isSecret, uuid } from "./values.ts";

// How a value may stand beside its name. All patterns are sticky, all repetitions bounded. In a normalized text `\x01`
// is a character of another script, `\x02` a colour of a terminal.

/** What closes a name before `=` and its like: quotes, brackets, emphasis, colours. */
const closesName = byteSet("\"'`])*\x02");
/** What `=` and its like, or a declared type, begin with. */
const beginsAssignment = byteSet(":=-<!?|oAaSs&NV[");
/** `=`, `:`, `:=`, `=>`, `->`, `==`, `!=`, `: string =`; `??`, `||`, `or` before a literal; `As String =`, `x[] =`. */
const assignment =
  /(?:[?!](?=:)|\?(?==))?(?::[=:-]|:(?![?+]\S)(?:[ \t]{0,4}&?(?:'static )?(?:string|String|str|text|varchar|char|any|Text|Secret\w{0,10}|SecureString|Optional\[str\]|Option<String>)(?: \| (?:undefined|null))?[ \t?]{0,4}=(?!=))?|=(?:>|==?)?|->|<-|!==?|(?:\?\?=?|\|\|=?|(?<=[ \t"'`\])*\x02])or(?=[ \t]))(?=[ \t]{0,40}["'`])|(?<=[ \t])(?:[Aa]s[ \t]{1,4}(?:String|SecureString|Object)|string|String|&str|N?VARCHAR\(\w{1,4}\))[ \t]{0,4}:?=(?!=)|\[\d{0,5}\][ \t]{0,4}=(?!=))(?:\*(?![0-9A-F]{40}))*[ \t]{0,40}(?:\x02{1,3}[ \t]{0,4})?/y;

/** Where the value behind a name and `=` or its like begins; -1 where none is. Runs for every key word of a text. */
export function valueStartAfterAssignment({ bytes, text }: NormalizedText, from: number): number {
  let at = from;
  while (at < from + 6 && closesName[bytes[at] ?? 0] === 1) at++;
  at = skipBlanks(bytes, at, 40);
  return beginsAssignment[bytes[at] ?? 0] === 1 ? matchEnd(assignment, text, at) : -1;
}

/** What a word of a sentence is made of. */
const inWord = classes.map((bits, c) =>
  (bits & inName) !== 0 || c >= 0xc0 || "'@/()#\x01".includes(String.fromCharCode(c)) ? 1 : 0,
);
/** What ends a sentence before its value: a colon, an arrow, a bracket, a question and its answer. */
const beforeSaid =
  /[ \t]{0,3}:(?=[ \t"'`])|[ \t]{1,3}(?:=>?|->|\((?:[^()\n]{0,28}\):)?)|[ \t]{0,3}\?[ \t]{1,3}(?:it'?s|it is|that'?s)(?=[ \t])/iy;
const saidMarks = byteSet(":=-(?");
/** The same right behind a name: `'s`, ` - `, a question. */
const directlyBeforeSaid =
  /'s(?=[ \t])|["'`\])*\x02]{0,3}(?:[ \t]{1,3}-(?=[ \t])|[ \t]{0,3}\?[ \t]{1,3}(?!it'?s|it is|that'?s))/iy;
const copulas = wordList("copulas");
/** Their first and last letters: few other words share both with one of them. */
const copulaEnds = new Set([...copulas].map((word) => (word.charCodeAt(0) << 8) | word.charCodeAt(word.length - 1)));
const isCopula = (first: number, last: number) => copulaEnds.has(((first | 0x20) << 8) | last | 0x20);

/** Up to nine words, then `is` or a mark: "the password for the admin account is …". -1 where there is none. */
function valueStartInSentence(bytes: Uint8Array, text: string, from: number): number {
  let at = from;
  while (at < from + 3 && closesName[bytes[at] ?? 0] === 1) at++;
  const mark = bytes[skipBlanks(bytes, at, 3)] ?? 0;
  const direct = saidMarks[mark] === 1 || text[from] === "'" ? matchEnd(directlyBeforeSaid, text, from) : -1;
  if (direct >= 0) return direct;
  for (let words = 0; words <= 9; words++) {
    const word = skipBlanks(bytes, at, 3);
    const end = saidMarks[bytes[word] ?? 0] === 1 ? matchEnd(beforeSaid, text, at) : -1;
    if (end >= 0) return end;
    if (word === at) return -1;
    at = word;
    while (at < word + 32 && inWord[bytes[at] ?? 0] === 1) at++;
    if (at === word) return -1;
    const length = at - word;
    if (
      length <= 7 &&
      isCopula(bytes[word] ?? 0, bytes[at - 1] ?? 0) &&
      copulas.has(text.slice(word, at).toLowerCase())
    )
      return text[at] === ":" ? at + 1 : at;
    if (text[at - 1] === ".") return -1; // the sentence is over
  }
  return -1;
}

/** Words of another script, and words that say nothing: `is still …`, `is set to …`. */
const fillers =
  /[ \t]{0,4}(?:\x01{1,64}:?[ \t]{1,4}){0,6}(?:\x01{1,64}:?)?(?:(?:still|now|currently|just|literally|actually|simply|always|is|set|to|probably) ){0,3}/y;

/** The value of a setting on the next line. */
const nextLine = /["'`\]]{0,2}[ \t]{0,8}(?:=>|[:=])[ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\n[ \t]{1,24}/y;
/** A label on a line of its own, with the value on the next. */
const labelLine = /["'`*]{0,3}[ \t]{0,8}:[ \t*]{0,4}\n{1,2}`?/y;
const wholeLine = /([^\s"'`:<>]{8,256})[`"']?[ \t]{0,8}(?:[\n}]|$)/y;
/** What stands behind an assignment with its value on the next line: a line's end, a block's mark, a closing quote. */
const endsLine = byteSet("|>}]*\"'`").map((ends, c) => (c <= 0x0d ? 1 : ends));
/** What a test types into a field that it looked up by this name: `page.locator("#password").fill("…")`. */
const formInput =
  /["'`\])]{1,5}(?:[ \t]{0,2},[ \t]{0,2}|\.(?:type|fill|send_keys|sendKeys|setValue|set_value|typeText|enterText|val|input|toBe|toEqual|toStrictEqual|unwrap_or|orElse|getOrElse|default)\()(?=["'`])/y;
/** The next argument of a call, or the next string of a list: `login(password, "…")`, `("password", "…")`. */
const call = /["'`]?\)?[ \t]{0,4}[(,][ \t]{0,40}(?=["'`])|["'][ \t]{1,4}(?=["'])/y;
/** `get_secret("…")`, `key.exportKey("…")`: what stands in the brackets says which one, or how. */
const lookupCall =
  /(?:^|[._:>-])(?:get|fetch|load|read|find|lookup|resolve|list|has|export|require|describe)(?:[A-Z_-]|$)[\w-]{0,64}$/;

/** `<password>…`, `<entry key="password">…`. */
const tag = /[^<>\n]{0,80}(?<!\/)>\s{0,40}/y;
const insideTag = /<(?!\/)[^<>\n]{0,80}$/;
const tagValue = /(?:<!\[CDATA\[)?([^<>\n]{3,1023}[^<>\s])\s{0,40}(?:\]\]>)?(?:<|$)/y;
/** The next cell: `| password | … |`. */
const cell = /["'`*]{0,3}(?:[ \t]{1,40}[|\x01]|\|(?=[ \t])|\t)[ \t]{0,40}["'`*]{0,3}/y;
const cellValue = /([^\s|\x01`"']{4,512})["'`*]{0,3}[ \t]{0,40}(?:[|\x01]|\n|$)/y;
/** What stands before the first cell of a row, or before another. */
const cellBefore = /(?:^|[\n|\x01\t])[ \t]{0,24}["'`*]{0,3}(?:[\w.-]{1,20} ){0,2}$/;

/** The value of an option behind the name: `gh secret set NAME --body …`. */
const optionBehind =
  /["']?(?:[ \t]{1,3}(?!--(?:body|value|data|string|secret-string|plaintext)\b)--[\w-]{1,30}[ =][\w.-]{1,40}){0,3}[ \t]{1,3}(?:--body|-b|--value|-v|-Value|--secret-string|--data|--plaintext|--string)[ \t=]{1,2}/y;
/** "The key fingerprint is …", "the token id is …". */
const otherProperty =
  /\b(?:fingerprint|thumbprint|ids?|hash|path|file|name|length|size|(?<!\b(?:I|you|we|to) )type|version|count|digest|checksum|commit)\b/i;
/** Directives that are followed by a name and its value. */
const directive =
  /(?:\b(?:set|config|configure|put|add)(?:[ \t]{1,3}--?[\w-]{1,20}){0,3}|\bENV|\bARG|\bset[xX]?|\bsetenv|[ \t]-[A-Za-wyz]{0,8}x[A-Za-z]{0,8}|#define|\bexport)[ \t]{1,4}$/;
/**
 * The value beside a name. Each notation is tried only where a byte or two allow it: nearly all names stand in a
 * program or a sentence, with no value beside them.
 * @param valueAt where a value behind an assignment begins, or -1
 * @param most longest value behind an assignment
 */
export function valueAfterName(
  normalized: NormalizedText,
  name: NamedValue,
  valueAt: number,
  most: number,
): CandidateValue | undefined {
  const { bytes, text } = normalized;
  const { from, to } = name;
  const next = text.charAt(to);
  const before = text.charAt(from - 1);
  // `arn:aws:secretsmanager:…:secret:prod/db`, `action=pass:repeat`
  if (next === ":" && (before === "=" || (before === ":" && name.key.kind === "secret"))) return undefined;
  // `"AWS::IAM::AccessKey": …`, a type
  if (next === '"' && before === ":" && text.charAt(from - 2) === ":") return undefined;
  if (valueAt >= 0) {
    const value = valueAfterAssignment(normalized, name, valueAt, most);
    if (value !== null) return value;
  }
  // What stands behind the quote and the blanks.
  const lead = "\"' \t".includes(next) ? text.charAt(skipBlanks(bytes, to + 1, 40)) : "";
  for (const { leads, read } of notationsByNext[text.charCodeAt(to)] ?? []) {
    const value = leads === undefined || leads.includes(lead) ? readers[read](name) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** How a value stands beside its name without `=` or its like between them. Tried in the order of the table. */
interface NameNotation {
  readonly notation: string;
  /** An example with `§` for the secret, and one that stays. */
  readonly found: string;
  readonly kept: string;
  /** What may stand right behind the name, and behind a quote or blanks. */
  readonly next: string;
  readonly leads?: string;
  readonly read: keyof typeof readers;
}

const readers = {
  valueInFormInput,
  valueInHeadedObject,
  valueOfMember,
  valueInElement,
  valueInCall,
  valueInCell,
  valueOfOption,
  valueWithoutSeparator,
  valueInSentence,
} satisfies Record<string, (name: NamedValue) => CandidateValue | undefined>;

export const nameNotations = readTable<NameNotation>(notationRows);
const notationsByNext = Array.from({ length: 256 }, (_, code) =>
  nameNotations.filter(({ next }) => next.includes(String.fromCharCode(code))),
);

function valueInHeadedObject(name: NamedValue): CandidateValue | undefined {
  const { text } = name.normalized;
  return valueInObject(name.normalized, text.indexOf("{", name.to), (at) => memberValue(name, at));
}

/** The value of the member beside the one with the name. */
function valueOfMember(name: NamedValue): CandidateValue | undefined {
  return valueBesideName(name.normalized, name.from, name.to, (at) => memberValue(name, at));
}

function valueOfOption(name: NamedValue): CandidateValue | undefined {
  return readBehind(name, optionBehind);
}

function valueInElement(name: NamedValue): CandidateValue | undefined {
  const before = name.normalized.text.slice(Math.max(0, name.from - 82), name.from);
  return insideTag.test(before) ? readBehind(name, tag, tagValue) : undefined;
}

function valueInCell(name: NamedValue): CandidateValue | undefined {
  const value = readBehind(name, cell, cellValue);
  if (value === undefined) return undefined;
  return cellBefore.test(name.normalized.text.slice(Math.max(0, name.from - 70), name.from)) ? value : undefined;
}

/** The value of a member that a name governs. */
function memberValue(name: NamedValue, at: number): CandidateValue | undefined {
  const { text } = name.normalized;
  return name.asSecret(text[at - 1] === ">" ? readGroup(tagValue, text, at) : readValue(text, at, "bare"));
}

/** What stands behind a name and a pattern: what the other pattern reads there, or else a value as in settings. */
function readBehind(name: NamedValue, lead: RegExp, value?: RegExp): CandidateValue | undefined {
  const { text } = name.normalized;
  const at = matchEnd(lead, text, name.to);
  if (at < 0) return undefined;
  return name.asSecret(value === undefined ? readValue(text, at, "bare") : readGroup(value, text, at));
}

/** Behind an assignment; undefined where it is no secret, null where the name may have its value elsewhere. */
function valueAfterAssignment(
  normalized: NormalizedText,
  name: NamedValue,
  valueAt: number,
  most: number,
): CandidateValue | undefined | null {
  const { text, bytes } = normalized;
  const { from, to } = name;
  let at = valueAt;
  // `passwords = ["…", …]`
  if (bytes[at] === OPEN_BRACKET && isQuote(bytes[skipBlanks(bytes, at + 1, 8)] ?? 0))
    at = skipBlanks(bytes, at + 1, 8);
  const isQuery = /[?&]/.test(text.charAt(from - 1));
  if (bytes[at] === OPEN_BRACE) return valueInObject(normalized, at, (member) => memberValue(name, member)) ?? null;
  const value = readValue(text, at, isQuery ? "query" : "bare", most);
  if (value !== undefined) {
    const accepted = name.asSecret(value);
    if (accepted !== undefined) return isBehindLiteral(text, at) || isCall(text, accepted) ? undefined : accepted;
    if (value.notation === "quoted") return undefined;
  } else if (endsLine[bytes[at] ?? 0] === 1) {
    const line = matchEnd(nextLine, text, to);
    if (line >= 0) return name.asSecret(readValue(text, line, "bare"));
    const label = matchEnd(labelLine, text, to);
    const whole = label >= 0 ? readGroup(wholeLine, text, label) : undefined;
    if (whole !== undefined && /\d/.test(whole.text) && !/^[\w.-]+=./.test(whole.text))
      return name.asSecret({ ...whole, notation: "prose" });
  }
  return bytes[to] === COLON || bytes[to] === EQUALS ? undefined : null;
}

/**
 * Whether a quote ends a literal that began before the name, with an operator behind it: `"PWD=" + dir`. The number of
 * quotes in the line before it decides.
 */
function isBehindLiteral(text: string, at: number): boolean {
  const quote = text.charAt(at);
  if (!/["'`]/.test(quote) || !/^[ \t]{0,4}[+.,);%&]/.test(text.slice(at + 1, at + 6))) return false;
  const line = text.slice(Math.max(0, at - 240), at);
  return line.slice(line.lastIndexOf("\n") + 1).split(quote).length % 2 === 0;
}

/** `cfg.get("…")`: a word that ends in a bracket, and a literal in it; `$self->`. */
function isCall(text: string, value: CandidateValue): boolean {
  if (value.notation !== "bare") return false;
  const behind = text.charAt(value.end);
  if (behind === ">") return /^\$\w+-$/.test(value.text);
  return /["'`]/.test(behind) && /^[A-Za-z_$][\w$.>:-]*[([]$/.test(value.text);
}

function valueInFormInput(name: NamedValue): CandidateValue | undefined {
  const { text } = name.normalized;
  const at = matchEnd(formInput, text, name.to);
  const value = at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
  if (value === undefined || isNextInList(name, value.text)) return undefined;
  return text[name.to] === "]" || text[at - 1] === "(" || /\d/.test(value.text) ? value : undefined;
}

function valueInCall(name: NamedValue): CandidateValue | undefined {
  const { text } = name.normalized;
  const next = text[name.to];
  const at = matchEnd(call, text, name.to);
  const value = at < 0 ? undefined : readValue(text, at, "bare");
  if (value === undefined || isNextInList(name, value.text)) return undefined;
  // In a list of strings the next one may be anything.
  if (!/\d.*\d|[!@#$%^&*]/.test(value.text) && !(/[A-Z]/.test(value.text) && looksRandom(value.text))) return undefined;
  if (next === "(" && lookupCall.test(name.text)) return undefined;
  return name.asSecret(value);
}

/** The next item of a list: `'USERPWD', 'HTTP200ALIASES'`; `'password', '0c7aa88b-…'`, a kind and an id in SQL. */
function isNextInList({ text: name, key }: NamedValue, value: string): boolean {
  if (key.kind === "password" && uuid.test(value)) return true;
  return /^[A-Z][A-Z_]*$/.test(name) && /^[A-Z][A-Z0-9_]*$/.test(value);
}

const lineBefore = /(?:^|\n)[ \t]{0,24}$/;

/** `--password …`, `login x password …`, `password "…"`, and what can be nothing but a secret. */
function valueWithoutSeparator(name: NamedValue): CandidateValue | undefined {
  const { text, bytes } = name.normalized;
  const { from } = name;
  const at = skipBlanks(bytes, name.to, 60);
  if (text.startsWith("${", at) || isShortWord(bytes, at)) return undefined;
  const value = readValue(text, at, "bare");
  if (value === undefined) return undefined;
  // `password            …`: a row of what a command prints.
  const isRow =
    at - name.to > 1 && (bytes[value.end] ?? 0) <= SPACE && text.charAt(skipBlanks(bytes, value.end, 40)).trim() === "";
  if (isRow && lineBefore.test(text.slice(Math.max(0, from - 28), from)))
    return /\d|[!@#$%^&*]/.test(value.text) ? name.asSecret(value) : undefined;
  if (at - name.to > 8) return undefined;
  const isOption = text[from] === "-";
  // "Pass `x` to …" is an order, not a password.
  if (isPass(name.text)) return undefined;
  const isMeant =
    isQuote(bytes[at] ?? 0) ||
    isOption ||
    name.text === "requirepass" ||
    name.text === "masterauth" ||
    directive.test(text.slice(Math.max(0, from - 24), from));
  if (isMeant) return name.asSecret(value);
  return isSecretWithoutSeparator(value.text, name.key) ? value : undefined;
}

/** A value straight behind its name, without any separator, has to leave no doubt. */
function isSecretWithoutSeparator(value: string, { kind, rule }: KeyName): boolean {
  if (value.length < 8 || kind === "none" || kind === "weak") return false;
  if (kind === "password") {
    if (!isPassword(value, "prose") || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
    return /[!@#$%^&*?~+]/.test(value) || looksRandom(value);
  }
  if (isCertainSecret(value, "bare")) return value.length >= 20;
  return (
    value.length >= 32 && /^[0-9a-f]+$|^[0-9a-f-]{36}$/i.test(value) && rule !== "token" && isSecret(value, "bare")
  );
}

/** "The password for … is …". */
function valueInSentence(name: NamedValue): CandidateValue | undefined {
  const { text, bytes } = name.normalized;
  const { to } = name;
  // "Pass … to …" is an order.
  if (text[to - 1] === "s" && isPass(name.text) && !/^ (?:is|ist|lautet) /.test(text.slice(to, to + 9)))
    return undefined;
  const start = valueStartInSentence(bytes, text, to);
  if (start < 0) return undefined;
  const at = matchEnd(fillers, text, start);
  const said = isShortWord(bytes, at) ? name.secretInGroups(at) : name.asSecret(readValue(text, at, "prose"));
  return said !== undefined && otherProperty.test(text.slice(to, at)) ? undefined : said;
}

/** Fewer than eight letters and a blank: what stands behind most names in a sentence. */
function isShortWord(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + 8 && ((classes[bytes[at] ?? 0] ?? 0) & isLetter) !== 0) at++;
  return at > from && at < from + 8 && bytes[at] === SPACE;
}

function isPass(name: string): boolean {
  return /^(?:[a-z]+-)?pass$/i.test(name);
}
