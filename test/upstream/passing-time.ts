import type { ManualTime } from "#platform/testing/manual-time.ts";
import type { UpstreamFailure, UpstreamReply } from "#upstream/upstream.ts";
import { type Connection, chunked, headOf } from "./raw-server.ts";

/** What the tests of deadlines, aborts and connections share. */

const never = 1e12;
export const noDeadlines = {
  connect: never,
  headers: never,
  first_event: never,
  idle: never,
  idle_data: never,
  total: never,
};
export const streamHead = headOf("text/event-stream", "chunked");
export const contentChunk = (content: string, finish: string | null = null) =>
  chunked(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`);
export const answer = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] };

export function failureOf(reply: UpstreamReply): UpstreamFailure {
  if (reply.kind !== "failure") throw new Error(`not a failure: ${reply.kind}`);
  return reply.failure;
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Advances time in steps, letting the network run at each, until the promise settles. */
export async function whileTimePasses<T>(time: ManualTime, stepMs: number, promise: Promise<T>): Promise<T> {
  let settled = false;
  const note = () => {
    settled = true;
  };
  promise.then(note, note);
  const giveUpAt = performance.now() + 10_000;
  while (!settled) {
    if (performance.now() > giveUpAt) throw new Error("the promise did not settle within 10 s");
    time.advance(stepMs);
    await turn();
  }
  return promise;
}

/** Sends one comment (or other bytes) repeatedly until the connection ends. */
export async function repeat({ socket }: Connection, bytes: Uint8Array | string): Promise<void> {
  while (!socket.destroyed) {
    socket.write(bytes);
    await turn();
  }
}
