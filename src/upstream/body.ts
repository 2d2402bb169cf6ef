import type { Attempt } from "./attempt.ts";

/** What one read of a body's text gives. */
export type TextReadResult = { readonly done: true } | { readonly done: false; readonly value: string };

/** A body as text, read piece by piece. Reads must not overlap; a reader that does not ask pauses the network. */
export interface TextReader {
  read(): Promise<TextReadResult>;
  /** All of it has been read: the next read would say so at once. */
  readonly ended: boolean;
}

/** A body read whole; `too_large` when it passed the bound, with what had come so far. */
export interface WholeBody {
  readonly kind: "whole" | "too_large";
  readonly text: string;
}

/**
 * Reads a body to its end or to `maxBytes`, whichever comes first, each read under the `idle` deadline, or the first byte
 * under `first_event` where a server may send headers long before it has an answer. Rejects with what the read rejects with.
 */
export async function readBody(
  body: TextReader,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
  first: "first_event" | "idle",
): Promise<WholeBody> {
  if (body.ended) return { kind: "whole", text: "" };
  const { idle, first_event } = attempt.timeoutsMs;
  let text = "";
  let size = 0;
  attempt.deadlines.await(first, first === "idle" ? now() + idle : attempt.startedAt + first_event);
  for (;;) {
    const read = await body.read();
    if (read.done) return { kind: "whole", text };
    const room = maxBytes - size;
    size += Buffer.byteLength(read.value);
    // Letting go of the connection is the caller's, who ends the attempt.
    if (size > maxBytes) return { kind: "too_large", text: text + read.value.slice(0, room) };
    text += read.value;
    if (body.ended) return { kind: "whole", text };
    attempt.deadlines.await("idle", now() + idle);
  }
}
