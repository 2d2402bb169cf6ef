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
  if ((c === 0x3f || c === 0x21) && (next === 0x3a || (c === 0x3f && next === 0x3d))) {
    c = next; // `password?: string`
    at++;
    next = bytes[at + 1];
  }
  switch (c) {
    case 0x41: // As
    case 0x61:
    case 0x53: // String
    case 0x73:
    case 0x26: // &str
    case 0x4e: // NVARCHAR
    case 0x56: // VARCHAR
    case 0x5b: // [
      if (!mayDeclareType(next ?? 0, bytes[at + 2] ?? 0) && c !== 0x5b) return -1;
      typedDeclaration.lastIndex = from;
      if (!typedDeclaration.test(normalized.text)) return -1;
      at = typedDeclaration.lastIndex;
      break;
    case 0x3a: // :
      if (next === 0x3d || next === 0x3a || next === 0x2d) at += 2;
      else {
        at++;
        if (mayBeTypeName(bytes[skipBlanks(bytes, at, 4)] ?? 0)) {
          typeAnnotation.lastIndex = at;
          if (typeAnnotation.test(normalized.text)) at = typeAnnotation.lastIndex;
        }
      }
      break;
    case 0x3d: // =
      at += next === 0x3e ? 2 : next === 0x3d ? (bytes[at + 2] === 0x3d ? 3 : 2) : 1;
      break;
    case 0x2d: // ->
      if (next !== 0x3e) return -1;
      at += 2;
      break;
    case 0x3c: // <-
      if (next !== 0x2d) return -1;
      at += 2;
      break;
    case 0x21: // != !==
      if (next !== 0x3d) return -1;
      at += bytes[at + 2] === 0x3d ? 3 : 2;
      break;
    case 0x3f: // ??
    case 0x7c: // ||
      if (next !== c) return -1;
      at += bytes[at + 2] === 0x3d ? 3 : 2;
      return quotedValueStart(bytes, at);
    case 0x6f: // or
      if (next !== 0x72 || at === from || !isBlank(bytes[at + 2] ?? 0)) return -1;
      return quotedValueStart(bytes, at + 2);
    default:
      return -1;
  }
  while (bytes[at] === 0x2a) at++;
  return skipColours(bytes, skipBlanks(bytes, at, 40));
}

/** The second and third letter of `As `, `string`, `&str`, `NVARCHAR`, `VARCHAR`: cheaper than the pattern, and nearly always wrong. */
function mayDeclareType(second: number, third: number): boolean {
  return (
    (second === 0x73 && (third === 0x20 || third === 0x74)) ||
    (second === 0x74 && third === 0x72) ||
    (second === 0x56 && third === 0x41) ||
    (second === 0x41 && third === 0x52)
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
  return c === 0x26 || (c !== 0 && "sStTvcaO".includes(String.fromCharCode(c)));
}

/** What stands in for a missing setting is only read where it is written out. */
function quotedValueStart(bytes: Uint8Array, from: number): number {
  const at = skipBlanks(bytes, from, 40);
  return isQuote(bytes[at] ?? 0) ? at : -1;
}

/** Up to nine words, then `is` and its like, a colon, or an arrow: "the password for the admin account is …". */
export function valueStartInSentence(normalized: NormalizedText, from: number): number {
  const { bytes } = normalized;
  let at = from;
  if (bytes[at] === 0x27 && bytes[at + 1] === 0x73 && isBlank(bytes[at + 2] ?? 0))
    return skipFillerWords(normalized, at + 2); // 's
  while (at < from + 3 && closesName(bytes[at] ?? 0)) at++;
  for (let words = 0; words <= 9; words++) {
    const word = skipBlanks(bytes, at, 3);
    const c = bytes[word] ?? 0;
    if (c === 0x3a)
      return isBlank(bytes[word + 1] ?? 0) || isQuote(bytes[word + 1] ?? 0)
        ? skipFillerWords(normalized, word + 1)
        : -1;
    // `Its password? …`
    if (c === 0x3f) return valueStartAfterQuestion(normalized, word + 1, words);
    if (word === at) return -1;
    if (c === 0x28) {
      // `api_key (prod): …`, or else `the signing secret (…)`, `the token you gave me (…)`
      const close = words === 0 ? normalized.text.slice(word, word + 32).indexOf("):") : -1;
      if (close < 0) return word + 1;
      return skipFillerWords(normalized, word + close + 2);
    }
    // `the admin password - …`
    if (c === 0x2d && words === 0 && isBlank(bytes[word + 1] ?? 0)) return skipFillerWords(normalized, word + 1);
    if (c === 0x3d || c === 0x2d) {
      const arrow = bytes[word + 1] === 0x3e;
      if (c === 0x3d || arrow) return skipFillerWords(normalized, word + (arrow ? 2 : 1));
    }
    at = wordEnd(bytes, word);
    if (at === word) return -1;
    if (mayBeCopula(bytes, word, at) && copulas.has(normalized.text.slice(word, at).toLowerCase())) {
      return skipFillerWords(normalized, bytes[at] === 0x3a ? at + 1 : at);
    }
    if (bytes[at - 1] === 0x2e) return -1; // the sentence is over
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
const longestCopula = 7;

/** Length, first and last letter of the words above: few other words share all three. */
const copulaKeys = new Set(
  [...copulas].map((word) => copulaKey(word.length, word.charCodeAt(0), word.charCodeAt(word.length - 1))),
);

function copulaKey(length: number, first: number, last: number): number {
  return (length << 16) | ((first | 0x20) << 8) | (last | 0x20);
}

function mayBeCopula(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from <= longestCopula && copulaKeys.has(copulaKey(to - from, bytes[from] ?? 0, bytes[to - 1] ?? 0));
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
  // Words in letters that the view cannot hold: `пароль от базы: …`.
  for (let i = 0; i < 6 && bytes[at] === BOUNDARY; i++) {
    while (bytes[at] === BOUNDARY) at++;
    if (bytes[at] === 0x3a) at++;
    const next = skipBlanks(bytes, at, 4);
    if (next === at) break;
    at = next;
  }
  for (let i = 0; i < 3; i++) {
    const end = wordEnd(bytes, at);
    if (end === at || end - at > 9 || bytes[end] !== 0x20 || !fillerWords.has(normalized.text.slice(at, end))) break;
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
      c !== 0x27 &&
      c !== 0x40 &&
      c !== 0x2f &&
      c !== 0x28 &&
      c !== 0x29 &&
      c !== 0x23 &&
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
  return c === 0x20 || c === 0x09;
}

export function isQuote(c: number): boolean {
  return c === 0x22 || c === 0x27 || c === 0x60;
}

/** Quotes, brackets, emphasis and colours that close a name. */
function closesName(c: number): boolean {
  return isQuote(c) || c === 0x5d || c === 0x29 || c === 0x2a || c === COLOUR;
}
