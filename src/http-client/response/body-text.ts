import { nextOf, type Source } from "#platform/receiver.ts";

/** A body as text, read in pieces. The connection is paused while nobody reads. */
export interface TextReader extends Source<string> {
  /** The whole body has been read: the next read would bring nothing. */
  readonly ended: boolean;
}

/** Decodes a body piece by piece. A piece may end anywhere, also within a character. */
export interface BodyDecoder {
  decode(bytes: Buffer, from: number, to: number): string;
  /** The text of an incomplete character at the end of the body. */
  end(): string;
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
};

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

const formats: ReadonlyMap<string, "gzip" | "deflate" | "brotli" | "zstd"> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "brotli"],
  ["zstd", "zstd"],
]);

/**
 * The decompressed text of a body whose server ignored `Accept-Encoding: identity`; undefined for an unknown coding.
 * `body` returns one character for each byte. Reads reject with the decompressor's error when the data is malformed.
 */
export function decompressed(body: TextReader, coding: string): TextReader | undefined {
  const format = formats.get(coding);
  if (format === undefined) return undefined;
  const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = await nextOf(body);
        if (piece === undefined) controller.close();
        else controller.enqueue(Buffer.from(piece, "latin1"));
      },
    },
    { highWaterMark: 0 },
  );
  const text = bytes.pipeThrough(new DecompressionStream(format)).pipeThrough(new TextDecoderStream()).getReader();
  let ended = false;
  return {
    get ended() {
      return ended;
    },
    read(receiver) {
      text.read().then(
        ({ done, value }) => {
          ended = done;
          if (done) receiver.onEnd();
          else receiver.onValue(value);
        },
        (error) => receiver.onError(error),
      );
    },
  };
}
