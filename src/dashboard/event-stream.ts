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
/** Milliseconds without an event until a comment is sent, so that no proxy closes the connection as idle. */
const keepAliveMs = 10_000;

/**
 * A stream of server-sent events, and the body that sends it as fast as the caller reads. `onClose` is called once,
 * when the caller has gone (`signal`) or the stream has ended.
 */
export function openEventStream<T extends { readonly kind: string }>(
  timers: Timers,
  signal: AbortSignal,
  onClose: () => void,
): EventStream<T> & { readonly body: ReadableStream } {
  let controller: ReadableStreamDefaultController<string> | undefined;
  let cancelHeartbeat = () => {};
  const close = (): void => {
    if (controller === undefined) return;
    controller = undefined;
    cancelHeartbeat();
    onClose();
  };
  const write = (text: string): boolean => {
    if (controller === undefined || (controller.desiredSize ?? 0) <= 0) return false;
    controller.enqueue(text);
    scheduleHeartbeat();
    return true;
  };
  function scheduleHeartbeat(): void {
    cancelHeartbeat();
    cancelHeartbeat = timers.after(keepAliveMs, () => write(": keep-alive\n\n") || scheduleHeartbeat());
  }
  const start = (opened: typeof controller) => {
    controller = opened;
    scheduleHeartbeat();
  };
  const body = new ReadableStream({ start, cancel: close }, { highWaterMark: maxQueueLength });
  signal.addEventListener("abort", close);
  return {
    body,
    send(event, id) {
      const idLine = id === undefined ? "" : `id: ${id}\n`;
      return write(`event: ${event.kind}\n${idLine}data: ${JSON.stringify(event)}\n\n`);
    },
    end() {
      controller?.close();
      close();
    },
  };
}
