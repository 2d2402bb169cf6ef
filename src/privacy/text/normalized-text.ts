import { classes, inToken } from "./characters.ts";

/**
 * What the scanner reads instead of the text itself: the same text as bytes, without what hides or splits tokens. Escape sequences
 * of any depth, HTML entities and percent escapes that stand for punctuation are what they mean; zero-width characters and the
 * colours that a terminal gives a part of a word are gone; other colours are boundaries, and so are the letters beyond Latin-1, but
 * for one or two that look like Latin ones beside such. Only used to find things: what is replaced is the text.
 *
 * The bytes live in one buffer that is reused by every scan, so a view is valid until the next one is made.
 */
export interface NormalizedText {
  /** The text as it was handed in. */
  readonly source: string;
  /** ISO-8859-1; as long as `length`. */
  readonly text: string;
  /** At least `length` + 2 bytes, the two after the end 0. */
  readonly bytes: Buffer;
  /** The same bytes two by two, little-endian; `pairs[i]` holds bytes 2i and 2i + 1. */
  readonly pairs: Uint16Array;
  readonly length: number;
  /** Where the byte at `i` began in the text, for 0 ≤ i ≤ length; undefined when view and text are the same. */
  readonly sourceOffsets: Int32Array | undefined;
  /** 1 at indices before which something invisible was dropped: boundaries for tokens, although their neighbours touch. */
  readonly hiddenBoundaries: Uint8Array | undefined;
}

const placeholderStart = "[REDACTED:";
const placeholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:\d{1,9}\]/y;

/** Stands for characters that are no part of any token. */
export const BOUNDARY = 1;
/** Stands for a placeholder that is in the text already: nothing is read across it. */
const REDACTED = 3;
/** Stands for a change of a terminal's colours. */
export const COLOUR = 2;

let bytes = Buffer.alloc(64 * 1_024);
let pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
let offsetsBuffer = new Int32Array(0);
/** Buffers above this size are given back after use. */
const keptBufferLength = 8 * 1_048_576;

let boundaryMarks = new Uint8Array(0);

/** Marks for a text of a length, none set. */
function clearedBoundaryMarks(length: number): Uint8Array {
  if (boundaryMarks.length < length + 1 || boundaryMarks.length > keptBufferLength)
    boundaryMarks = new Uint8Array(length + 16_384);
  else boundaryMarks.fill(0, 0, length + 1);
  return boundaryMarks;
}

export function normalize(text: string): NormalizedText {
  if (isPlain(text)) {
    reserveBuffers(text.length);
    const length = bytes.write(text, "latin1");
    bytes[length] = 0;
    bytes[length + 1] = 0;
    return { source: text, text, bytes, pairs, length, sourceOffsets: undefined, hiddenBoundaries: undefined };
  }
  return normalizeEscaped(text);
}

function reserveBuffers(length: number) {
  if (bytes.length >= length + 4 && (bytes.length <= keptBufferLength || length >= keptBufferLength)) return;
  bytes = Buffer.alloc((Math.max(length + 4, 64 * 1_024) + 1) & ~1);
  pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}

function isPlain(text: string): boolean {
  // Each of these runs at memory speed; together they spare nearly every text the loop below.
  return (
    Buffer.byteLength(text) === text.length &&
    !text.includes("\\") &&
    !text.includes("%") &&
    !text.includes("\x1b") &&
    !text.includes(placeholderStart) &&
    !(text.includes("&") && /&(?:#|quot;|amp;|lt;|gt;|apos;)/.test(text))
  );
}

function normalizeEscaped(text: string): NormalizedText {
  const size = text.length;
  // Foreign key words may take more room than they have: only texts beyond Latin-1 have them.
  const room = Buffer.byteLength(text) === size ? size : size * maxExpansion;
  reserveBuffers(room);
  if (offsetsBuffer.length < room + 1 || (offsetsBuffer.length > keptBufferLength && room < keptBufferLength))
    offsetsBuffer = new Int32Array(room + 1 + 16_384);
  const placeholders = text.includes(placeholderStart);
  // The loop reads its buffers from constants: a module variable would be loaded anew for each byte.
  const into = bytes;
  const sourceOffsets = offsetsBuffer;
  let hiddenBoundaries: Uint8Array | undefined;
  const markBoundary = (at: number) => {
    hiddenBoundaries ??= clearedBoundaryMarks(room);
    hiddenBoundaries[at] = 1;
  };
  let length = 0;
  let i = 0;
  // Between `://` and the next `/` an escaped `@` or `:` is part of a password.
  let authority = false;
  while (i < size) {
    const c = text.charCodeAt(i);
    sourceOffsets[length] = i;
    if (c < 0x80 && c !== 0x5c && c !== 0x25 && c !== 0x26 && c !== 0x1b) {
      if (c === 0x2f) authority = length > 1 && into[length - 1] === 0x2f && into[length - 2] === 0x3a;
      else if (c <= 0x3f && (c <= 0x23 || c === 0x27 || c === 0x3f)) authority = false;
      else if (c === 0x5b && placeholders) {
        placeholder.lastIndex = i;
        if (placeholder.test(text)) {
          into[length++] = REDACTED;
          i = placeholder.lastIndex;
          continue;
        }
      }
      into[length++] = c;
      i++;
      continue;
    }
    if (c === 0x5c) {
      if (isContinued(text, i) && length > 0) {
        markBoundary(length);
        i += 2;
        continue;
      }
      let end = readBackslashes(text, i, size);
      if (escaped === COLOUR) {
        end = coloursEnd(text, end);
        if (isInsideWord(into, length, text.charCodeAt(end))) escaped = -1;
      }
      if (escaped >= 0) into[length++] = escaped;
      else markBoundary(length);
      i = end;
    } else if (c === 0x25) {
      const value = hexValue(text, i + 1, 2);
      if (isUnreserved(value) || (!authority && isPunctuation(value))) {
        into[length++] = value;
        i += 3;
      } else {
        into[length++] = c;
        i++;
      }
    } else if (c === 0x26) {
      const match = entityAt(text, i);
      into[length++] = match === undefined ? c : match.code;
      i += match === undefined ? 1 : match.length;
    } else if (c === 0x1b) {
      i = coloursEnd(text, colourEnd(text, i + 1));
      if (isInsideWord(into, length, text.charCodeAt(i))) markBoundary(length);
      else into[length++] = COLOUR;
    } else {
      const word = foreignWordAt(text, i, c);
      if (word !== undefined) {
        for (let k = 0; k < word.replacement.length; k++) {
          sourceOffsets[length] = i;
          into[length++] = word.replacement.charCodeAt(k);
        }
        i += word.word.length;
        continue;
      }
      const latin = homoglyphOf(text, i, c);
      const plain = latin > 0 ? latin : latin1Of(c);
      // What stands beside a letter that only looks like one may as well begin or end there.
      if (latin > 0 || plain < 0) markBoundary(length);
      if (plain >= 0) into[length++] = plain;
      if (latin > 0) markBoundary(length);
      i++;
    }
  }
  sourceOffsets[length] = size;
  into[length] = 0;
  into[length + 1] = 0;
  return {
    source: text,
    text: into.toString("latin1", 0, length),
    bytes,
    pairs,
    length,
    sourceOffsets,
    hiddenBoundaries,
  };
}

/** A word of a shell that goes on in the next line. */
function isContinued(text: string, at: number): boolean {
  return (
    text.charCodeAt(at + 1) === 0x0a &&
    ((classes[text.charCodeAt(at - 1)] ?? 0) & inToken) !== 0 &&
    ((classes[text.charCodeAt(at + 2)] ?? 0) & inToken) !== 0
  );
}

/** What the last escape sequence stood for; -1 for nothing visible. */
let escaped = -1;

/** Reads a run of backslashes and what it escapes, however often it was escaped; the end goes to the caller, the byte to `escaped`. */
function readBackslashes(text: string, start: number, size: number): number {
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
function colourEnd(text: string, at: number): number {
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
function coloursEnd(text: string, from: number): number {
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

/** Whether a colour changes within a word, as where `grep` marks what it looked for. The dash of a removed line is no word. */
function isInsideWord(into: Uint8Array, length: number, next: number): boolean {
  const last = length > 0 ? (into[length - 1] ?? 0) : 0;
  if (!isWordCharacter(last) || !isWordCharacter(next)) return false;
  return last !== 0x2d || (length > 1 && (into[length - 2] ?? 0) > 0x20);
}

function isWordCharacter(c: number): boolean {
  return c < 0x80 && (((classes[c] ?? 0) & inToken) !== 0 || c === 0x2e || c === 0x2b || c === 0x2f);
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

function entityAt(text: string, at: number): { code: number; length: number } | undefined {
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

interface ForeignWord {
  readonly word: string;
  readonly replacement: string;
}

/** Key words in scripts the view cannot hold, by their first character, and what stands for them. */
const foreignWords = new Map<number, ForeignWord[]>();
for (const [replacement, words] of [
  [
    "pwd is ",
    "비밀번호는 비밀번호은 암호는 密码_ 密碼_ パスワード_ пароль_ Пароль_ паролем_ पासवर्ड_ रหัสผ่านคือ_ รหัสผ่านคือ",
  ],
  [
    "_pwd",
    "密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 пароль Пароль ПАРОЛЬ пароля парола Парола лозинка Лозинка κωδικός Κωδικός κωδικό_πρόσβασης סיסמה הסיסמה سر كلمة_المرور كلمة_السر رمز_عبور رمز_العبور رمز_ورود گذرواژه पासवर्ड कूटशब्द รหัสผ่าน ật_khẩu ẬT_KHẨU şifre Şifre şifresi Şifresi ŞİFRE",
  ],
  ["_secret", "密钥 密鑰 秘钥 秘密鍵 シークレット 비밀키 секрет секретный_ключ"],
  ["_token", "令牌 トークン 토큰 токен Токен"],
  ["_key", "キー"],
  [" is ", "是 为 為 は 는 은 είναι היא הוא هي هو это является คือ là है"],
] as const) {
  for (const word of words.split(" ")) {
    const spelled = word.replaceAll("_", " ");
    const first = spelled.charCodeAt(0);
    if (first >= 0x80) foreignWords.set(first, [...(foreignWords.get(first) ?? []), { word: spelled, replacement }]);
  }
}
/** No word's stand-in is longer than this many times the word. */
const maxExpansion = 4;

function foreignWordAt(text: string, at: number, first: number): ForeignWord | undefined {
  return foreignWords.get(first)?.find(({ word }) => text.startsWith(word, at));
}

/** Letters that look like Latin ones, by their code. */
const homoglyphs = new Map<number, number>();
for (const [letters, latin] of [
  ["аеорсухѕіјԁһкѵԛԝӏҮАВЕКМНОРСТХУЅІЈԌԚԜ", "aeopcyxsijdhkvqwlYABEKMHOPCTXYSIJGQW"],
  ["οανικρυτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oavikputxABEZHIKMNOPTYX"],
  ["ɡɑ", "ga"],
] as const)
  for (const [i, letter] of [...letters].entries()) homoglyphs.set(letter.charCodeAt(0), latin.charCodeAt(i));
/** Most of them in a row: more are a word of another language. */
const maxHomoglyphs = 3;

/** The Latin letter that a letter of another script stands for in a word of Latin ones; 0 for none. */
function homoglyphOf(text: string, at: number, c: number): number {
  if (c < 0x251 || c > 0x51d) return 0;
  const latin = homoglyphs.get(c);
  if (latin === undefined) return 0;
  let from = at;
  while (from > at - maxHomoglyphs && homoglyphs.has(text.charCodeAt(from - 1))) from--;
  let to = at + 1;
  while (to < at + maxHomoglyphs && homoglyphs.has(text.charCodeAt(to))) to++;
  if (to - from > maxHomoglyphs) return 0;
  const [before, behind] = [text.charCodeAt(from - 1), text.charCodeAt(to)];
  // Other letters of its script on either side: it is one of them.
  if (isNonLatinLetter(before) || isNonLatinLetter(behind)) return 0;
  return isWordCharacter(before) || isWordCharacter(behind) ? latin : 0;
}

function isNonLatinLetter(c: number): boolean {
  return c >= 0x250 && c <= 0x58f;
}

/** The byte for a character beyond ASCII; -1 for one that cannot be seen. */
function latin1Of(code: number): number {
  if (code === 0xa0 || code === 0x3000 || (code >= 0x2000 && code <= 0x200a) || code === 0x202f || code === 0x2028)
    return 0x20;
  if (code === 0xad || (code >= 0x200b && code <= 0x200f) || (code >= 0x2060 && code <= 0x2064) || code === 0xfeff)
    return -1;
  if (code >= 0xfe00 && code <= 0xfe0f) return -1;
  if (code >= 0xff01 && code <= 0xff5e) return code - 0xfee0; // full-width forms
  if (code === 0x201c || code === 0x201d || code === 0x201e || code === 0xab || code === 0xbb) return 0x22;
  if (code >= 0x300a && code <= 0x300f) return 0x22; // 《 》 「 」 『 』
  if (code === 0x2192 || code === 0x21d2 || code === 0x2794 || code === 0x27a1) return 0x3d; // arrows
  if (code === 0x142 || code === 0x141) return 0xb3; // ł, where ISO-8859-2 has it
  if (code === 0x2018 || code === 0x2019 || code === 0x201a) return 0x27;
  if ((code >= 0x2010 && code <= 0x2015) || code === 0x2212) return 0x2d;
  return code >= 0xc0 && code <= 0xff ? code : BOUNDARY;
}
