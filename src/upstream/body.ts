import type { Attempt } from "./attempt.ts";

export type Body = NonNullable<Response["body"]>;
/** What `getReader()` gives, as far as it is used here. */
export interface ByteReader {
  read(): Promise<{ done: true; value?: Uint8Array | undefined } | { done: false; value: Uint8Array }>;
}

/** What one read of decoded text gives, as far as it is used here. */
export type TextRead = { done: true; value?: string | undefined } | { done: false; value: string };
export interface TextReader {
  read(): Promise<TextRead>;
}
export type TextBody = ReturnType<Response["textStream"]>;

/** A body read whole; `too_large` when it passed the bound, with what had come so far. */
export interface WholeBody {
  readonly kind: "whole" | "too_large";
  readonly text: string;
}

/**
 * Reads a body to its end or to `maxBytes`, whichever comes first, each read under the `idle` deadline, or the first byte
 * under `first_event` where a server may send headers long before it has an answer. Throws what the read throws.
 */
export async function readBody(
  body: Body | null,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
  first: "first_event" | "idle",
): Promise<WholeBody> {
  if (body === null) return { kind: "whole", text: "" };
  const { idle, first_event } = attempt.timeoutsMs;
  const reader: ByteReader = body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  attempt.deadlines.await(first, first === "idle" ? now() + idle : attempt.startedAt + first_event);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "whole", text: textOf(pieces) };
    const room = maxBytes - size;
    if (value.byteLength > room) {
      // Letting go of the connection is the caller's, who ends the attempt.
      return { kind: "too_large", text: textOf([...pieces, value.subarray(0, room)]) };
    }
    size += value.byteLength;
    pieces.push(value);
    attempt.deadlines.await("idle", now() + idle);
  }
}

/** An answer that is said to be no longer than this is read in one go. */
const smallBytes = 1_048_576;

/**
 * Reads a whole answer. A short one of known length is taken from the runtime in one piece, which costs a third of
 * reading it as a stream; its server had it ready when it sent the headers, so `idle` is time enough for all of it.
 */
export async function readAnswer(
  response: Response,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
): Promise<WholeBody> {
  const { headers } = response;
  const length = Number(headers.get("content-length") ?? Number.NaN);
  // A compressed body can become any length.
  if (length <= Math.min(maxBytes, smallBytes) && !headers.has("content-encoding")) {
    attempt.deadlines.await("idle", now() + attempt.timeoutsMs.idle);
    return { kind: "whole", text: await response.text() };
  }
  return readBody(response.body, maxBytes, attempt, now, "first_event");
}

function textOf(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces).toString("utf8");
}

/** Whether the answer's end is told by its framing; if not, a clean close may be a cut. */
export function isFramed(headers: Headers): boolean {
  return headers.has("content-length") || /\bchunked\b/i.test(headers.get("transfer-encoding") ?? "");
}
