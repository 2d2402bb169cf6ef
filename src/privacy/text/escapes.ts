import { BACKSLASH, ESC, LF, NUL, TAB } from "./bytes.ts";
import { byteSet, matchEnd } from "./characters.ts";
import { COLOUR, latin1Of } from "./unicode.ts";

/** What the last escape sequence stood for; -1 for nothing visible. */
export let escaped = -1;

/** Reads a run of backslashes and what it escapes, however often it was escaped; the end goes to the caller, the byte to `escaped`. */
export function readBackslashes(text: string, start: number, size: number): number {
  let i = start;
  while (i < size && text.charCodeAt(i) === BACKSLASH) i++;
  switch (i < size ? text[i] : "") {
    case "n":
    case "r":
      escaped = LF;
      return i + 1;
    case "t":
      escaped = TAB;
      return i + 1;
    case '"':
    case "'":
    case "`":
    case ":": // properties files
    case "=":
    case "/":
      escaped = text.charCodeAt(i);
      return i + 1;
    case "u":
      return escapedCode(text, i, 4);
    case "x":
      return escapedCode(text, i, 2);
    case "0":
    case "e": {
      const introducer = text[i] === "e" ? i + 1 : i + 3;
      if (!text.startsWith("033[", i) && !text.startsWith("e[", i)) break;
      escaped = COLOUR;
      return colourEnd(text, introducer);
    }
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

/** m: colour; H, J, K: cursor and erasing. Any other letter may as well begin a token. */
const controlSequence = /\[(?:[ -?]{0,22}[mHJK])?/y;
/** Control sequences, as they are or escaped. */
const controlSequences = /(?:(?:\x1b|\\{1,8}(?:033|e|(?:u00|x)1[bB]))\[(?:[ -?]{0,22}[mHJK])?){1,8}/y;

/** The end of a terminal control sequence whose introducer `[` may stand at a place. */
export function colourEnd(text: string, at: number): number {
  return Math.max(at, matchEnd(controlSequence, text, at));
}

/** The end of the control sequences that follow one. */
export function coloursEnd(text: string, from: number): number {
  return Math.max(from, matchEnd(controlSequences, text, from));
}

/** -1 where one of so many characters is no digit of hex. */
function hexValue(text: string, at: number, digits: number): number {
  let value = 0;
  for (let i = at; i < at + digits; i++) {
    const digit = hexDigits[text.charCodeAt(i)] ?? -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

const hexDigits = new Int8Array(256).fill(-1);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Undone are percent escapes of what separates things, and of what nothing has to escape. All others stay as they are. */
const percentEscaped = byteSet("=:/@{}[]+,\r\n_-.~");
const unreserved = byteSet("_-.~");

/** What a percent escape stands for; -1 where it stays as it is. In `user:password@host` an escaped `@` or `:` is part of the password. */
export function percentEscape(text: string, at: number, inAuthority: boolean): number {
  const value = hexValue(text, at + 1, 2);
  return (inAuthority ? unreserved : percentEscaped)[value] === 1 ? value : -1;
}

const entities = Object.entries({ quot: '"', amp: "&", lt: "<", gt: ">", apos: "'", nbsp: " " }).map(
  ([name, character]) => [`&${name};`, character.charCodeAt(0)] as const,
);

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
