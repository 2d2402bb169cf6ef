import { EQUALS, PLUS, SLASH } from "#privacy/text/bytes.ts";
import { classes, inToken } from "#privacy/text/characters.ts";

/** No vendor's token is longer; what follows is judged with its beginning. */
export const maxJudgedLength = 16_384;
/** What is judged of a token in a text in which most of what begins like one is none. */
const shortJudgedLength = 64;

/**
 * What was read of one text beyond the place that was looked at. A text of nothing but beginnings of tokens holds one every few
 * characters, and each may go on to the end of the text: what was read for one of them is not read again for the next.
 */
export class ReadAhead {
  readonly #tokens = new Stretch(false);
  readonly #base64 = new Stretch(true);
  /** Characters that may still be judged in full. */
  #judgedLeft: number;

  /** @param length of the text */
  constructor(length: number) {
    this.#judgedLeft = 4 * length + 4 * maxJudgedLength;
  }

  /**
   * Where the characters of a token that stand at a place end: no suffix of a token may stay behind, whatever its documented length.
   * @param base64 whether `+`, `/` and `=` belong to it
   */
  tokenEnd(bytes: Uint8Array, from: number, base64: boolean): number {
    return (base64 ? this.#base64 : this.#tokens).endFrom(bytes, from);
  }

  /** How much of a token of a length is to be judged. To be asked once for each. */
  judgedLength(length: number): number {
    const judged = Math.min(length, this.#judgedLeft > 0 ? maxJudgedLength : shortJudgedLength);
    this.#judgedLeft -= judged;
    return judged;
  }
}

/** The stretch of characters of a token that was read last. */
class Stretch {
  readonly #isPart: Uint8Array;
  #from = 0;
  #end = -1;

  constructor(base64: boolean) {
    this.#isPart = base64 ? isBase64Part : isTokenPart;
  }

  endFrom(bytes: Uint8Array, from: number): number {
    if (from >= this.#from && from <= this.#end) return this.#end;
    const isPart = this.#isPart;
    let end = from;
    while (isPart[bytes[end] ?? 0] === 1) end++;
    this.#from = from;
    this.#end = end;
    return end;
  }
}

/** 1 for bytes that are part of a token. */
const isTokenPart = classes.map((bits) => ((bits & inToken) === 0 ? 0 : 1));
const isBase64Part = isTokenPart.map((part, byte) => (byte === PLUS || byte === SLASH || byte === EQUALS ? 1 : part));
