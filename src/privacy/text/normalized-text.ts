import type { TextMemory } from "#privacy/passes/text-memory.ts";
import {
  AMPERSAND,
  BACKSLASH,
  COLON,
  ESC,
  HASH,
  HYPHEN,
  LF,
  NUL,
  OPEN_BRACKET,
  PERCENT,
  QUESTION_MARK,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  UPPER_R,
} from "./bytes.ts";
import { classes, inToken } from "./characters.ts";
import { colourEnd, coloursEnd, entityAt, escaped, percentEscape, readBackslashes } from "./escapes.ts";
import { NormalizedOutput } from "./normalized-output.ts";
import { mayHoldEscape, PlainStretches } from "./plain-stretches.ts";
import type { SourceOffsets } from "./source-offsets.ts";
import { COLOUR, foreignWordAt, homoglyphOf, isWordCharacter, latin1Of, maxExpansion, REDACTED } from "./unicode.ts";

/**
 * What the scanner reads instead of the text itself: the same text as bytes, without what hides or splits tokens. Escape sequences
 * of any depth, HTML entities and percent escapes that stand for punctuation are what they mean; characters without width, NULs and the
 * colours that a terminal gives a part of a word are removed; other colours are boundaries, and so are the letters beyond Latin-1, but
 * for one or two that look like Latin ones beside such. Only used to find things: what is replaced is the text.
 *
 * The bytes are in one buffer that every scan reuses, so a normalized text is valid until the next one is made.
 */
export interface NormalizedText {
  /** The text as it was handed in. */
  readonly source: string;
  /** ISO-8859-1; as long as `length`. */
  readonly text: string;
  /** More than `length` bytes, those after the end 0. */
  readonly bytes: Buffer;
  /** The same bytes two by two, little-endian; `pairs[i]` holds bytes 2i and 2i + 1. */
  readonly pairs: Uint16Array;
  readonly length: number;
  /** Where the bytes are, of a text that is long enough for passes of WebAssembly. */
  readonly memory: TextMemory | undefined;
  /** Where each byte began in the text, for places up to `length`; undefined when both texts are the same. */
  readonly sourceOffsets: SourceOffsets | undefined;
  /** 1 at indices before which something invisible was dropped: boundaries for tokens, although their neighbours touch. */
  readonly hiddenBoundaries: Uint8Array | undefined;
}

const output = new NormalizedOutput();

/** A shorter stretch is copied character by character in less time than the search for its end takes. */
const usualMinStretch = 32;

/** @param minStretch shortest plain stretch that is copied as a whole */
export function normalize(text: string, minStretch = usualMinStretch): NormalizedText {
  const isAscii = Buffer.byteLength(text) === text.length;
  return isAscii && !mayHoldEscape(text) ? copyPlain(text) : normalizeEscaped(text, isAscii, minStretch);
}

function copyPlain(text: string): NormalizedText {
  output.begin(text.length);
  output.length = output.bytes.write(text, "latin1");
  output.end();
  const { bytes, pairs, length } = output;
  const memory = memoryFor(length);
  return { source: text, text, bytes, pairs, length, memory, sourceOffsets: undefined, hiddenBoundaries: undefined };
}

function normalizeEscaped(source: string, isAscii: boolean, minStretch: number): NormalizedText {
  // Foreign key words may take more room than they have: only texts beyond Latin-1 have them.
  output.begin(isAscii ? source.length : source.length * maxExpansion);
  if (source.length > minStretch) copyInStretches(source, isAscii, minStretch);
  else copyCharacters(source, 0, source.length);
  const { bytes, pairs, length, sourceOffsets, hiddenBoundaries } = output;
  output.end();
  const text = bytes.toString("latin1", 0, length);
  return { source, text, bytes, pairs, length, memory: memoryFor(length), sourceOffsets, hiddenBoundaries };
}

/** A shorter text is read in less time without. */
const minPassedLength = 192;

function memoryFor(length: number): TextMemory | undefined {
  return length < minPassedLength ? undefined : output.memory;
}

/** Copies plain stretches as a whole, and what is between them character by character. */
function copyInStretches(text: string, isAscii: boolean, minStretch: number): void {
  const { bytes } = output;
  // Stretches are moved within the buffer, which holds the text behind what has been written.
  bytes.write(text, "latin1");
  const stretches = new PlainStretches(text, isAscii ? text : bytes.toString("latin1", 0, text.length), isAscii);
  let i = 0;
  /** How far the text is read character by character before the next search for a plain stretch. */
  let pause = 0;
  while (i < text.length) {
    i = copyCharacters(text, i, Math.min(text.length, i + pause));
    const end = stretches.endFrom(i);
    pause = pauseAfter(end - i, pause, minStretch);
    if (end - i < minStretch) continue;
    copyStretch(text, i, end);
    i = end;
  }
}

/** Where plain stretches are short, the next search for one comes later and later. */
function pauseAfter(stretch: number, before: number, minStretch: number): number {
  return stretch < minStretch
    ? Math.max(Math.ceil(minStretch / 4), Math.min(2 * before, 4 * minStretch))
    : Math.ceil(minStretch / 4);
}

function copyStretch(text: string, from: number, to: number): void {
  const { bytes, length } = output;
  // A word may have been replaced by a longer one.
  if (length > from) bytes.write(text.slice(from, to), length, "latin1");
  else if (length < from) bytes.copyWithin(length, from, to);
  output.length = length + to - from;
  output.isInAuthority = authorityAfter(bytes, length, output.length, output.isInAuthority);
}

/** Whether the end of a stretch that was copied stands in an authority, as the loop over its characters would know it. */
function authorityAfter(into: Uint8Array, from: number, to: number, before: boolean): boolean {
  for (let at = to - 1; at >= from; at--) {
    const c = into[at] ?? 0;
    if (c === SLASH) return at > 1 && into[at - 1] === SLASH && into[at - 2] === COLON;
    if (c <= HASH || c === SINGLE_QUOTE || c === QUESTION_MARK) return false;
  }
  return before;
}

/**
 * Copies ASCII that stands for itself, and replaces all else. The loop reads the fields of the output from variables: they would be
 * loaded anew for each byte. Source offsets are noted at the beginning and behind each replacement: elsewhere both advance in step.
 * @returns where reading goes on: `to`, or the end of an escape sequence that crosses it
 */
function copyCharacters(text: string, from: number, to: number): number {
  const { bytes, sourceOffsets } = output;
  let { length, isInAuthority } = output;
  let i = from;
  sourceOffsets.note(length, i);
  while (i < to) {
    const c = text.charCodeAt(i);
    if (c < 0x80 && c !== BACKSLASH && c !== PERCENT && c !== AMPERSAND && c !== ESC && c !== NUL) {
      if (c === SLASH) isInAuthority = length > 1 && bytes[length - 1] === SLASH && bytes[length - 2] === COLON;
      else if (c <= QUESTION_MARK && (c <= HASH || c === SINGLE_QUOTE || c === QUESTION_MARK)) isInAuthority = false;
      else if (c === OPEN_BRACKET && text.charCodeAt(i + 1) === UPPER_R) {
        placeholder.lastIndex = i;
        if (placeholder.test(text)) {
          bytes[length++] = REDACTED;
          i = placeholder.lastIndex;
          sourceOffsets.note(length, i);
          continue;
        }
      }
      bytes[length++] = c;
      i++;
    } else {
      output.length = length;
      if (c === BACKSLASH) i = writeBackslashes(text, i);
      else if (c >= 0x80) i = writeBeyondAscii(text, i, c);
      else i = writeEscape(text, i, c, isInAuthority);
      length = output.length;
      sourceOffsets.note(length, i);
    }
  }
  output.length = length;
  output.isInAuthority = isInAuthority;
  return i;
}

const placeholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:\d{1,9}\]/y;

/** Writes what begins with `%`, `&` or the escape character, or leaves out a NUL. @returns where reading goes on */
function writeEscape(text: string, at: number, c: number, isInAuthority: boolean): number {
  if (c === NUL) {
    // UTF-16 that was read as UTF-8 has one behind each letter.
    output.markBoundary();
    return at + 1;
  }
  if (c === PERCENT) {
    const value = percentEscape(text, at, isInAuthority);
    write(value < 0 ? c : value);
    return at + (value < 0 ? 1 : 3);
  }
  if (c === AMPERSAND) {
    const match = entityAt(text, at);
    const code = match === undefined ? c : match.code;
    if (code >= 0) write(code);
    else output.markBoundary();
    return at + (match === undefined ? 1 : match.length);
  }
  const end = coloursEnd(text, colourEnd(text, at + 1));
  if (isInsideWord(text.charCodeAt(end))) output.markBoundary();
  else write(COLOUR);
  return end;
}

function write(c: number): void {
  output.bytes[output.length++] = c;
}

function writeBackslashes(text: string, at: number): number {
  if (output.length > 0 && isContinued(text, at)) {
    output.markBoundary();
    return at + 2;
  }
  let end = readBackslashes(text, at, text.length);
  let code = escaped;
  if (code === COLOUR) {
    end = coloursEnd(text, end);
    if (isInsideWord(text.charCodeAt(end))) code = -1;
  }
  if (code >= 0) write(code);
  else output.markBoundary();
  return end;
}

/** A key word of another script, a letter that looks like a Latin one, or a character that ISO-8859-1 may have. */
function writeBeyondAscii(text: string, at: number, c: number): number {
  const foreign = foreignWordAt(text, at, c);
  if (foreign !== undefined) {
    const { word, replacement } = foreign;
    for (let k = 1; k < replacement.length; k++) output.sourceOffsets.note(output.length + k, at);
    output.length += output.bytes.write(replacement, output.length, "latin1");
    return at + word.length;
  }
  const latin = homoglyphOf(text, at, c);
  const point = c >= 0xd800 && c <= 0xdbff ? (text.codePointAt(at) ?? c) : c;
  const code = latin > 0 ? latin : latin1Of(point);
  // What stands beside a letter that only looks like one may as well begin or end there.
  if (latin > 0 || code < 0) output.markBoundary();
  if (code >= 0) write(code);
  if (latin > 0) output.markBoundary();
  return code < 0 && point > 0xffff ? at + 2 : at + 1;
}

/** A word of a shell that goes on in the next line. */
function isContinued(text: string, at: number): boolean {
  return (
    text.charCodeAt(at + 1) === LF &&
    ((classes[text.charCodeAt(at - 1)] ?? 0) & inToken) !== 0 &&
    ((classes[text.charCodeAt(at + 2)] ?? 0) & inToken) !== 0
  );
}

/** Whether a colour changes within a word, as where `grep` marks what it looked for. The dash of a removed line is no word. */
function isInsideWord(next: number): boolean {
  const { bytes, length } = output;
  const last = length > 0 ? (bytes[length - 1] ?? 0) : 0;
  if (!isWordCharacter(last) || !isWordCharacter(next)) return false;
  return last !== HYPHEN || (length > 1 && (bytes[length - 2] ?? 0) > SPACE);
}
