import type { TextReader } from "#http-client/response/body-text.ts";
import { nextOf } from "#platform/receiver.ts";
import type { Attempt } from "./attempt.ts";

/** The text of a body; `too_large` when it exceeds the bound, with the text received so far. */
export interface WholeBody {
  readonly kind: "whole" | "too_large";
  readonly text: string;
}

/**
 * Reads a body to its end or to `maxBytes`, whichever comes first. Each read has the `idle` deadline; the first one has
 * `first_event` where a server may send headers long before its answer. Rejects with the error of the read.
 */
export async function readBody(
  body: TextReader,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
  first: "first_event" | "idle",
): Promise<WholeBody> {
  const { idle, first_event } = attempt.timeoutsMs;
  let text = "";
  let size = 0;
  attempt.deadlines.await(first, first === "idle" ? now() + idle : attempt.startedAt + first_event);
  while (!body.ended) {
    const read = await nextOf(body);
    if (read === undefined) break;
    const room = maxBytes - size;
    size += Buffer.byteLength(read);
    // The caller ends the attempt, which closes the connection.
    if (size > maxBytes) return { kind: "too_large", text: text + read.slice(0, room) };
    text += read;
    attempt.deadlines.await("idle", now() + idle);
  }
  return { kind: "whole", text };
}
