import type { TextReader, TextReadResult } from "#upstream/body.ts";

const formats: ReadonlyMap<string, "gzip" | "deflate" | "brotli" | "zstd"> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "brotli"],
  ["zstd", "zstd"],
]);

/**
 * The text of a body that came compressed although we declined that; undefined for a coding that is not known. `body` gives
 * one character for each byte. Reads fail with the decompressor's error when it is not what it says it is.
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
