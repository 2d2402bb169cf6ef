import { looksRandom } from "#privacy/detect/values/randomness.ts";
import { isCertainSecret, isPassword, isSecret, mayBeSecret } from "#privacy/detect/values/values.ts";
import { DIGIT_0, DIGIT_9, DOLLAR, HYPHEN, LF, LOWER_S, OPEN_BRACE, SPACE } from "#privacy/text/bytes.ts";
import { classes, isLower, isUpper } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyName } from "./key-names.ts";
import type { KeyReference } from "./key-reference.ts";
import { isQuote, valueStartInSentence } from "./separators.ts";
import { isMixed } from "./user-and-password.ts";
import { type CandidateValue, matchEnd, readValue } from "./value-reader.ts";

const optionBehind =
  /["']?(?:[ \t]{1,3}(?!--(?:body|value|data|string|secret-string|plaintext)\b)--[\w-]{1,30}[ =][\w.-]{1,40}){0,3}[ \t]{1,3}(?:--body|-b|--value|-v|-Value|--secret-string|--data|--plaintext|--string)[ \t=]{1,2}/y;
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

/** The value of an option behind the name: `gh secret set NAME --body …`. */
export function valueOfOption({ text }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const at = matchEnd(optionBehind, text, name.to);
  return at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
}

/** `secret 0 …`, `password 7 …`, `enable secret …` in the settings of network devices. */
export function valueOnNetworkDevice({ text, bytes }: NormalizedText, name: KeyReference): CandidateValue | undefined {
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

/** `--password …`, `login x password …`, `password "…"`, and what can be nothing but a secret. */
export function valueWithoutSeparator(
  normalized: NormalizedText,
  name: KeyReference,
  at: number,
): CandidateValue | undefined {
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

/** "The password for … is …". */
export function valueInSentence(normalized: NormalizedText, name: KeyReference): CandidateValue | undefined {
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
