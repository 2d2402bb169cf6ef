import type { Timers } from "#platform/time.ts";

/** Where a handler writes the events of one caller. */
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

export interface EventStreamOptions {
  readonly timers: Timers;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
  /** Called once, when the caller has gone or the stream has ended. */
  readonly onClose: () => void;
}

/** A stream of server-sent events, and the body that sends it as fast as the caller reads. */
export function openEventStream<T extends { readonly kind: string }>({
  timers,
  signal,
  onClose,
}: EventStreamOptions): EventStream<T> & { readonly body: AsyncIterable<string> } {
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
  /** What to send next: the events that wait, else a comment once none has come for a while. */
  const next = async (): Promise<string> => {
    if (queue.length > 0 || state !== "open") return queue.splice(0).join("");
    const { promise, resolve } = Promise.withResolvers<string>();
    const cancel = timers.after(keepAliveMs, () => resolve(": keep-alive\n\n"));
    wake = () => resolve("");
    return promise.finally(cancel);
  };
  async function* forward(): AsyncGenerator<string> {
    try {
      while (state === "open" || queue.length > 0) {
        const text = await next();
        if (text !== "") yield text;
      }
    } finally {
      close();
    }
  }
  signal.addEventListener("abort", close);
  return {
    body: forward(),
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
