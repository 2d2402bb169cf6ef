import type { TextReader, TextReadResult } from "./text-reader.ts";

const formats: ReadonlyMap<string, "gzip" | "deflate" | "brotli" | "zstd"> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "brotli"],
  ["zstd", "zstd"],
]);

/**
 * The decompressed text of a body whose server ignored `Accept-Encoding: identity`; undefined for an unknown coding. `body`
 * returns one character for each byte. Reads reject with the decompressor's error when the data is malformed.
 */
export function decompressed(body: TextReader, coding: string): TextReader | undefined {
  const format = formats.get(coding);
  if (format === undefined) return undefined;
  const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const read = await body.read();
        if (read.done) controller.close();
        else controller.enqueue(Buffer.from(read.value, "latin1"));
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
    async read(): Promise<TextReadResult> {
      const { done, value } = await text.read();
      ended = done;
      return done ? { done } : { done, value };
    },
  };
}
