import type { Timers } from "#domain/time.ts";
import { type CallerStream, keepAlive } from "#pipeline/reply.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

const encoder = new TextEncoder();
const comment = encoder.encode(keepAlive);

export interface SseOptions {
  readonly timers: Timers;
  /** A comment goes out after so long without an event. */
  readonly keepaliveMs: number;
  /** A caller that takes nothing for so long is cut off. */
  readonly writeStallMs: number;
  readonly closed: () => void;
}

/** A stream under way to its caller. */
export interface OpenSse {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends it from our side, telling the caller why. */
  breakOff(failure: UpstreamFailure): void;
}

/**
 * The body of a streamed answer. Pulled by the runtime as fast as the caller reads, so a slow caller slows the upstream and
 * nothing piles up here; leaving cancels everything behind.
 */
export function openSse(stream: CallerStream, options: SseOptions): OpenSse {
  const { timers, keepaliveMs, writeStallMs } = options;
  let open = true;
  let cancelStall: (() => void) | undefined;
  let cancelKeepalive: (() => void) | undefined;
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;

  const close = () => {
    if (!open) return;
    open = false;
    cancelStall?.();
    cancelKeepalive?.();
    options.closed();
  };
  const stayAlive = () => {
    cancelKeepalive = timers.after(keepaliveMs, () => {
      if (!open) return;
      sink?.enqueue(comment);
      stayAlive();
    });
  };
  const stalled = () => {
    if (!open) return;
    close();
    stream.cancel();
    sink?.error(new Error("the caller stopped reading"));
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sink = controller;
      },
      async pull(controller) {
        cancelStall?.();
        cancelStall = undefined;
        stayAlive();
        let text: string | undefined;
        try {
          text = await stream.next();
        } catch (error) {
          close();
          stream.cancel();
          controller.error(error);
          return;
        }
        cancelKeepalive?.();
        if (!open) return;
        if (text === undefined) {
          close();
          controller.close();
          return;
        }
        controller.enqueue(encoder.encode(text));
        if ((controller.desiredSize ?? 0) <= 0) cancelStall = timers.after(writeStallMs, stalled);
      },
      cancel() {
        close();
        stream.cancel();
      },
    },
    { highWaterMark: 1 },
  );
  return {
    body,
    breakOff(failure) {
      if (!open) return;
      const text = stream.breakOff(failure);
      close();
      if (text !== "") sink?.enqueue(encoder.encode(text));
      sink?.close();
    },
  };
}
