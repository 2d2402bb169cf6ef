import { looksRandom } from "#privacy/detect/values/randomness.ts";
import { CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, DOT, OPEN_PAREN, SPACE } from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyReference } from "./key-reference.ts";
import { isQuote, skipBlanks } from "./separators.ts";
import { type CandidateValue, matchEnd, readValue } from "./value-reader.ts";

// All patterns are sticky, and all repetitions are bounded.
/** What a test types into a field that it looked up by this name. */
const formInput =
  /["'`\])]{1,5}(?:[ \t]{0,2},[ \t]{0,2}|\.(?:type|fill|send_keys|sendKeys|setValue|set_value|typeText|enterText|val|input|toBe|toEqual|toStrictEqual|unwrap_or|orElse|getOrElse|default)\()(?=["'`])/y;
const call = /["'`]?\)?[ \t]{0,4}[(,][ \t]{0,40}|["'][ \t]{1,4}(?=["'])/y;

/** What stands in the call behind a look-up by this name: `page.locator("#password").fill("…")`. */
export function valueInFormInput({ text, bytes }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { to } = name;
  const at = matchEnd(formInput, text, to);
  const value = at < 0 ? undefined : name.asSecret(readValue(text, at, "bare"));
  if (value === undefined || isNameOfNext(bytes, value.end) || areConstants(name.text, value.text)) return undefined;
  const isArgument = bytes[to] === CLOSE_BRACKET || text.charCodeAt(at - 1) === OPEN_PAREN;
  return isArgument || /\d/.test(value.text) ? value : undefined;
}

/** The next argument of a call, or the next string of a list: `login(password, "…")`, `("password", "…")`. */
export function valueInCall({ text, bytes }: NormalizedText, name: KeyReference): CandidateValue | undefined {
  const { to } = name;
  const next = bytes[to] ?? 0;
  const at = isQuote(next) ? matchEnd(call, text, to) : skipBlanks(bytes, to + 1, 40);
  const value = at >= 0 && isQuote(bytes[at] ?? 0) ? readValue(text, at, "bare") : undefined;
  if (value === undefined || isNameOfNext(bytes, value.end)) return undefined;
  // In a list of strings the next one may be anything.
  const isVaried = /\d.*\d|[!@#$%^&*]/.test(value.text) || (/[A-Z]/.test(value.text) && looksRandom(value.text));
  if (!isVaried || areConstants(name.text, value.text)) return undefined;
  if (next === COMMA && !endsWithKeyWord(name.text)) return undefined;
  if (next === OPEN_PAREN && isLookupCall(name.text)) return undefined;
  return name.asSecret(value);
}

/** Quotes and brackets that close what a field was looked up by, or what calls the function that types. */
export function mayBeFormInput(c: number): boolean {
  return c === CLOSE_BRACKET || c === CLOSE_PAREN || c === COMMA || c === DOT || c === SPACE || isQuote(c);
}

export function mayBeCall(c: number): boolean {
  return c === CLOSE_PAREN || c === OPEN_PAREN || c === COMMA || isQuote(c);
}

/** Whether what ends at a place is the name of the next member of an object, not a value. */
function isNameOfNext(bytes: Uint8Array, end: number): boolean {
  return isQuote(bytes[end] ?? 0) && bytes[skipBlanks(bytes, end + 1, 4)] === COLON;
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
