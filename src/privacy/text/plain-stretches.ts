/** Characters that are looked at one after the other where some are beyond ASCII. */
const blockLength = 2_048;

/** Whether a text of ASCII may hold something that does not stand for itself. */
export function mayHoldEscape(text: string): boolean {
  return anyEscape.test(text);
}

// The patterns take 13 µs for 100 KB of Latin-1 in one pass, a fourth of what a search for each of the characters takes.
const anyEscape = /[\\%\x1b\0]|&(?:#|quot;|amp;|lt;|gt;|apos;)|\[REDACTED:/;
/** One character long: a match ends right behind the place. */
const escapeStart = /[\\\x1b\0]|%(?=[0-9A-Fa-f]{2})|&(?=#|quot;|amp;|lt;|gt;|apos;|nbsp;)|\[(?=REDACTED:)/g;

/**
 * Finds stretches of a text that stand for themselves: ASCII without what begins an escape sequence. Native searches pass over a
 * text many times faster than a loop does. To be asked in ascending order, and about one text after the other.
 */
export class PlainStretches {
  readonly #text: string;
  readonly #narrow: string;
  readonly #isAscii: boolean;
  /** Where the next escape sequence may begin; the length of the text if none does. */
  #nextEscape = -1;
  #asciiTo = 0;

  /** @param narrow the text with any character of Latin-1 in the place of each beyond it: patterns read such a text faster */
  constructor(text: string, narrow: string, isAscii: boolean) {
    this.#text = text;
    this.#narrow = narrow;
    this.#isAscii = isAscii;
  }

  /** The end of the plain stretch that begins at a place. */
  endFrom(from: number): number {
    if (this.#nextEscape < from) {
      escapeStart.lastIndex = from;
      this.#nextEscape = escapeStart.test(this.#narrow) ? escapeStart.lastIndex - 1 : this.#text.length;
    }
    const end = this.#nextEscape;
    return this.#isAscii || end <= from ? end : this.#asciiEnd(from, end);
  }

  #asciiEnd(from: number, to: number): number {
    const text = this.#text;
    if (this.#asciiTo < from) this.#asciiTo = from;
    while (this.#asciiTo < to) {
      const block = text.slice(this.#asciiTo, this.#asciiTo + blockLength);
      if (Buffer.byteLength(block) === block.length) this.#asciiTo += block.length;
      else {
        // The foreign character is within the block.
        while (text.charCodeAt(this.#asciiTo) < 0x80) this.#asciiTo++;
        return Math.min(this.#asciiTo, to);
      }
    }
    return to;
  }
}
