/** Decodes a body piece by piece. A piece may end anywhere, also within a character. */
export interface BodyDecoder {
  decode(bytes: Buffer, from: number, to: number): string;
  /** The text of an incomplete character at the end of the body. */
  end(): string;
  /** A piece that ends with a whole character is the same text without this decoder: see `wholeText`. */
  readonly hasNoState: boolean;
}

const BYTE_ORDER_MARK = 0xfeff;
/** Lead bytes of UTF-8 sequences start here; bytes from 0x80 below it are continuation bytes. */
const LEAD_BYTE = 0xc0;
const ASCII_END = 0x80;
const LEAD_OF_THREE = 0xe0;
const LEAD_OF_FOUR = 0xf0;

const none = Buffer.alloc(0);

/**
 * UTF-8, decoded as by the runtime's streaming `TextDecoder`: a byte order mark at the start is dropped, invalid bytes
 * become U+FFFD. A third of its cost, because a piece that ends with a complete character needs no state.
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

  get hasNoState(): boolean {
    return this.#started && this.#partial.length === 0;
  }

  #withoutByteOrderMark(text: string): string {
    if (this.#started || text === "") return text;
    this.#started = true;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }
}

/** One character for each byte: for compressed bodies. */
export const latin1Decoder: BodyDecoder = {
  decode: (bytes, from, to) => bytes.toString("latin1", from, to),
  end: () => "",
  hasNoState: false,
};

/** The text of a piece of UTF-8, behind whole characters, that ends with a whole character too; undefined for other pieces. */
export function wholeText(bytes: Buffer, from: number, to: number): string | undefined {
  return incompleteTailLength(bytes, from, to) === 0 ? bytes.toString("utf8", from, to) : undefined;
}

/** Length in bytes of an incomplete UTF-8 sequence at the end. */
function incompleteTailLength(bytes: Buffer, from: number, to: number): number {
  const most = Math.min(3, to - from);
  for (let back = 1; back <= most; back++) {
    const byte = bytes[to - back] ?? 0;
    if (byte < ASCII_END) return 0;
    if (byte >= LEAD_BYTE) {
      const length = byte >= LEAD_OF_FOUR ? 4 : byte >= LEAD_OF_THREE ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}
