import {
  AMPERSAND,
  BACKSLASH,
  COLON,
  ESC,
  HASH,
  HYPHEN,
  LF,
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
import { mayHoldEscape, PlainStretches } from "./plain-stretches.ts";
import { SourceOffsets } from "./source-offsets.ts";
import { COLOUR, foreignWordAt, homoglyphOf, isWordCharacter, latin1Of, maxExpansion, REDACTED } from "./unicode.ts";

/**
 * What the scanner reads instead of the text itself: the same text as bytes, without what hides or splits tokens. Escape sequences
 * of any depth, HTML entities and percent escapes that stand for punctuation are what they mean; zero-width characters and the
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
  /** At least `length` + 2 bytes, the two after the end 0. */
  readonly bytes: Buffer;
  /** The same bytes two by two, little-endian; `pairs[i]` holds bytes 2i and 2i + 1. */
  readonly pairs: Uint16Array;
  readonly length: number;
  /** Where each byte began in the text, for places up to `length`; undefined when both texts are the same. */
  readonly sourceOffsets: SourceOffsets | undefined;
  /** 1 at indices before which something invisible was dropped: boundaries for tokens, although their neighbours touch. */
  readonly hiddenBoundaries: Uint8Array | undefined;
}

const placeholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:\d{1,9}\]/y;

let bytes = Buffer.alloc(64 * 1_024);
let pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
const sharedOffsets = new SourceOffsets();
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

/** @param minStretch shortest plain stretch that is copied as a whole */
export function normalize(text: string, minStretch = usualMinStretch): NormalizedText {
  const isAscii = Buffer.byteLength(text) === text.length;
  if (isAscii && !mayHoldEscape(text)) {
    reserveBuffers(text.length);
    const length = bytes.write(text, "latin1");
    bytes[length] = 0;
    bytes[length + 1] = 0;
    return { source: text, text, bytes, pairs, length, sourceOffsets: undefined, hiddenBoundaries: undefined };
  }
  return normalizeEscaped(text, isAscii, minStretch);
}

/** A shorter stretch is copied character by character in less time than the search for its end takes. */
const usualMinStretch = 32;

function reserveBuffers(length: number) {
  if (bytes.length >= length + 4 && (bytes.length <= keptBufferLength || length >= keptBufferLength)) return;
  bytes = Buffer.alloc((Math.max(length + 4, 64 * 1_024) + 1) & ~1);
  pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one loop over characters; its branches share six variables
function normalizeEscaped(text: string, isAscii: boolean, minStretch: number): NormalizedText {
  const size = text.length;
  // Foreign key words may take more room than they have: only texts beyond Latin-1 have them.
  const room = isAscii ? size : size * maxExpansion;
  reserveBuffers(room);
  // The loop reads its buffers from constants: a module variable would be loaded anew for each byte.
  const into = bytes;
  const sourceOffsets = sharedOffsets;
  sourceOffsets.clear();
  let hiddenBoundaries: Uint8Array | undefined;
  const markBoundary = (at: number) => {
    hiddenBoundaries ??= clearedBoundaryMarks(room);
    hiddenBoundaries[at] = 1;
  };
  let length = 0;
  let i = 0;
  // Between `://` and the next `/` an escaped `@` or `:` is part of a password.
  let authority = false;
  let stretches: PlainStretches | undefined;
  if (size > minStretch) {
    // Stretches are moved within the buffer, which holds the text behind what has been written.
    into.write(text, "latin1");
    stretches = new PlainStretches(text, isAscii ? text : into.toString("latin1", 0, size), isAscii);
  }
  /** How far the text is read character by character before the next search for a plain stretch. */
  let pause = stretches === undefined ? size : 0;
  while (i < size) {
    const limit = Math.min(size, i + pause);
    while (i < limit) {
      const c = text.charCodeAt(i);
      sourceOffsets.note(length, i);
      if (c < 0x80 && c !== BACKSLASH && c !== PERCENT && c !== AMPERSAND && c !== ESC) {
        if (c === SLASH) authority = length > 1 && into[length - 1] === SLASH && into[length - 2] === COLON;
        else if (c <= QUESTION_MARK && (c <= HASH || c === SINGLE_QUOTE || c === QUESTION_MARK)) authority = false;
        else if (c === OPEN_BRACKET && text.charCodeAt(i + 1) === UPPER_R) {
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
      if (c === BACKSLASH) {
        if (isContinued(text, i) && length > 0) {
          markBoundary(length);
          i += 2;
          continue;
        }
        let end = readBackslashes(text, i, size);
        let code = escaped;
        if (code === COLOUR) {
          end = coloursEnd(text, end);
          if (isInsideWord(into, length, text.charCodeAt(end))) code = -1;
        }
        if (code >= 0) into[length++] = code;
        else markBoundary(length);
        i = end;
      } else if (c === PERCENT) {
        const value = percentEscape(text, i, authority);
        into[length++] = value < 0 ? c : value;
        i += value < 0 ? 1 : 3;
      } else if (c === AMPERSAND) {
        const match = entityAt(text, i);
        into[length++] = match === undefined ? c : match.code;
        i += match === undefined ? 1 : match.length;
      } else if (c === ESC) {
        i = coloursEnd(text, colourEnd(text, i + 1));
        if (isInsideWord(into, length, text.charCodeAt(i))) markBoundary(length);
        else into[length++] = COLOUR;
      } else {
        const word = foreignWordAt(text, i, c);
        if (word !== undefined) {
          for (let k = 1; k < word.replacement.length; k++) sourceOffsets.note(length + k, i);
          length += into.write(word.replacement, length, "latin1");
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
    if (stretches === undefined) break;
    const end = stretches.endFrom(i);
    pause = pauseAfter(end - i, pause, minStretch);
    if (end - i < minStretch) continue;
    sourceOffsets.note(length, i);
    // A word may have been replaced by a longer one.
    if (length > i) into.write(text.slice(i, end), length, "latin1");
    else if (length < i) into.copyWithin(length, i, end);
    authority = authorityAfter(into, length, length + end - i, authority);
    length += end - i;
    i = end;
  }
  sourceOffsets.note(length, size);
  into[length] = 0;
  into[length + 1] = 0;
  const normalized = into.toString("latin1", 0, length);
  return { source: text, text: normalized, bytes, pairs, length, sourceOffsets, hiddenBoundaries };
}

/** Where plain stretches are short, the next search for one comes later and later. */
function pauseAfter(stretch: number, before: number, minStretch: number): number {
  return stretch < minStretch
    ? Math.max(Math.ceil(minStretch / 4), Math.min(2 * before, 4 * minStretch))
    : Math.ceil(minStretch / 4);
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

/** A word of a shell that goes on in the next line. */
function isContinued(text: string, at: number): boolean {
  return (
    text.charCodeAt(at + 1) === LF &&
    ((classes[text.charCodeAt(at - 1)] ?? 0) & inToken) !== 0 &&
    ((classes[text.charCodeAt(at + 2)] ?? 0) & inToken) !== 0
  );
}

/** Whether a colour changes within a word, as where `grep` marks what it looked for. The dash of a removed line is no word. */
function isInsideWord(into: Uint8Array, length: number, next: number): boolean {
  const last = length > 0 ? (into[length - 1] ?? 0) : 0;
  if (!isWordCharacter(last) || !isWordCharacter(next)) return false;
  return last !== HYPHEN || (length > 1 && (into[length - 2] ?? 0) > SPACE);
}
