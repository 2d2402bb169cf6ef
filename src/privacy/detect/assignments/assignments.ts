import { isIdentifier } from "#privacy/detect/values/identifiers.ts";
import { isDummyValue, looksRandom, shapeOf } from "#privacy/detect/values/randomness.ts";
import { isCertainSecret, isPassword, isRandomSecret, isSecret, mayBeSecret } from "#privacy/detect/values/values.ts";
import { vendorRule } from "#privacy/rules/keyed-rules.ts";
import { classes, inName, isLower, isUpper } from "#privacy/text/characters.ts";
import { BOUNDARY, COLOUR, type NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isKeyName, type KeyName, readKeyName } from "./key-names.ts";
import { isQuote, skipBlanks, valueStartAfterAssignment, valueStartInSentence } from "./separators.ts";
import { TableScanner } from "./tables.ts";
import { type CandidateValue, matchEnd, readGroup, readValue } from "./value-reader.ts";

/** Longest unquoted value, and longest one inside another. */
const maxValueLength = 2_048;
const maxNestedValueLength = 96;
/** Longest name that is read. */
const maxNameLength = 80;

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
const userPasswordPair =
  /["']?\s{0,3}[=:]?\s{0,3}[([]\s{0,3}["'][^"'\n]{1,64}["']\s{0,3}[,:]\s{0,3}["']([^"'\n]{3,128})["']/y;
const userThenPassword =
  /(?:\s\([^)\n]{1,40}\))?[ \t]{0,2}(?:[:=]|are|is|with|as)[ \t]{1,2}["'`]?[\w.@+-]{2,64}["'`]?[ \t]{0,2}[/:,|][ \t]{0,2}["'`]?([^\s"'`]{6,128})/y;
/** Tags that close around a label: `</b>`, `</td><td>`. */
const closedTags = /(?:<\/?[A-Za-z]{1,10}>\s{0,8}){1,4}/y;
/** `login=user:password`, `creds: "user:password"`. */
const userColonPassword = /["'`]?(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t])["'`]?[\w.@+-]{2,64}:([^\s"'`:/]{6,128})/y;
/** What a test types into a field that it looked up by this name. */
const formInput =
  /["'`\])]{1,5}(?:[ \t]{0,2},[ \t]{0,2}|\.(?:type|fill|send_keys|sendKeys|setValue|set_value|typeText|enterText|val|input|toBe|toEqual|toStrictEqual|unwrap_or|orElse|getOrElse|default)\()(?=["'`])/y;
/** What a script answers to a prompt that ends with this name. */
const promptAnswer =
  /:?[ \t]{0,2}["'}\]]{1,2}\)?;?(?:[ \t]{0,4}[\n;][ \t]{0,16}|[ \t]{1,4}\{?[ \t]{0,4})(?:[\w.]{1,24}\.)?(?:exp_)?send(?:line)?[ \t(]{1,3}(?:-- )?(?=["'])/y;
/** Groups of four, as Google, WordPress and authenticators show them. */
const groupsOfFour =
  /(?:[a-z]{4}(?:[ -][a-z]{4}){3}|[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){5}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){5,15})(?![A-Za-z0-9-])/y;
/** "The key fingerprint is …", "the token id is …". */
const otherProperty =
  /\b(?:fingerprint|thumbprint|ids?|hash|path|file|name|length|size|(?<!\b(?:I|you|we|to) )type|version|count|digest|checksum|commit)\b/i;
/** Directives that are followed by a name and its value. */
const directive =
  /(?:\b(?:set|config|configure|put|add)(?:[ \t]{1,3}--?[\w-]{1,20}){0,3}|\bENV|\bARG|\bset[xX]?|\bsetenv|[ \t]-[A-Za-z]*x[A-Za-z]*|#define|\bexport)[ \t]{1,4}$/;
/** `log in with the password …`, `connect using password …`. */
const withPassword = /\b(?:with|using)(?: (?:the|my|this|a|your|our))?(?: \w{1,16})?[ \t]{1,3}$/i;
/** `use … as the password`. */
const asPassword = /(?:^|[\s"'`(])([^\s"'`()]{6,128})["'`]? as (?:the |my |a |your |our |its )?(?:\w{1,16} )?$/;
const netrc =
  /\b(?:login|user(?:name)?|account|machine)[ \t:=]{1,4}\S{1,80}(?:[ \t]{1,4}(?:and|with|,|\/|&))?(?:[ \t]{1,3}(?:the|a))?\s{1,40}$/;
const weakContext =
  /(?:\b(?:my|our|the|your|this|here'?s?|is|his|her|their|use|api|using)\b[ \t]{1,3}(?:[\w-]{1,20}[ \t]){0,2})$/i;

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

/** A name in a view. What it means is only asked for once there is a value that might be secret: that is rare. */
class KeyReference {
  readonly normalized: NormalizedText;
  readonly from: number;
  readonly to: number;
  #text = "";
  #key: KeyName | undefined;

  constructor(normalized: NormalizedText, from: number, to: number) {
    this.normalized = normalized;
    this.from = from;
    this.to = to;
  }

  get text(): string {
    if (this.#text === "") this.#text = this.normalized.text.slice(this.from, this.to);
    return this.#text;
  }

  get key(): KeyName {
    this.#key ??= this.#readKey();
    return this.#key;
  }

  #readKey(): KeyName {
    const key = readKeyName(this.text);
    if (key.kind !== "weak" || this.normalized.bytes[this.from] === 0x2d) return key;
    // `api key`, `access key`, `account key`: the word before says what the key is for.
    const { text } = this.normalized;
    const lead = /([A-Za-z]{2,16})[ \t]$/.exec(text.slice(Math.max(0, this.from - 18), this.from))?.[1];
    if (lead === undefined) return key;
    const wider = readKeyName(`${lead} ${this.text}`);
    if (wider.kind !== "none") return wider;
    return notCredentials.test(lead) ? wider : key;
  }

  /** Groups of four characters that begin at a place, if they are a secret under this name. */
  secretInGroups(at: number): CandidateValue | undefined {
    const { text, bytes } = this.normalized;
    if (bytes[at + 4] !== bytes[at + 9] || (bytes[at + 4] !== 0x20 && bytes[at + 4] !== 0x2d)) return undefined;
    const end = matchEnd(groupsOfFour, text, at);
    if (end < 0 || (this.key.kind !== "password" && this.key.kind !== "secret" && !isSetupKey(text, this.to)))
      return undefined;
    const value = text.slice(at, end);
    const shape = shapeOf(value.replace(/[ -]/g, ""));
    if (shape.bigramScore > 0.3 && shape.classChanges < 4) return undefined;
    return { start: at, end, text: value, notation: "quoted" };
  }

  /** The value, if it is a secret under this name. */
  asSecret(value: CandidateValue | undefined): CandidateValue | undefined {
    return value === undefined ? undefined : (this.#asSingleSecret(value) ?? this.secretInGroups(value.start));
  }

  #asSingleSecret(value: CandidateValue): CandidateValue | undefined {
    if (!mayBeSecret(value.text)) return undefined;
    const { text, notation } = value;
    const { kind, rule } = this.key;
    switch (kind) {
      case "password":
        return isPassword(text, notation) || (isSetting(this.normalized.bytes, this.from) && isWrittenOut(text))
          ? value
          : undefined;
      case "secret":
        if (isSecret(text, notation)) return value;
        return rule === "secret" &&
          notation !== "prose" &&
          isChosenSecret(text) &&
          !(isIdentifier(text) && (notation === "bare" || isKeyName(text))) &&
          isPassword(text, notation)
          ? value
          : undefined;
      case "weak": {
        if (rule === "credential" && isUserAndPassword(text)) return value;
        if (!isSecret(text, notation) || text.length < 20) return undefined;
        const before = this.normalized.text.slice(Math.max(0, this.from - 60), this.from);
        return isRandomSecret(text, notation) || weakContext.test(before) ? value : undefined;
      }
      default:
        return undefined;
    }
  }
}

/** `setup key`, of an authenticator. */
function isSetupKey(text: string, to: number): boolean {
  return /(?:setup|totp|2fa|otp|authenticator|manual|backup)[ _-]{0,2}key$/i.test(text.slice(Math.max(0, to - 24), to));
}

/** Behind `;`, `&` or `?`, as in a connection string. */
function isSetting(bytes: Uint8Array, from: number): boolean {
  const before = bytes[from - 1] ?? 0;
  return before === 0x3b || before === 0x26 || before === 0x3f;
}

/** In a connection string nobody writes a variable without marking it. */
function isWrittenOut(value: string): boolean {
  return (
    value.length >= 6 &&
    /[A-Z0-9_!#%^-]/.test(value) &&
    !/^[$%{<[(@]|[()[\]{}<>$]|pass|pwd|secret|user|token|require/i.test(value) &&
    !/^[A-Z_]+$/.test(value) &&
    !isDummyValue(value)
  );
}

/** `auth` in Docker's and npm's settings: user and password in base64. */
function isUserAndPassword(value: string): boolean {
  if (value.length < 12 || value.length > 400 || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return false;
  return /^[\w.@$-]{1,64}:[\x21-\x7e]{4,256}$/.test(Buffer.from(value, "base64").toString("latin1"));
}

const notCredentials = /^(?:public|primary|foreign|cache|partition|sort)$/i;

/** Secrets that people made up, under `secret`: they mix at least two kinds of characters. */
function isChosenSecret(text: string): boolean {
  return text.length >= 8 && /[!@#$%^&*]|\d.*[A-Z]|[A-Z].*\d|\d.*[a-z].*\d/.test(text);
}

/**
 * The patterns below are tried only where a byte or two say that they can match: nearly all names stand in a program or a sentence,
 * with no value beside them.
 * @param valueAt where a value behind an assignment begins, or -1
 */
function valueAfterName(
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
  if (next === 0x3a && bytes[from - 1] === 0x3a && name.key.kind === "secret") return undefined;
  // `"AWS::IAM::AccessKey": …`, a type
  if (next === 0x22 && bytes[from - 1] === 0x3a && bytes[from - 2] === 0x3a) return undefined;
  if (at >= 0) {
    // `<b>Password:</b> …`, `passwords = ["…", …]`
    const inTags = bytes[at] === 0x3c ? matchEnd(closedTags, text, at) : -1;
    if (inTags >= 0) at = inTags;
    else if (bytes[at] === 0x5b && isQuote(bytes[skipBlanks(bytes, at + 1, 8)] ?? 0)) at = skipBlanks(bytes, at + 1, 8);
    const query = from > 0 && (bytes[from - 1] === 0x3f || bytes[from - 1] === 0x26);
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
    if (next === 0x3a || next === 0x3d) return undefined;
  }
  if (next === 0x3c) {
    at = matchEnd(propertyList, text, to);
    return at < 0 ? undefined : name.asSecret(readGroup(tagValue, text, at));
  }
  const quoted = next === 0x22 || next === 0x27;
  const blank = next === 0x20 || next === 0x09;
  // What stands behind the quote and the blanks.
  const lead = blank || quoted ? (bytes[skipBlanks(bytes, to + 1, 40)] ?? 0) : 0;
  if (next === 0x5d || next === 0x29 || (quoted && mayBeFormInput(bytes[to + 1] ?? 0))) {
    at = matchEnd(formInput, text, to);
    const value = at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
    if (
      value !== undefined &&
      !isNameOfNext(bytes, value.end) &&
      !areConstants(name.text, value.text) &&
      (next === 0x5d || text.charCodeAt(at - 1) === 0x28 || /\d/.test(value.text))
    )
      return value;
  }
  if (next === 0x3e || next === 0x0a || next === 0x2c || quoted) {
    const value = valueInMarkup(normalized, name);
    if (value !== undefined) return value;
  }
  if (next === 0x28 || next === 0x2c || (quoted && mayBeCall(lead))) {
    at = quoted ? matchEnd(call, text, to) : skipBlanks(bytes, to + 1, 40);
    // In a list of strings the next one may be anything.
    const read = at >= 0 && isQuote(bytes[at] ?? 0) ? readValue(text, at, "bare") : undefined;
    const value =
      read !== undefined &&
      !isNameOfNext(bytes, read.end) &&
      (/\d.*\d|[!@#$%^&*]/.test(read.text) || (/[A-Z]/.test(read.text) && looksRandom(read.text))) &&
      !areConstants(name.text, read.text) &&
      (next !== 0x2c || endsWithKeyWord(name.text)) &&
      (next !== 0x28 || !isLookupCall(name.text))
        ? name.asSecret(read)
        : undefined;
    if (value !== undefined) return value;
  }
  if (
    next === 0x09 ||
    next === 0x7c ||
    next === 0x60 ||
    next === 0x2a ||
    lead === 0x7c ||
    (quoted && bytes[to + 1] === 0x09)
  ) {
    at = matchEnd(cell, text, to);
    const value = at >= 0 ? name.asSecret(readGroup(cellValue, text, at)) : undefined;
    if (value !== undefined) return value;
  }
  if (next === 0x2c && (from === 0 || bytes[from - 1] === 0x0a)) {
    // A line of a table in CSV: the name, a comma, the value, nothing else.
    const value = readValue(text, to + 1, "bare");
    if (
      value !== undefined &&
      (bytes[value.end] === 0x0a || isQuote(bytes[value.end] ?? 0) || value.end === normalized.length)
    )
      return name.asSecret(value);
  }
  if (lead === 0x2d) {
    at = matchEnd(optionBehind, text, to);
    const option = at >= 0 ? name.asSecret(readValue(text, at, "bare")) : undefined;
    if (option !== undefined) return option;
  }
  if (blank) {
    // `secret 0 …`, `password 7 …` in the settings of network devices.
    const type = bytes[to + 1] ?? 0;
    const typed =
      type >= 0x30 &&
      type <= 0x39 &&
      bytes[to + 2] === 0x20 &&
      /(?:password|passphrase|secret|key|md5)$/.test(name.text);
    const enabled = bytes[from - 1] === 0x20 && text.startsWith("enable ", from - 7);
    const device = typed || enabled ? readValue(text, typed ? to + 3 : to + 1, "bare") : undefined;
    if (device !== undefined && isPassword(device.text, "quoted") && name.key.kind !== "none") return device;
    const value = valueWithoutSeparator(normalized, name, skipBlanks(bytes, to, 8));
    if (value !== undefined) return value;
  }
  if (!blank && next !== 0x2a && next !== 0x60 && next !== 0x3f && !quoted) return undefined;
  // "Pass … to …" is an order.
  at =
    bytes[to - 1] === 0x73 && isPass(name.text) && !isFollowedByIs(text, to)
      ? -1
      : valueStartInSentence(normalized, to);
  if (at < 0) return undefined;
  const word = isShortWord(bytes, at) ? undefined : name.asSecret(readValue(text, at, "prose"));
  const said = word ?? name.secretInGroups(at);
  return said !== undefined && otherProperty.test(text.slice(to, at)) ? undefined : said;
}

/** User and password together: `auth=("user", "…")`, `credentials: user / …`. */
function passwordAfterUser(normalized: NormalizedText, key: KeyReference, anchor: number): CandidateValue | undefined {
  if (!namesPair(normalized.bytes, anchor)) return undefined;
  const { text } = normalized;
  const { to, text: name } = key;
  let value: CandidateValue | undefined;
  if (/auth(?!or(?!iz))|cred|login|daten/i.test(name)) {
    value = readGroup(userPasswordPair, text, to);
    if (value === undefined && /(?:^|[_.-])(?:credentials?|creds|log-?in|auth|userpwd)$/i.test(name)) {
      value = readGroup(userColonPassword, text, to);
      if (value !== undefined && !isMixed(value.text)) value = undefined;
    }
    if (value === undefined && /^(?:credentials?|creds|log-?in|auth|zugangsdaten|anmeldedaten)$/i.test(name)) {
      const written = readGroup(userThenPassword, text, to);
      value = written === undefined ? undefined : { ...written, notation: "prose" };
    }
  }
  return value !== undefined && isPassword(value.text, value.notation) ? value : undefined;
}

/** `<password>…`, `name="password" value="…"`, `- name: PASSWORD` with `value: …` below it, `variable "password" { default = … }`. */
function valueInMarkup(normalized: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { from, to } = name;
  let at = mayNameThenValue(bytes, to) ? matchEnd(nameThenValue, text, to) : -1;
  if (at >= 0) {
    const bare = bytes[at] === 0x22 || bytes[at] === 0x27 || bytes[to] === 0x0a;
    const value = name.asSecret(bare ? readValue(text, at, "bare") : readGroup(tagValue, text, at));
    if (value !== undefined) return value;
  }
  if (bytes[to] === 0x0a || bytes[to] === 0x2c) return undefined;
  at = isTagName(text, from) ? matchEnd(tag, text, to) : -1;
  if (at >= 0) {
    const value = name.asSecret(readGroup(tagValue, text, at));
    if (value !== undefined) return value;
  }
  at = bytes[to] === 0x22 ? matchEnd(blockDefault, text, to) : -1;
  return at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
}

/** What stands behind an assignment whose value is on the next line: the end of this one, a block's mark, what closes a string. */
function mayEndLine(c: number): boolean {
  return c <= 0x0d || c === 0x7c || c === 0x3e || c === 0x7d || c === 0x5d || c === 0x2a || isQuote(c);
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
  for (let i = at - 1; i >= 0 && i > at - maxLeadLength && bytes[i] !== 0x0a; i--) if (bytes[i] === quote) count++;
  return count % 2 === 1;
}

const maxLeadLength = 240;

/** `+` `.` `,` `)` `;` `%` `&`: what goes on behind a literal. */
function isOperator(c: number): boolean {
  return c === 0x2b || c === 0x2e || c === 0x2c || c === 0x29 || c === 0x3b || c === 0x25 || c === 0x26;
}

/** `cfg.get("…")`: a word that ends in a bracket, and a literal in it; `$self->`. */
function isCallOf(bytes: Uint8Array, { end, text, notation }: CandidateValue): boolean {
  if (notation !== "bare") return false;
  if (bytes[end] === 0x3e) return /^\$\w+-$/.test(text);
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
  return isQuote(bytes[end] ?? 0) && bytes[skipBlanks(bytes, end + 1, 4)] === 0x3a;
}

/** Quotes and brackets that close what a field was looked up by, or what calls the function that types. */
function mayBeFormInput(c: number): boolean {
  return c === 0x5d || c === 0x29 || c === 0x2c || c === 0x2e || c === 0x20 || isQuote(c);
}

function mayBeCall(c: number): boolean {
  return c === 0x29 || c === 0x28 || c === 0x2c || isQuote(c);
}

/** Whether `value`, `val`, `content` or `string` can stand behind a name, with what `nameThenValue` allows between them. */
function mayNameThenValue(bytes: Uint8Array, to: number): boolean {
  let at = to;
  if (isQuote(bytes[at] ?? 0)) at++;
  const separator = skipBlanks(bytes, at, 8);
  let c = bytes[separator] ?? 0;
  if (c === 0x2c || c === 0x3b || c === 0x2f || c === 0x3e) at = separator + (c === 0x2f ? 2 : 1);
  else if (separator > at && ((classes[c] ?? 0) & isLower) !== 0) return true; // another attribute
  while (at < to + 100 && (bytes[at] ?? 0) <= 0x20 && bytes[at] !== 0) at++;
  c = bytes[at] ?? 0;
  if (c === 0x22 || c === 0x27 || c === 0x3c) c = bytes[at + 1] ?? 0;
  return (
    c === 0x76 || c === 0x56 || c === 0x63 || c === 0x73 || (bytes[to] === 0x0a && ((classes[c] ?? 0) & isLower) !== 0)
  );
}

/** `--password …`, `login x password …`, `password "…"`, and what can be nothing but a secret. */
function valueWithoutSeparator(normalized: NormalizedText, name: KeyReference, at: number): CandidateValue | undefined {
  const { text, bytes } = normalized;
  const { from } = name;
  // A word, or `${…}` in a template.
  if (isShortWord(bytes, at) || (bytes[at] === 0x24 && bytes[at + 1] === 0x7b)) return undefined;
  const value = readValue(text, at, "bare");
  if (value === undefined || !mayBeSecret(value.text)) return undefined;
  const meant =
    isQuote(bytes[at] ?? 0) ||
    bytes[from] === 0x2d ||
    isDirective(name.text) ||
    directive.test(text.slice(Math.max(0, from - 24), from)) ||
    netrc.test(text.slice(Math.max(0, from - 120), from));
  // "Pass `x` to …" is an order, not a password; `user root, pass …` is none.
  if (isPass(name.text))
    return meant && bytes[from] !== 0x2d && isMixed(value.text) && netrc.test(text.slice(Math.max(0, from - 120), from))
      ? name.asSecret(value)
      : undefined;
  if (meant) return name.asSecret(value);
  if (name.key.kind === "password" && withPassword.test(text.slice(Math.max(0, from - 48), from)))
    return name.asSecret({ ...value, notation: "prose" });
  if (isSecretWithoutSeparator(value.text, name.key)) return value;
  // The last word of a command: `nmcli dev wifi connect home password …`.
  const last =
    (bytes[value.end] ?? 0) <= 0x0a &&
    name.key.kind === "password" &&
    /^[^-=]{2}[^=]*$/.test(value.text) &&
    isMixed(value.text);
  return last && value.text.length >= 8 ? name.asSecret({ ...value, notation: "prose" }) : undefined;
}

/** Letters and at least two digits. */
function isMixed(value: string): boolean {
  return /\d.*\d/.test(value) && /[A-Za-z]/.test(value);
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

/** Fewer than eight letters and a blank: what stands behind most names in a sentence. */
function isShortWord(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + 8 && ((classes[bytes[at] ?? 0] ?? 0) & (isLower | isUpper)) !== 0) at++;
  return at > from && at < from + 8 && bytes[at] === 0x20;
}

function wordEndsAt(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + maxValueLength && (bytes[at] ?? 0) > 0x20) at++;
  return at;
}

/** Whether a key word can name user and password together: auth, credentials, login, Zugangsdaten. */
function namesPair(bytes: Uint8Array, anchor: number): boolean {
  const first = (bytes[anchor] ?? 0) | 0x20;
  return first === 0x61 || first === 0x63 || first === 0x6c || first === 0x7a;
}

/** Whether a name stands inside a tag. */
function isTagName(text: string, from: number): boolean {
  for (let i = from - 1; i >= 0 && i > from - 82; i--) {
    const c = text.charCodeAt(i);
    if (c === 0x3c) return text.charCodeAt(i + 1) !== 0x2f;
    if (c === 0x3e || c === 0x0a) return false;
  }
  return false;
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
