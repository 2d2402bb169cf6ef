import { BOUNDARY, COLOUR, latin1Of } from "./unicode.ts";

/** What the last escape sequence stood for; -1 for nothing visible. */
export let escaped = -1;

/** Reads a run of backslashes and what it escapes, however often it was escaped; the end goes to the caller, the byte to `escaped`. */
export function readBackslashes(text: string, start: number, size: number): number {
  let i = start;
  while (i < size && text.charCodeAt(i) === 0x5c) i++;
  const c = i < size ? text.charCodeAt(i) : 0;
  switch (c) {
    case 0x6e: // n
    case 0x72: // r
      escaped = 0x0a;
      return i + 1;
    case 0x74: // t
      escaped = 0x09;
      return i + 1;
    case 0x22:
    case 0x27:
    case 0x3a: // properties files
    case 0x3d:
    case 0x2f:
    case 0x60:
      escaped = c;
      return i + 1;
    case 0x75: // u
    case 0x78: // x
      return escapedCode(text, i, c === 0x75 ? 4 : 2);
    case 0x30: // \033[
      if (text.startsWith("033[", i)) {
        escaped = COLOUR;
        return colourEnd(text, i + 3);
      }
      break;
    case 0x65: // \e[
      if (text.startsWith("e[", i)) {
        escaped = COLOUR;
        return colourEnd(text, i + 1);
      }
      break;
    default:
  }
  escaped = 0x5c;
  return i;
}

function escapedCode(text: string, at: number, digits: number): number {
  const value = hexValue(text, at + 1, digits);
  if (value < 0) {
    escaped = 0x5c;
    return at;
  }
  const end = at + 1 + digits;
  if (value === 0x1b) {
    escaped = COLOUR;
    return colourEnd(text, end);
  }
  escaped = value < 0x80 ? value : latin1Of(value);
  return end;
}

/** The end of a terminal control sequence whose introducer `[` may stand at `at`. */
export function colourEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== 0x5b) return at;
  let i = at + 1;
  const limit = Math.min(text.length, at + 24);
  while (i < limit) {
    const c = text.charCodeAt(i++);
    // m: colour; H, J, K: cursor and erasing. Any other letter may as well begin a token.
    if (c === 0x6d || c === 0x48 || c === 0x4a || c === 0x4b) return i;
    if (c < 0x20 || c > 0x3f) return at + 1;
  }
  return at + 1;
}

/** The end of the control sequences, as they are or escaped, that follow one. */
export function coloursEnd(text: string, from: number): number {
  let at = from;
  for (let i = 0; i < 8; i++) {
    let next = at;
    if (text.charCodeAt(at) === 0x1b) next = at + 1;
    else if (text.charCodeAt(at) === 0x5c) {
      while (next < at + 8 && text.charCodeAt(next) === 0x5c) next++;
      if (text.startsWith("033[", next)) next += 3;
      else if (text.startsWith("e[", next)) next += 1;
      else if (text.startsWith("u001b[", next) || text.startsWith("u001B[", next)) next += 5;
      else if (text.startsWith("x1b[", next) || text.startsWith("x1B[", next)) next += 3;
      else return at;
    }
    if (next === at || text.charCodeAt(next) !== 0x5b) return at;
    at = colourEnd(text, next);
  }
  return at;
}

function hexValue(text: string, at: number, digits: number): number {
  let value = 0;
  for (let i = at; i < at + digits; i++) {
    const c = text.charCodeAt(i); // NaN past the end: no branch takes it
    if (c >= 0x30 && c <= 0x39) value = value * 16 + c - 0x30;
    else if (c >= 0x41 && c <= 0x46) value = value * 16 + c - 0x37;
    else if (c >= 0x61 && c <= 0x66) value = value * 16 + c - 0x57;
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
  return code > 0 && "=:/{}[]+,\r\n".includes(String.fromCharCode(code));
}

/** `_`, `-`, `.`, `~`: characters that nothing has to escape in an address, and that tokens are made of. */
function isUnreserved(code: number): boolean {
  return code === 0x5f || code === 0x2d || code === 0x2e || code === 0x7e;
}

const entities: readonly (readonly [string, number])[] = [
  ["&quot;", 0x22],
  ["&amp;", 0x26],
  ["&lt;", 0x3c],
  ["&gt;", 0x3e],
  ["&apos;", 0x27],
  ["&nbsp;", 0x20],
];

const numericEntity = /&#(?:x([0-9A-Fa-f]{1,5})|([0-9]{1,6}));/y;

export function entityAt(text: string, at: number): { code: number; length: number } | undefined {
  for (const [name, code] of entities) {
    if (text.startsWith(name, at)) return { code, length: name.length };
  }
  numericEntity.lastIndex = at;
  const match = numericEntity.exec(text);
  if (match === null) return undefined;
  const code = match[1] === undefined ? Number(match[2]) : Number.parseInt(match[1], 16);
  const plain = code < 0x80 ? code : latin1Of(code);
  return { code: plain < 0 ? BOUNDARY : plain, length: match[0].length };
}
