import { byteSet, matchEnd } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import { isKept } from "./kept-values.ts";
import { isKeyName, type KeyName, readKeyName } from "./key-names.ts";
import { isDummyValue, isIdentifier, shapeOf } from "./randomness.ts";
import { type CandidateValue, readGroup } from "./value-reader.ts";
import { isDrawnInOneCase, isPassword, isRandomSecret, isSecret } from "./values.ts";

/** Groups of four, as Google, WordPress and authenticators show them. */
const groupsOfFour =
  /(?:[a-z]{4}(?:[ -][a-z]{4}){3}|[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){5}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){5,15})(?![A-Za-z0-9-])/y;
const weakContext =
  /(?:\b(?:my|our|the|your|this|here'?s?|is|his|her|their|use|api|using)\b[ \t]{1,3}(?:[\w-]{1,20}[ \t]){0,2})$/i;

/** A name in a normalized text. Its meaning is read only when a value that may be a secret stands beside it. */
export class NamedValue {
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
    if (key.kind !== "weak" || this.normalized.text[this.from] === "-") return key;
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
    const { text } = this.normalized;
    if (text[at + 4] !== text[at + 9] || (text[at + 4] !== " " && text[at + 4] !== "-")) return undefined;
    const end = matchEnd(groupsOfFour, text, at);
    if (end < 0 || (this.key.kind !== "password" && this.key.kind !== "secret")) return undefined;
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
    const { text, notation } = value;
    const { kind, rule } = this.key;
    const all = this.normalized.text;
    switch (kind) {
      case "password":
        if (notation === "bare" && /^\D+$/.test(text) && sentence.test(all.slice(value.end, value.end + 3)))
          return undefined;
        return isPassword(text, notation) || (beforeSetting.test(all.charAt(this.from - 1)) && isWrittenOut(text))
          ? value
          : undefined;
      case "secret":
        if (isSecret(text, notation) || (rule === "auth_header" && isAuthorization(value))) return value;
        return rule === "secret" &&
          notation !== "prose" &&
          (isChosenSecret(text) || (/\d\D*\d/.test(text) && /^\w+[_.-]?secret$/i.test(this.text))) &&
          !(isIdentifier(text) && (notation === "bare" || isKeyName(text))) &&
          isPassword(text, notation)
          ? value
          : undefined;
      case "weak": {
        if (rule === "credential" && isUserAndPassword(text)) return value;
        if (!isSecret(text, notation) || text.length < 20) return undefined;
        if (isRandomSecret(text, notation) || (saysWhatFor.test(this.text) && isDrawnInOneCase(text))) return value;
        return weakContext.test(all.slice(Math.max(0, this.from - 60), this.from)) ? value : undefined;
      }
      default:
        return undefined;
    }
  }
}

/** What follows a scheme's name in an `Authorization` header: not a variable, nor words that describe it. */
function isAuthorization({ text, notation, scheme }: CandidateValue): boolean {
  if (scheme !== true || text.length < 8 || !/^[\w.~+/=-]+$/.test(text)) return false;
  if (isUserAndPassword(text)) return true;
  if (!/\d/.test(text) && (text.length < 20 || isIdentifier(text))) return false;
  return !isKept(text, shapeOf(text), notation);
}

/** `acme_key`, `acmeKey`: not `key` alone, which mostly names a place in a table. */
const saysWhatFor = /[A-Za-z0-9]{2}[_.-]?keys?$/i;

/** Words behind a word: a label in a file of translations. */
const sentence = /^ [A-Za-z\xb3\xc0-\xff]{2}/;
/** What stands before a setting in a connection string. */
const beforeSetting = /[;&?]/;

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
  if (text.length < 8) return false;
  const [first, last] = [text.search(/\d/), text.search(/(?<=\d)\D*$/)];
  return /[!@#$%^&*]/.test(text) || (first >= 0 && (/[A-Z]/.test(text) || /[a-z]/.test(text.slice(first, last))));
}

const userPasswordPair =
  /["']?\s{0,3}[=:]?\s{0,3}[([]\s{0,3}["'][^"'\n]{1,64}["']\s{0,3}[,:]\s{0,3}["']([^"'\n]{3,128})["']/y;
/** `login=user:password`, `creds: "user:password"`. */
const userColonPassword = /["'`]?(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t])["'`]?[\w.@+-]{2,64}:([^\s"'`:/]{6,128})/y;

/** User and password together: `auth=("user", "…")`, `credentials: user / …`. */
export function passwordAfterUser(
  normalized: NormalizedText,
  key: NamedValue,
  keywordAt: number,
): CandidateValue | undefined {
  if (!namesPair(normalized.bytes, keywordAt)) return undefined;
  const { text } = normalized;
  const { to, text: name } = key;
  let value: CandidateValue | undefined;
  if (/auth(?!or(?!iz))|cred|login|daten/i.test(name)) {
    value = readGroup(userPasswordPair, text, to);
    if (value === undefined && /(?:^|[_.-])(?:credentials?|creds|log-?in|auth|userpwd)$/i.test(name)) {
      value = readGroup(userColonPassword, text, to);
      if (value !== undefined && !(/\d.*\d/.test(value.text) && /[A-Za-z]/.test(value.text))) value = undefined;
    }
  }
  return value !== undefined && isPassword(value.text, value.notation) ? value : undefined;
}

const pairLetters = byteSet("aclzACLZ");

/** Whether a key word can name user and password together: auth, credentials, login, Zugangsdaten. */
export function namesPair(bytes: Uint8Array, keywordAt: number): boolean {
  return pairLetters[bytes[keywordAt] ?? 0] === 1;
}
