/** Characters that are looked at one after the other where some are beyond ASCII. */
const blockLength = 2_048;

/**
 * Finds stretches of a text that stand for themselves: ASCII without what begins an escape sequence. Native searches pass over a
 * text many times faster than a loop does. To be asked in ascending order.
 */
export class PlainStretches {
  readonly #text: string;
  readonly #marks: readonly string[];
  /** Where each mark stands next; the length of the text if it does not. */
  readonly #next: number[];
  readonly #isAscii: boolean;
  #asciiTo = 0;

  constructor(text: string, isAscii: boolean, placeholders: boolean) {
    this.#text = text;
    this.#isAscii = isAscii;
    this.#marks = ["\\", "%", "&", "\x1b", ...(placeholders ? ["["] : [])];
    this.#next = this.#marks.map(() => -1);
  }

  /** The end of the plain stretch that begins at a place. */
  endFrom(from: number): number {
    const text = this.#text;
    let end = text.length;
    for (const [index, mark] of this.#marks.entries()) {
      let next = this.#next[index] ?? -1;
      if (next < from) {
        next = text.indexOf(mark, from);
        if (next < 0) next = text.length;
        this.#next[index] = next;
      }
      if (next < end) end = next;
    }
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
