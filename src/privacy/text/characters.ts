/** The bytes of ASCII, and of ISO-8859-1, by name. */
export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const DOUBLE_QUOTE = 0x22;
export const SINGLE_QUOTE = 0x27;
export const CLOSE_PAREN = 0x29;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const HYPHEN = 0x2d;
export const DOT = 0x2e;
export const SLASH = 0x2f;
export const DIGIT_0 = 0x30;
export const DIGIT_9 = 0x39;
export const COLON = 0x3a;
export const EQUALS = 0x3d;
export const UPPER_A = 0x41;
export const UPPER_Z = 0x5a;
export const OPEN_BRACKET = 0x5b;
export const UNDERSCORE = 0x5f;
export const LOWER_A = 0x61;
export const LOWER_T = 0x74;
export const LOWER_Z = 0x7a;
export const OPEN_BRACE = 0x7b;
export const TILDE = 0x7e;

/** What a byte can be part of; see `classes`. */
export const inToken = 1;
/** Letters, digits and `_-.` of an identifier or a dotted key. */
export const inName = 2;
/** Joins the parts of one credential: `.:~/+=|!` and token characters. */
export const inChain = 4;
export const isLetter = 8;

const letters = "abcdefghijklmnopqrstuvwxyz";

/** A bit set for each byte value. */
export const classes = new Uint8Array(256);
mark(`${letters}${letters.toUpperCase()}0123456789_-`, inToken | inName | inChain);
mark(".", inName | inChain);
mark(":~/+=|!%", inChain);
mark(letters + letters.toUpperCase(), isLetter);
for (let code = 0xc0; code <= 0xff; code++) classes[code] = inName;

function mark(characters: string, bits: number) {
  for (let i = 0; i < characters.length; i++) {
    const code = characters.charCodeAt(i);
    classes[code] = (classes[code] ?? 0) | bits;
  }
}

/** What a vendor's key may be made of: the characters of names and of base64, and `~`. */
export function isKeyCharacter(c: number): boolean {
  return ((classes[c] ?? 0) & inName) !== 0 || c === TILDE || c === PLUS || c === SLASH || c === EQUALS;
}

/** A table with 1 for each of some bytes. */
export function byteSet(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (let i = 0; i < characters.length; i++) table[characters.charCodeAt(i)] = 1;
  return table;
}

/** 1 for bytes that are part of a token. */
export const isTokenByte = classes.map((bits) => ((bits & inToken) === 0 ? 0 : 1));

const quotes = byteSet("\"'`");

export function isQuote(c: number): boolean {
  return quotes[c] === 1;
}

/** The place behind blanks and tabs, at most so many. */
export function skipBlanks(bytes: Uint8Array, from: number, most: number): number {
  let at = from;
  while (at < from + most && (bytes[at] === 0x20 || bytes[at] === 0x09)) at++;
  return at;
}

/** Runs a sticky pattern at a place; where it ends, or -1. */
export function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** What a sticky pattern matches at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
