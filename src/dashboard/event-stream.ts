import type { Timers } from "#platform/time.ts";

/** Where an endpoint writes the events of one caller. */
export interface EventStream<T> {
  /** False: the caller is so far behind that this event was left out. */
  send(event: T, id?: string): boolean;
  /** No more events: what waits is still sent. */
  end(): void;
}

/** Length of the queue of events for a caller that reads slowly; later events are left out. */
const maxQueueLength = 500;
/** Milliseconds without an event until a comment is sent as heartbeat, so that no proxy closes the connection as idle. */
const keepAliveMs = 10_000;

/**
 * A stream of server-sent events, and the body that sends it as fast as the caller reads. `onClose` is called once, when the
 * caller has gone (`signal`) or the stream has ended.
 */
export function openEventStream<T extends { readonly kind: string }>(
  timers: Timers,
  signal: AbortSignal,
  onClose: () => void,
): EventStream<T> & { readonly body: ReadableStream } {
  const queue: string[] = [];
  let state: "open" | "ended" | "closed" = "open";
  let wake = (): void => {};

  const close = (): void => {
    if (state === "closed") return;
    state = "closed";
    queue.length = 0;
    wake();
    onClose();
  };
  async function* forward(): AsyncGenerator<string> {
    try {
      while (state === "open" || queue.length > 0) {
        if (queue.length === 0) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const cancel = timers.after(keepAliveMs, () => {
            queue.push(": keep-alive\n\n");
            resolve();
          });
          await promise.finally(cancel);
        }
        if (queue.length > 0) yield queue.splice(0).join("");
      }
    } finally {
      close();
    }
  }
  signal.addEventListener("abort", close);
  return {
    body: forward() as unknown as ReadableStream, // the runtime takes a generator as a body
    send(event, id) {
      if (state !== "open" || queue.length >= maxQueueLength) return false;
      const idLine = id === undefined ? "" : `id: ${id}\n`;
      queue.push(`event: ${event.kind}\n${idLine}data: ${JSON.stringify(event)}\n\n`);
      wake();
      return true;
    },
    end() {
      if (state === "open") state = "ended";
      wake();
    },
  };
}
