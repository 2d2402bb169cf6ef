import {
  AMPERSAND,
  ASTERISK,
  AT_SIGN,
  BACKTICK,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  DOT,
  DOUBLE_QUOTE,
  EQUALS,
  EXCLAMATION,
  GREATER_THAN,
  HASH,
  HYPHEN,
  LESS_THAN,
  LOWER_A,
  LOWER_O,
  LOWER_R,
  LOWER_S,
  LOWER_T,
  OPEN_BRACKET,
  OPEN_PAREN,
  PIPE,
  QUESTION_MARK,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  TAB,
  UPPER_A,
  UPPER_N,
  UPPER_R,
  UPPER_S,
  UPPER_V,
} from "#privacy/text/bytes.ts";
import { classes, inName } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import { BOUNDARY, COLOUR } from "#privacy/text/unicode.ts";

/**
 * What may stand between a name and its value. All functions take the place right behind the name, and give the place where the
 * value begins, or -1. They are loops over bytes, not patterns, because they run for every key word of a text.
 */

const typeAnnotation =
  /[ \t]{0,4}&?(?:'static )?(?:string|String|str|text|varchar|char|any|Text|Secret\w{0,10}|SecureString|Optional\[str\]|Option<String>)(?: \| (?:undefined|null))?[ \t?]{0,4}=(?!=)/y;

/** Declarations that name a type between the name and the value: `Dim x As String =`, `x string =`, `char x[] =`. */
const typedDeclaration =
  /[ \t]{1,4}(?:[Aa]s[ \t]{1,4}(?:String|SecureString|Object)|string|String|&str|NVARCHAR\(\w{1,4}\)|VARCHAR\(\w{1,4}\))[ \t]{0,4}:?=(?!=)|\[\d{0,5}\][ \t]{0,4}=(?!=)/y;

/** `=`, `:`, `:=`, `=>`, `->`, `==`, `!=`, `??`, `||`, `or`, `: string =`, with what closes the name before and blanks behind. */
export function valueStartAfterAssignment(normalized: NormalizedText, from: number): number {
  const { bytes } = normalized;
  let at = from;
  while (at < from + 6 && closesName(bytes[at] ?? 0)) at++;
  at = skipBlanks(bytes, at, 40);
  let c = bytes[at];
  let next = bytes[at + 1];
  if ((c === QUESTION_MARK || c === EXCLAMATION) && (next === COLON || (c === QUESTION_MARK && next === EQUALS))) {
    c = next; // `password?: string`
    at++;
    next = bytes[at + 1];
  }
  switch (c) {
    case UPPER_A: // As
    case LOWER_A:
    case UPPER_S: // String
    case LOWER_S:
    case AMPERSAND: // &str
    case UPPER_N: // NVARCHAR
    case UPPER_V: // VARCHAR
    case OPEN_BRACKET:
      if (!mayDeclareType(next ?? 0, bytes[at + 2] ?? 0) && c !== OPEN_BRACKET) return -1;
      typedDeclaration.lastIndex = from;
      if (!typedDeclaration.test(normalized.text)) return -1;
      at = typedDeclaration.lastIndex;
      break;
    case COLON:
      if (next === EQUALS || next === COLON || next === HYPHEN) at += 2;
      else {
        at++;
        if (mayBeTypeName(bytes[skipBlanks(bytes, at, 4)] ?? 0)) {
          typeAnnotation.lastIndex = at;
          if (typeAnnotation.test(normalized.text)) at = typeAnnotation.lastIndex;
        }
      }
      break;
    case EQUALS:
      at += next === GREATER_THAN ? 2 : next === EQUALS ? (bytes[at + 2] === EQUALS ? 3 : 2) : 1;
      break;
    case HYPHEN: // ->
      if (next !== GREATER_THAN) return -1;
      at += 2;
      break;
    case LESS_THAN: // <-
      if (next !== HYPHEN) return -1;
      at += 2;
      break;
    case EXCLAMATION: // != !==
      if (next !== EQUALS) return -1;
      at += bytes[at + 2] === EQUALS ? 3 : 2;
      break;
    case QUESTION_MARK: // ??
    case PIPE: // ||
      if (next !== c) return -1;
      at += bytes[at + 2] === EQUALS ? 3 : 2;
      return quotedValueStart(bytes, at);
    case LOWER_O: // or
      if (next !== LOWER_R || at === from || !isBlank(bytes[at + 2] ?? 0)) return -1;
      return quotedValueStart(bytes, at + 2);
    default:
      return -1;
  }
  while (bytes[at] === ASTERISK) at++;
  return skipColours(bytes, skipBlanks(bytes, at, 40));
}

/** The second and third letter of `As `, `string`, `&str`, `NVARCHAR`, `VARCHAR`: cheaper than the pattern, and nearly always wrong. */
function mayDeclareType(second: number, third: number): boolean {
  return (
    (second === LOWER_S && (third === SPACE || third === LOWER_T)) ||
    (second === LOWER_T && third === LOWER_R) ||
    (second === UPPER_V && third === UPPER_A) ||
    (second === UPPER_A && third === UPPER_R)
  );
}

/** Where the value begins behind the colours a terminal gave it. */
function skipColours(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + 3 && bytes[at] === COLOUR) at++;
  return at === from ? at : skipBlanks(bytes, at, 4);
}

/** The first characters of the types above. */
function mayBeTypeName(c: number): boolean {
  return c === AMPERSAND || (c !== 0 && "sStTvcaO".includes(String.fromCharCode(c)));
}

/** The default of a missing setting is only read where it is a literal. */
function quotedValueStart(bytes: Uint8Array, from: number): number {
  const at = skipBlanks(bytes, from, 40);
  return isQuote(bytes[at] ?? 0) ? at : -1;
}

/** Up to nine words, then `is` and its like, a colon, or an arrow: "the password for the admin account is …". */
export function valueStartInSentence(normalized: NormalizedText, from: number): number {
  const { bytes } = normalized;
  let at = from;
  if (bytes[at] === SINGLE_QUOTE && bytes[at + 1] === LOWER_S && isBlank(bytes[at + 2] ?? 0))
    return skipFillerWords(normalized, at + 2); // 's
  while (at < from + 3 && closesName(bytes[at] ?? 0)) at++;
  for (let words = 0; words <= 9; words++) {
    const word = skipBlanks(bytes, at, 3);
    const c = bytes[word] ?? 0;
    if (c === COLON)
      return isBlank(bytes[word + 1] ?? 0) || isQuote(bytes[word + 1] ?? 0)
        ? skipFillerWords(normalized, word + 1)
        : -1;
    // `Its password? …`
    if (c === QUESTION_MARK) return valueStartAfterQuestion(normalized, word + 1, words);
    if (word === at) return -1;
    if (c === OPEN_PAREN) {
      // `api_key (prod): …`, or else `the signing secret (…)`, `the token you gave me (…)`
      const close = words === 0 ? normalized.text.slice(word, word + 32).indexOf("):") : -1;
      if (close < 0) return word + 1;
      return skipFillerWords(normalized, word + close + 2);
    }
    // `the admin password - …`
    if (c === HYPHEN && words === 0 && isBlank(bytes[word + 1] ?? 0)) return skipFillerWords(normalized, word + 1);
    if (c === EQUALS || c === HYPHEN) {
      const arrow = bytes[word + 1] === GREATER_THAN;
      if (c === EQUALS || arrow) return skipFillerWords(normalized, word + (arrow ? 2 : 1));
    }
    at = wordEnd(bytes, word);
    if (at === word) return -1;
    if (mayBeCopula(bytes, word, at) && copulas.has(normalized.text.slice(word, at).toLowerCase())) {
      return skipFillerWords(normalized, bytes[at] === COLON ? at + 1 : at);
    }
    if (bytes[at - 1] === DOT) return -1; // the sentence is over
  }
  return -1;
}

const copulas = new Set([
  "is",
  "was",
  "are",
  "be",
  "been",
  "equals",
  "becomes",
  "to",
  "as",
  "ist",
  "est",
  "es",
  "lautet",
  "\xe8",
  "\xe9",
  "\xe4r",
  "\xe4r:",
  "er",
  "je",
  "este",
  "jest",
  "reads",
  "type",
  "typed",
  "typing",
  "enter",
  "entered",
  "tried",
]);
const maxCopulaLength = 7;

/** Length, first and last letter of the words above: few other words share all three. */
const copulaKeys = new Set(
  [...copulas].map((word) => copulaKey(word.length, word.charCodeAt(0), word.charCodeAt(word.length - 1))),
);

function copulaKey(length: number, first: number, last: number): number {
  return (length << 16) | ((first | 0x20) << 8) | (last | 0x20);
}

function mayBeCopula(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from <= maxCopulaLength && copulaKeys.has(copulaKey(to - from, bytes[from] ?? 0, bytes[to - 1] ?? 0));
}

const fillerWords = new Set([
  "still",
  "now",
  "currently",
  "just",
  "literally",
  "actually",
  "simply",
  "always",
  "is",
  "set",
  "to",
  "probably",
]);

function skipFillerWords(normalized: NormalizedText, from: number): number {
  const { bytes } = normalized;
  let at = skipBlanks(bytes, from, 4);
  // Words in letters that ISO-8859-1 cannot hold: `пароль от базы: …`.
  for (let i = 0; i < 6 && bytes[at] === BOUNDARY; i++) {
    while (bytes[at] === BOUNDARY) at++;
    if (bytes[at] === COLON) at++;
    const next = skipBlanks(bytes, at, 4);
    if (next === at) break;
    at = next;
  }
  for (let i = 0; i < 3; i++) {
    const end = wordEnd(bytes, at);
    if (end === at || end - at > 9 || bytes[end] !== SPACE || !fillerWords.has(normalized.text.slice(at, end))) break;
    at = end + 1;
  }
  return at;
}

/** What answers a question: the next word, or what follows `it's`. */
function valueStartAfterQuestion(normalized: NormalizedText, from: number, words: number): number {
  const at = skipBlanks(normalized.bytes, from, 3);
  if (at === from) return -1;
  const its = /(?:it'?s|it is|that'?s)[ \t]{1,3}/iy;
  its.lastIndex = at;
  if (its.test(normalized.text)) return its.lastIndex;
  return words === 0 ? at : -1;
}

/** The end of a word of a sentence, at most 32 characters on. */
function wordEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + 32) {
    const c = bytes[at] ?? 0;
    if (
      ((classes[c] ?? 0) & inName) === 0 &&
      c !== SINGLE_QUOTE &&
      c !== AT_SIGN &&
      c !== SLASH &&
      c !== OPEN_PAREN &&
      c !== CLOSE_PAREN &&
      c !== HASH &&
      c !== BOUNDARY &&
      c < 0xc0
    )
      break;
    at++;
  }
  return at;
}

export function skipBlanks(bytes: Uint8Array, from: number, most: number): number {
  let at = from;
  while (at < from + most && isBlank(bytes[at] ?? 0)) at++;
  return at;
}

function isBlank(c: number): boolean {
  return c === SPACE || c === TAB;
}

export function isQuote(c: number): boolean {
  return c === DOUBLE_QUOTE || c === SINGLE_QUOTE || c === BACKTICK;
}

/** Quotes, brackets, emphasis and colours that close a name. */
function closesName(c: number): boolean {
  return isQuote(c) || c === CLOSE_BRACKET || c === CLOSE_PAREN || c === ASTERISK || c === COLOUR;
}
