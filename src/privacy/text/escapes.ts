import {
  AMPERSAND,
  BACKSLASH,
  BACKTICK,
  COLON,
  DIGIT_0,
  DIGIT_9,
  DOT,
  DOUBLE_QUOTE,
  EQUALS,
  ESC,
  GREATER_THAN,
  HYPHEN,
  LESS_THAN,
  LF,
  LOWER_A,
  LOWER_E,
  LOWER_F,
  LOWER_M,
  LOWER_N,
  LOWER_R,
  LOWER_T,
  LOWER_U,
  LOWER_X,
  NUL,
  OPEN_BRACKET,
  QUESTION_MARK,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  TAB,
  TILDE,
  UNDERSCORE,
  UPPER_A,
  UPPER_F,
  UPPER_H,
  UPPER_J,
  UPPER_K,
} from "./bytes.ts";
import { COLOUR, latin1Of } from "./unicode.ts";

/** What the last escape sequence stood for; -1 for nothing visible. */
export let escaped = -1;

/** Reads a run of backslashes and what it escapes, however often it was escaped; the end goes to the caller, the byte to `escaped`. */
export function readBackslashes(text: string, start: number, size: number): number {
  let i = start;
  while (i < size && text.charCodeAt(i) === BACKSLASH) i++;
  const c = i < size ? text.charCodeAt(i) : 0;
  switch (c) {
    case LOWER_N:
    case LOWER_R:
      escaped = LF;
      return i + 1;
    case LOWER_T:
      escaped = TAB;
      return i + 1;
    case DOUBLE_QUOTE:
    case SINGLE_QUOTE:
    case COLON: // properties files
    case EQUALS:
    case SLASH:
    case BACKTICK:
      escaped = c;
      return i + 1;
    case LOWER_U:
    case LOWER_X:
      return escapedCode(text, i, c === LOWER_U ? 4 : 2);
    case DIGIT_0: // \033[
      if (text.startsWith("033[", i)) {
        escaped = COLOUR;
        return colourEnd(text, i + 3);
      }
      break;
    case LOWER_E: // \e[
      if (text.startsWith("e[", i)) {
        escaped = COLOUR;
        return colourEnd(text, i + 1);
      }
      break;
    default:
  }
  escaped = BACKSLASH;
  return i;
}

function escapedCode(text: string, at: number, digits: number): number {
  const value = hexValue(text, at + 1, digits);
  if (value < 0) {
    escaped = BACKSLASH;
    return at;
  }
  const end = at + 1 + digits;
  if (value === ESC) {
    escaped = COLOUR;
    return colourEnd(text, end);
  }
  escaped = value === NUL ? -1 : value < 0x80 ? value : latin1Of(value);
  return end;
}

/** The end of a terminal control sequence whose introducer `[` may stand at `at`. */
export function colourEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== OPEN_BRACKET) return at;
  let i = at + 1;
  const limit = Math.min(text.length, at + 24);
  while (i < limit) {
    const c = text.charCodeAt(i++);
    // m: colour; H, J, K: cursor and erasing. Any other letter may as well begin a token.
    if (c === LOWER_M || c === UPPER_H || c === UPPER_J || c === UPPER_K) return i;
    if (c < SPACE || c > QUESTION_MARK) return at + 1;
  }
  return at + 1;
}

/** The end of the control sequences, as they are or escaped, that follow one. */
export function coloursEnd(text: string, from: number): number {
  let at = from;
  for (let i = 0; i < 8; i++) {
    let next = at;
    if (text.charCodeAt(at) === ESC) next = at + 1;
    else if (text.charCodeAt(at) === BACKSLASH) {
      while (next < at + 8 && text.charCodeAt(next) === BACKSLASH) next++;
      if (text.startsWith("033[", next)) next += 3;
      else if (text.startsWith("e[", next)) next += 1;
      else if (text.startsWith("u001b[", next) || text.startsWith("u001B[", next)) next += 5;
      else if (text.startsWith("x1b[", next) || text.startsWith("x1B[", next)) next += 3;
      else return at;
    }
    if (next === at || text.charCodeAt(next) !== OPEN_BRACKET) return at;
    at = colourEnd(text, next);
  }
  return at;
}

function hexValue(text: string, at: number, digits: number): number {
  let value = 0;
  for (let i = at; i < at + digits; i++) {
    const c = text.charCodeAt(i); // NaN past the end: no branch takes it
    if (c >= DIGIT_0 && c <= DIGIT_9) value = value * 16 + c - 0x30;
    else if (c >= UPPER_A && c <= UPPER_F) value = value * 16 + c - 0x37;
    else if (c >= LOWER_A && c <= LOWER_F) value = value * 16 + c - 0x57;
    else return -1;
  }
  return value;
}

/** What a percent escape stands for; -1 where it stays as it is. In `user:password@host` an escaped `@` or `:` is part of the password. */
export function percentEscape(text: string, at: number, inAuthority: boolean): number {
  const value = hexValue(text, at + 1, 2);
  return isUnreserved(value) || (!inAuthority && isPunctuation(value)) ? value : -1;
}

/** Percent escapes are undone where they separate things: `=` `:` `/` and their like. All others stay as they are. */
function isPunctuation(code: number): boolean {
  return code > 0 && "=:/@{}[]+,\r\n".includes(String.fromCharCode(code));
}

/** `_`, `-`, `.`, `~`: characters that nothing has to escape in an address, and that tokens are made of. */
function isUnreserved(code: number): boolean {
  return code === UNDERSCORE || code === HYPHEN || code === DOT || code === TILDE;
}

const entities: readonly (readonly [string, number])[] = [
  ["&quot;", DOUBLE_QUOTE],
  ["&amp;", AMPERSAND],
  ["&lt;", LESS_THAN],
  ["&gt;", GREATER_THAN],
  ["&apos;", SINGLE_QUOTE],
  ["&nbsp;", SPACE],
];

const numericEntity = /&#(?:x([0-9A-Fa-f]{1,5})|([0-9]{1,6}));/y;

/** The character that an HTML entity stands for, -1 if it cannot be seen; undefined where no entity is. */
export function entityAt(text: string, at: number): { code: number; length: number } | undefined {
  for (const [name, code] of entities) {
    if (text.startsWith(name, at)) return { code, length: name.length };
  }
  numericEntity.lastIndex = at;
  const match = numericEntity.exec(text);
  if (match === null) return undefined;
  const code = match[1] === undefined ? Number(match[2]) : Number.parseInt(match[1], 16);
  const plain = code < 0x80 ? code : latin1Of(code);
  return { code: plain, length: match[0].length };
}
