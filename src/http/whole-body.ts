/**
 * Up to about 15 KiB the runtime sends head and body of a response together. Of a longer one it sends each piece of the head by itself,
 * four for a header: some sixty system calls and packets.
 */
const sentTogether = 15_000;
/** Longer bodies are not copied once more for it. */
const maxCopied = 1_048_576;
/** Most bytes of a UTF-16 unit in UTF-8. */
const maxBytesPerUnit = 3;

/**
 * The body of a response whose text is known, in the form that leaves in one piece with its head. The parts of a long text are
 * written one by one: joining them would copy it.
 */
export function wholeBody(body: string | Uint8Array | readonly string[]): string | Uint8Array | ReadableStream {
  if (body instanceof Uint8Array) return leavesWhole(body.length) ? body : streamOf([body], body.length);
  const isText = typeof body === "string";
  const parts = isText ? [body] : body;
  let units = 0;
  for (const part of parts) units += part.length;
  if (units * maxBytesPerUnit > sentTogether) {
    let length = 0;
    for (const part of parts) length += Buffer.byteLength(part);
    if (!leavesWhole(length)) return streamOf(parts, length);
  }
  return isText ? body : body.join("");
}

/** Whether the runtime sends head and body of so many bytes together, or else copying the body would cost more than the sends. */
function leavesWhole(bytes: number): boolean {
  return bytes <= sentTogether || bytes > maxCopied;
}

/** What is written to a direct stream and fits below its mark is sent when it closes, with its length in the head. */
function streamOf(parts: readonly (string | Uint8Array)[], length: number): ReadableStream {
  return new ReadableStream(
    {
      type: "direct",
      pull(sink: ReadableStreamDirectController) {
        for (const part of parts) void sink.write(part);
        sink.close();
      },
    },
    { highWaterMark: length + 1 },
  );
}
