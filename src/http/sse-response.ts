import type { Timers } from "#domain/time.ts";
import { type CallerStream, keepAlive } from "#pipeline/reply.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

export interface SseOptions {
  readonly timers: Timers;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** A comment goes out after so long without an event. */
  readonly keepaliveMs: number;
  /** A caller that takes nothing for so long is cut off. */
  readonly writeStallMs: number;
  readonly closed: () => void;
}

/** A stream under way to its caller. */
export interface OpenSse {
  /** Text; the runtime writes it as UTF-8, without a buffer for each event that the collector would have to count. */
  readonly body: ReadableStream<string>;
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
  /** On whom the stream waits, and since when: the upstream has not said more, or the caller has not taken what it said. */
  let waitsFor: "upstream" | "caller" = "upstream";
  let sinceMs = options.now();
  let cancelWatch: (() => void) | undefined;
  let sink: ReadableStreamDefaultController<string> | undefined;

  const close = () => {
    if (!open) return;
    open = false;
    cancelWatch?.();
    options.closed();
  };
  // One timer watches the stream and looks at what was noted: setting one at each event would cost more than the event.
  const watchIn = (ms: number) => {
    cancelWatch = timers.after(ms, watch);
  };
  const watch = () => {
    if (!open) return;
    const waitedMs = options.now() - sinceMs;
    const limitMs = waitsFor === "upstream" ? keepaliveMs : writeStallMs;
    if (waitedMs < limitMs) {
      watchIn(Math.min(limitMs - waitedMs, keepaliveMs, writeStallMs));
      return;
    }
    if (waitsFor === "caller") {
      close();
      stream.cancel();
      sink?.error(new Error("the caller stopped reading"));
      return;
    }
    sink?.enqueue(keepAlive);
    sinceMs = options.now();
    watchIn(Math.min(keepaliveMs, writeStallMs));
  };
  watchIn(Math.min(keepaliveMs, writeStallMs));

  const body = new ReadableStream<string>(
    {
      start(controller) {
        sink = controller;
      },
      async pull(controller) {
        waitsFor = "upstream";
        sinceMs = options.now();
        let text: string | undefined;
        try {
          text = await stream.next();
        } catch (error) {
          close();
          stream.cancel();
          controller.error(error);
          return;
        }
        if (!open) return;
        if (text === undefined) {
          close();
          controller.close();
          return;
        }
        controller.enqueue(text);
        waitsFor = "caller";
        sinceMs = options.now();
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
      if (text !== "") sink?.enqueue(text);
      sink?.close();
    },
  };
}
