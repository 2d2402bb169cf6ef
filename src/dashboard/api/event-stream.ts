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
/** Milliseconds until a caller that reads nothing is disconnected. A browser tab reconnects when it wakes. */
const stallMs = 60_000;

export interface EventStreamOptions {
  readonly timers: Timers;
  /** Called once, when the caller has gone or the stream has ended. */
  readonly onClose: () => void;
}

/**
 * The body of a stream of server-sent events. It is written as fast as the caller reads, and what waits is bounded. Only the
 * runtime's direct streams tell when the caller has read what was written.
 */
export class EventBody<T extends { readonly kind: string }> implements EventStream<T> {
  readonly body: ReadableStream;
  readonly #options: EventStreamOptions;
  readonly #queue: string[] = [];
  #wake: () => void = () => {};
  #ended = false;
  #closed = false;
  #cancelTimer: () => void = () => {};

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream({
      type: "direct",
      pull: (sink) => this.#forward(sink),
      cancel: () => this.#close(),
    });
  }

  send(event: T, id?: string): boolean {
    if (this.#closed || this.#ended || this.#queue.length >= maxQueueLength) return false;
    const idLine = id === undefined ? "" : `id: ${id}\n`;
    this.#queue.push(`event: ${event.kind}\n${idLine}data: ${JSON.stringify(event)}\n\n`);
    this.#wake();
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async #forward(sink: ReadableStreamDirectController): Promise<void> {
    try {
      while (!this.#closed) {
        const text = this.#queue.splice(0).join("") || (this.#ended ? undefined : await this.#next());
        if (text === undefined) break;
        if (text === "") continue;
        this.#watch(stallMs, () => {
          this.#close();
          sink.close(new Error("the caller stopped reading"));
        });
        await sink.write(text);
        await sink.flush();
        this.#cancelTimer();
      }
      sink.close();
    } catch {
      // The caller has gone: `cancel` may not be called for that.
    } finally {
      this.#close();
    }
  }

  /** Waits for an event; after `keepAliveMs` it resolves with a comment. */
  #next(): Promise<string> {
    return new Promise((resolve) => {
      const done = (text: string) => {
        this.#wake = () => {};
        this.#cancelTimer();
        resolve(text);
      };
      this.#wake = () => done("");
      this.#watch(keepAliveMs, () => done(": keep-alive\n\n"));
    });
  }

  #watch(ms: number, callback: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.timers.after(ms, callback);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.length = 0;
    this.#cancelTimer();
    this.#wake();
    this.#options.onClose();
  }
}
