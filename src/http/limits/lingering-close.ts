import { largeBodyBytes } from "#platform/event-loop.ts";
import type { Timers } from "#platform/time.ts";

/** So long an unread body is read on, in milliseconds. */
const lingerMs = 5_000;
/** The runtime discards the bodies of some methods itself, and does not say when they end. */
const lingerWithoutBodyMs = 1_000;

/** Whether some of a request's body may be left to read that the runtime should not discard without a bound of ours. */
export function hasUnreadBody(request: Request, response: Response): boolean {
  if (request.bodyUsed && response.status < 400) return false;
  const { headers } = request;
  if (!headers.has("transfer-encoding") && !(Number(headers.get("content-length") ?? 0) > largeBodyBytes)) return false;
  // A reader that has read to the end keeps its lock; one that refused in between has given it back.
  return request.body?.locked !== true;
}

/**
 * The answer to a request whose body has not been read to its end, for example a refusal: sent at once, and the
 * connection ends with the body, after `maxBytes` more of it, or after five seconds (a lingering close). Closing at
 * once would reset the connection of a caller that is still sending, which may then lose the answer; reading on without
 * a bound would let an upload that never ends hold the connection. A body of a declared length up to 1 MB is left to
 * the runtime, which discards it until its idle timeout and keeps the connection.
 */
export async function withLingeringClose(
  request: Request,
  response: Response,
  timers: Timers,
  maxBytes: number,
): Promise<Response> {
  if (response.headers.get("content-type") === "text/event-stream") return response;
  const answer = await response.bytes();
  const unread = request.body?.getReader();
  const ended = Promise.withResolvers<void>();
  let cancelTimer = () => {};
  const end = () => {
    cancelTimer();
    void unread?.cancel().catch(() => undefined); // the caller has gone
    ended.resolve();
  };
  const body = new ReadableStream({
    type: "direct",
    async pull(sink: ReadableStreamDirectController) {
      void sink.write(answer);
      void sink.flush();
      cancelTimer = timers.after(unread === undefined ? lingerWithoutBodyMs : lingerMs, end);
      if (unread !== undefined) void discard(unread, maxBytes).then(end, end);
      await ended.promise;
      sink.close();
    },
    cancel: end,
  });
  const { status, headers } = response;
  headers.set("connection", "close");
  return new Response(body, { status, headers });
}

async function discard(unread: Pick<ReadableStreamDefaultReader<Uint8Array>, "read">, maxBytes: number): Promise<void> {
  for (let bytes = 0; bytes < maxBytes; ) {
    const step = await unread.read();
    if (step.done) return;
    bytes += step.value.byteLength;
  }
}
