import { classes, inName } from "./characters.ts";
import { type KeyName, keyName } from "./key-names.ts";
import { vendorRule } from "./rules/keyed-rules.ts";
import type { Span } from "./spans.ts";
import { isPassword, isSecret, isSecretInAnyCase, type Writing } from "./values.ts";
import type { View } from "./view.ts";

/** Longest name and longest value that are read. */
const longestName = 80;
const longestValue = 4_096;
const longestBareValue = 2_048;

// What may stand between a name and its value. All sticky; all repetitions bounded.
const assign =
  /["'`]{0,2}[\])]{0,2}["'`]?\*{0,2}[ \t]{0,40}(?:\?|!)?(?::[ \t]{0,4}(?:&?(?:'static )?)(?:string|String|str|text|varchar|char|any|Text|Secret\w{0,10}|SecureString|Optional\[str\]|Option<String>|string \| undefined)[ \t?]{0,4}=(?!=)|:=|=>|->|={1,3}|!={1,2}|\?\?=|\|\|=|\|\||\?\?|::?-?|\bor\b)\*{0,2}[ \t]{0,40}/y;
const tag = /[^<>\n]{0,80}>\s{0,40}/y;
const cell = /["'`*]{0,3}[ \t]{0,40}(?:\||\t)[ \t]{0,40}["'`*]{0,3}/y;
const call = /["'`]?\)?[ \t]{0,4}[(,][ \t]{0,8}/y;
const nameThenValue =
  /["'`]?[ \t]{0,8}(?:,|;|\/?>)?\s{0,80}["'<]?(?:[Vv]alue|val|content|secretValue|stringValue|string)["'>]?\s{0,8}[=:]?\s{0,8}/y;
const blockDefault = /"\s{0,8}\{[^{}]{0,240}?\bdefault\s{0,8}=\s{0,8}/y;
const nextLine = /["'`]?[ \t]{0,8}[:=][ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\n[ \t]{1,24}/y;
const spaces = /[ \t]{1,8}/y;
// Up to nine words, then `is` and its like, or a colon; `id=` within a sentence is an assignment of its own.
const prose =
  /["'`*]{0,3}(?:[ \t]{1,3}(?!is\b|was\b|are\b)[\w'@./()#-]{1,32}){0,9}?(?:[ \t]{0,3}:(?=[ \t"'`(])|[ \t]{1,3}(?:=|->|=>)|[ \t]{1,3}(?:is|was|are|be|equals|becomes|will be|has been|set to|to|as|ist|est|es|lautet|è|é|jest)\b:?)[ \t]{0,4}(?:still |now |currently |just |literally |actually )?(?:is[ \t])?/y;
const netrc = /\b(?:login|user(?:name)?|account|machine)[ \t:=]{1,4}\S{1,80}\s{1,40}$/;
const weakContext =
  /(?:\b(?:my|our|the|your|this|here'?s?|is|his|her|their|use|api|using)\b[ \t]{1,3}(?:[\w-]{1,20}[ \t]){0,2})$/i;

/** What may stand in front of the value itself: the scheme of an `Authorization` header. */
const scheme =
  /["'`]?(?:Bearer|Token|ApiKey|Api-Key|Key|Basic|Digest|Bot|GenieKey|SSWS|Negotiate|Splunk|Api-Token|DeepL-Auth-Key|OAuth|Apikey|AccessKey|PRIVATE-TOKEN|Client-ID|Klaviyo-API-Key|PVEAPIToken=[^\s=]{1,60})[ \t:=]{1,3}(?:token=|key=)?/iy;

const opening = /(?:[rbfuRBFU@$]{1,2}|new |String\(|SecretStr\(|Buffer\.from\(|\()?["'`]/y;
const tagValue = /(?:<!\[CDATA\[)?([^<>\n]{4,1024}?)\s{0,40}(?:\]\]>)?(?:<|$)/y;
const cellValue = /([^\s|`"'*]{4,512})["'`*]{0,3}[ \t]{0,40}(?:\||\n|$)/y;
/** In settings strings, where the next setting begins. */
const nextSetting = /[;,&]\s?[A-Za-z_][A-Za-z_ .-]{0,40}=/y;

/** Finds values by the names beside them: assignments, settings files, tables, options, sentences. */
export class Assignments {
  readonly #disabled: ReadonlySet<string>;

  constructor(disabled: ReadonlySet<string>) {
    this.#disabled = disabled;
  }

  /**
   * @param anchor where a key word such as `pass` or `token` stands
   * @returns the end of the name around the anchor, so that its other key words are not read again
   */
  scanAt(view: View, anchor: number, length: number, found: Span[]): number {
    const { bytes, text } = view;
    let from = anchor;
    const first = Math.max(0, anchor - longestName);
    while (from > first && ((classes[bytes[from - 1] ?? 0] ?? 0) & inName) !== 0) from--;
    let to = anchor + length;
    const last = Math.min(view.length, to + longestName);
    while (to < last && ((classes[bytes[to] ?? 0] ?? 0) & inName) !== 0) to++;
    const end = to;
    while (to > anchor + length && (bytes[to - 1] === 0x2e || bytes[to - 1] === 0x2d)) to--;
    if (!canSeparate(bytes[to] ?? 0)) return end;
    let name = text.slice(from, to);
    let key = keyName(name);
    if (key.kind === "weak") {
      // `api key`, `access key`, `account key`: the word before says what the key is for.
      const lead = /([A-Za-z]{2,16})[ \t]$/.exec(text.slice(Math.max(0, from - 18), from));
      if (lead?.[1] !== undefined) {
        name = `${lead[1]} ${name}`;
        const wider = keyName(name);
        if (wider.kind !== "none") key = wider;
        else if (/^(?:public|primary|foreign|cache|partition|sort)$/i.test(lead[1])) return end;
      }
    }
    if (key.kind === "none") return end;
    const value = this.#valueAfter(view, from, to, key);
    if (value !== undefined) {
      const rule = (key.kind === "password" ? undefined : vendorRule(name, value.text)) ?? key.rule;
      if (!this.#disabled.has(rule)) found.push({ start: value.start, end: value.end, rule });
    }
    return end;
  }

  #valueAfter(view: View, from: number, to: number, key: KeyName): Value | undefined {
    const { text, bytes } = view;
    const next = bytes[to] ?? 0;
    let at = match(assign, text, to);
    if (at >= 0) {
      const query = from > 0 && (bytes[from - 1] === 0x3f || bytes[from - 1] === 0x26);
      const value = readValue(text, at, query ? "query" : "bare");
      if (value !== undefined && accepts(key, value, text, from)) return value;
      if (bytes[at] === 0x0a || value === undefined) {
        const line = match(nextLine, text, to);
        if (line >= 0) return this.#accepted(key, readValue(text, line, "bare"), text, from);
      }
      if (value !== undefined && value.writing === "quoted") return undefined;
    }
    if (next === 0x3e || next === 0x22 || next === 0x27) {
      at = match(nameThenValue, text, to);
      if (at >= 0) {
        const value = this.#accepted(
          key,
          bytes[at] === 0x22 || bytes[at] === 0x27 ? readValue(text, at, "bare") : readTag(text, at),
          text,
          from,
        );
        if (value !== undefined) return value;
      }
      at = match(tag, text, to);
      if (at >= 0 && isTagName(text, from)) {
        const value = this.#accepted(key, readTag(text, at), text, from);
        if (value !== undefined) return value;
      }
      at = match(blockDefault, text, to);
      if (at >= 0) return this.#accepted(key, readValue(text, at, "bare"), text, from);
    }
    if (next === 0x0a || next === 0x22 || next === 0x27) {
      at = match(nameThenValue, text, to);
      if (at >= 0) {
        const value = this.#accepted(key, readValue(text, at, "bare"), text, from);
        if (value !== undefined) return value;
      }
    }
    if (next === 0x28 || next === 0x2c || next === 0x22 || next === 0x27 || next === 0x29) {
      at = match(call, text, to);
      if (at >= 0 && isQuote(bytes[at] ?? 0)) {
        const value = this.#accepted(key, readValue(text, at, "bare"), text, from);
        if (value !== undefined) return value;
      }
    }
    if (next === 0x20 || next === 0x09 || next === 0x7c || next === 0x60 || next === 0x2a || next === 0x22) {
      at = match(cell, text, to);
      if (at >= 0) {
        const value = this.#accepted(key, readMatch(cellValue, text, at, "quoted"), text, from);
        if (value !== undefined) return value;
      }
    }
    if (next !== 0x20 && next !== 0x09 && next !== 0x2a && next !== 0x60 && next !== 0x22 && next !== 0x27)
      return undefined;
    if (next === 0x20 || next === 0x09) {
      at = match(spaces, text, to);
      if (at >= 0) {
        const value = readValue(text, at, "bare");
        if (value !== undefined) {
          const flag = bytes[from] === 0x2d;
          if (isQuote(bytes[at] ?? 0) || flag || netrc.test(text.slice(Math.max(0, from - 120), from))) {
            if (accepts(key, value, text, from)) return value;
          } else if (key.kind !== "weak" && isPlainlySecret(value.text, key)) return value;
        }
      }
    }
    at = match(prose, text, to);
    if (at < 0) return undefined;
    const value = readValue(text, at, "prose");
    return this.#accepted(key, value, text, from);
  }

  #accepted(key: KeyName, value: Value | undefined, text: string, from: number): Value | undefined {
    return value !== undefined && accepts(key, value, text, from) ? value : undefined;
  }
}

interface Value {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly writing: Writing;
}

function accepts(key: KeyName, value: Value, text: string, from: number): boolean {
  switch (key.kind) {
    case "password":
      return isPassword(value.text, value.writing);
    case "secret":
      if (
        key.rule === "secret" &&
        value.writing !== "prose" &&
        value.text.length >= 8 &&
        isPassword(value.text, value.writing)
      ) {
        return (
          isSecret(value.text, value.writing) ||
          /[!@#$%^&*]/.test(value.text) ||
          /\d.*[A-Z]|[A-Z].*\d|\d.*[a-z].*\d/.test(value.text)
        );
      }
      return isSecret(value.text, value.writing);
    case "weak": {
      const talked = weakContext.test(text.slice(Math.max(0, from - 60), from));
      return talked ? isSecretInAnyCase(value.text, "prose") : isSecretInAnyCase(value.text, value.writing);
    }
    default:
      return false;
  }
}

/** A value straight behind its name, without any separator, has to leave no doubt. */
function isPlainlySecret(value: string, key: KeyName): boolean {
  if (value.length < 8) return false;
  if (key.kind === "password") {
    return isPassword(value, "prose") && /\d/.test(value) && /[A-Za-z]/.test(value) && /[!@#$%^&*?~+]/.test(value);
  }
  return value.length >= 20 && isSecretInAnyCase(value, "bare");
}

/** Runs a sticky pattern at a place; where it ends, or -1. */
function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function readMatch(pattern: RegExp, text: string, at: number, writing: Writing): Value | undefined {
  pattern.lastIndex = at;
  const value = pattern.exec(text)?.[1];
  if (value === undefined) return undefined;
  const start = text.indexOf(value, at);
  return { start, end: start + value.length, text: value, writing };
}

function readTag(text: string, at: number): Value | undefined {
  return readMatch(tagValue, text, at, "quoted");
}

function readValue(text: string, from: number, place: "bare" | "query" | "prose"): Value | undefined {
  const behind = match(scheme, text, from);
  const at = behind >= 0 ? behind : from;
  const open = match(opening, text, at);
  return open >= 0 ? readQuoted(text, open) : readBare(text, at, place);
}

/** @param start right behind the opening quote */
function readQuoted(text: string, start: number): Value | undefined {
  const quote = text.charCodeAt(start - 1);
  const limit = Math.min(text.length, start + longestValue);
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

function readBare(text: string, from: number, place: "bare" | "query" | "prose"): Value | undefined {
  let start = from;
  while (start < from + 3 && isOneOf(text.charCodeAt(start), "(*_")) start++;
  const limit = Math.min(text.length, start + longestBareValue);
  let end = start;
  while (end < limit) {
    const c = text.charCodeAt(end);
    if (c <= 0x20 || c === 0x22 || c === 0x27 || c === 0x60 || c === 0x3c || c === 0x3e) break;
    if (place === "query" && (c === 0x26 || c === 0x23)) break;
    if (
      (c === 0x26 || c === 0x2c || c === 0x3b) &&
      (match(nextSetting, text, end) >= 0 || (c !== 0x26 && end + 3 < limit && text.charCodeAt(end + 1) <= 0x20))
    )
      break;
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

function isOneOf(c: number, characters: string): boolean {
  return characters.includes(String.fromCharCode(c));
}

/** Whether a name stands inside a tag. */
function isTagName(text: string, from: number): boolean {
  for (let i = from - 1; i >= 0 && i > from - 82; i--) {
    const c = text.charCodeAt(i);
    if (c === 0x3c) return true;
    if (c === 0x3e || c === 0x0a) return false;
  }
  return false;
}

function isQuote(c: number): boolean {
  return c === 0x22 || c === 0x27 || c === 0x60;
}

/** What may stand right behind a name that a value follows. */
function canSeparate(c: number): boolean {
  switch (c) {
    case 0x20: // space
    case 0x09:
    case 0x0a:
    case 0x21: // !
    case 0x22: // "
    case 0x27: // '
    case 0x28: // (
    case 0x29: // )
    case 0x2a: // *
    case 0x2c: // ,
    case 0x3a: // :
    case 0x3d: // =
    case 0x3e: // >
    case 0x3f: // ?
    case 0x5d: // ]
    case 0x60: // `
    case 0x7c: // |
    case 0x2d: // ->
      return true;
    default:
      return false;
  }
}
