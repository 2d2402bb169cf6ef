/** A text in which no character takes more than a byte: patterns read it three to ten times as fast. */
export interface OneByteText {
  readonly text: string;
  /** Whether characters beyond Latin-1 had to be replaced, each by one of `replacements`. */
  readonly isChanged: boolean;
}

/** What stands for characters beyond Latin-1: one that is no letter, digit or white space, and one that is white space. */
export const replacements = ["\u00a4", "\u00a0"] as const;

/** Shorter texts are read as fast as they are copied. */
const minLength = 1_024;
const usualLength = 16_384;
const maxLength = 131_072;
const maxBytesPerCharacter = 3;
/** A block of ASCII is passed over by a native search. */
const blockLength = 1_024;
const lastOneByte = 0xff;
const [replacement, noBreakSpace] = replacements.map((character) => character.charCodeAt(0)) as [number, number]; // two of them
const lineSeparator = 0x2028;
const paragraphSeparator = 0x2029;

const encoder = new TextEncoder();
/** Reused by all texts. */
let buffer = Buffer.alloc(0);

/**
 * The text with one byte a character, character by character at the same places. One character beyond Latin-1 makes the runtime keep two
 * bytes for each character of a text, of all that is cut out of it, and of all other strings of a JSON text; nothing tells which it keeps.
 * For patterns that name no character beyond Latin-1 both texts are the same. Undefined for texts that are short or very long, and for those
 * with a line end beyond Latin-1, which no other character stands for.
 */
export function oneByteText(text: string): OneByteText | undefined {
  const { length } = text;
  if (length < minLength || length > maxLength) return undefined;
  if (writeUtf8(text) === length) return { text: buffer.toString("latin1", 0, length), isChanged: false };
  buffer.write(text, 0, length, "latin1");
  let isChanged = false;
  for (let from = 0; from < length; from += blockLength) {
    const block = text.slice(from, from + blockLength);
    if (Buffer.byteLength(block) === block.length) continue;
    for (let at = 0; at < block.length; at++) {
      const code = block.charCodeAt(at);
      if (code <= lastOneByte) continue;
      if (code === lineSeparator || code === paragraphSeparator) return undefined;
      buffer[from + at] = isWhiteSpace(code) ? noBreakSpace : replacement;
      isChanged = true;
    }
  }
  return { text: buffer.toString("latin1", 0, length), isChanged };
}

/** Whether a pattern matches that is ASCII and matches nothing else: looked for in the UTF-8 of the text, where nothing else looks like ASCII. */
export function holdsAscii(text: string, pattern: RegExp): boolean {
  const { length } = text;
  if (length < minLength || length > maxLength) return pattern.test(text);
  const written = writeUtf8(text);
  return pattern.test(written === length ? text : buffer.toString("latin1", 0, written));
}

/** Writes all of a text into the buffer. @returns how many bytes it takes; as many as it has characters only if it is ASCII */
function writeUtf8(text: string): number {
  if (buffer.length < maxBytesPerCharacter * text.length)
    buffer = Buffer.alloc(maxBytesPerCharacter * (text.length <= usualLength ? usualLength : maxLength));
  return encoder.encodeInto(text, buffer).written;
}

/** What `\s` matches beyond Latin-1, but for line ends. */
function isWhiteSpace(code: number): boolean {
  if (code < 0x2000) return code === 0x1680;
  return code <= 0x200a || code === 0x202f || code === 0x205f || code === 0x3000 || code === 0xfeff;
}
