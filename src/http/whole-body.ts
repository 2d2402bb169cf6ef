/**
 * Up to about 15 KiB the runtime sends head and body of a response together. Of a longer one it sends each piece of the
 * head by itself, four for a header: some sixty system calls and packets.
 */
const sentTogether = 15_000;
/** Longer bodies are not copied once more for it. */
const maxCopied = 1_048_576;
/** Most bytes of a UTF-16 unit in UTF-8. */
const maxBytesPerUnit = 3;

/** The body of a response whose text is known, in the form that leaves in one piece with its head. */
export function wholeBody(text: string): string | ReadableStream {
  if (text.length * maxBytesPerUnit <= sentTogether) return text;
  const length = Buffer.byteLength(text);
  if (length <= sentTogether || length > maxCopied) return text;
  // What is written to a direct stream and fits below its mark is sent when it closes, with its length in the head.
  return new ReadableStream(
    {
      type: "direct",
      pull(sink: ReadableStreamDirectController) {
        void sink.write(text);
        sink.close();
      },
    },
    { highWaterMark: length + 1 },
  );
}
