import type { OpenSse } from "#http/sse/sse-response.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

/** One chat request under way. */
export interface OpenRequest {
  /** A drain has ended it: the caller may still be there. */
  readonly isEnded: boolean;
  /** Its answer has become a stream. */
  attachStream(sse: OpenSse): void;
  /** It has been answered; calling it again does nothing. */
  close(): void;
}

class Entry implements OpenRequest {
  readonly #all: OpenRequests;
  readonly caller: AbortControllerLike;
  sse: OpenSse | undefined;
  isEnded = false;
  /** Its index in the list; -1 once removed. */
  index: number;

  constructor(all: OpenRequests, caller: AbortControllerLike, index: number) {
    this.#all = all;
    this.caller = caller;
    this.index = index;
  }

  attachStream(sse: OpenSse): void {
    this.sse = sse;
  }

  close(): void {
    this.#all.remove(this);
  }
}

/**
 * The chat requests under way: counted for shedding and metrics, ended together when a drain runs out of time.
 *
 * A list whose gaps are filled from its end, because it changes twice a request: a `Map` or `Set` allocates a new table
 * every few changes, and an old table that the collector has promoted keeps every request in it alive, with all that it
 * references, until the next full collection.
 */
export class OpenRequests {
  readonly #open: Entry[] = [];
  #whenEmpty: (() => void)[] = [];

  get count(): number {
    return this.#open.length;
  }

  /** How many of them are being answered as streams. */
  get streaming(): number {
    let count = 0;
    for (const { sse } of this.#open) if (sse !== undefined) count += 1;
    return count;
  }

  /** Adds a request; `caller` aborts it. */
  add(caller: AbortControllerLike): OpenRequest {
    const entry = new Entry(this, caller, this.#open.length);
    this.#open.push(entry);
    return entry;
  }

  /** From the request itself: it has been answered. */
  remove(entry: Entry): void {
    if (entry.index < 0) return;
    const last = this.#open.pop();
    if (last !== undefined && last !== entry) {
      this.#open[entry.index] = last;
      last.index = entry.index;
    }
    entry.index = -1;
    if (this.#open.length > 0) return;
    for (const notify of this.#whenEmpty.splice(0)) notify();
  }

  /** Resolves when no request is open. */
  whenEmpty(): Promise<void> {
    if (this.#open.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends all open requests: streams with an error event, others by aborting them. */
  endAll(failure: UpstreamFailure): void {
    for (const entry of [...this.#open]) {
      const { caller, sse } = entry;
      entry.isEnded = true;
      if (sse === undefined) caller.abort();
      else sse.endWithError(failure);
    }
  }
}
