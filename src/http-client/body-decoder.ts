/** Turns the pieces of a body into text. A piece may end anywhere, also within a character. */
export interface BodyDecoder {
  decode(bytes: Buffer, from: number, to: number): string;
  /** What is left when the body is over. */
  end(): string;
}

const none = Buffer.alloc(0);

/**
 * UTF-8, as the runtime's streaming `TextDecoder` reads it: a byte order mark at the start is dropped, what is not UTF-8
 * becomes U+FFFD. A third of its cost, because a piece that ends with a whole character needs no state.
 */
export class Utf8Decoder implements BodyDecoder {
  #partial: Buffer = none;
  #started = false;

  decode(bytes: Buffer, from: number, to: number): string {
    let start = from;
    let end = to;
    let source = bytes;
    if (this.#partial.length > 0) {
      source = Buffer.concat([this.#partial, bytes.subarray(from, to)]);
      start = 0;
      end = source.length;
    }
    const whole = end - incompleteTailLength(source, start, end);
    this.#partial = whole === end ? none : Buffer.from(source.subarray(whole, end));
    return this.#withoutByteOrderMark(source.toString("utf8", start, whole));
  }

  end(): string {
    const text = this.#partial.toString("utf8");
    this.#partial = none;
    return this.#withoutByteOrderMark(text);
  }

  #withoutByteOrderMark(text: string): string {
    if (this.#started || text === "") return text;
    this.#started = true;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}

/** One character a byte: for bodies that are not text yet. */
export const latin1Decoder: BodyDecoder = {
  decode: (bytes, from, to) => bytes.toString("latin1", from, to),
  end: () => "",
};

/** How many bytes at the end begin a character that is not whole yet. */
function incompleteTailLength(bytes: Buffer, from: number, to: number): number {
  const most = Math.min(3, to - from);
  for (let back = 1; back <= most; back++) {
    const byte = bytes[to - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}
