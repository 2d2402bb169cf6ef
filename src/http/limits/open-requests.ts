import type { SseBody } from "#http/sse/sse-response.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

/** One chat request under way. */
export interface OpenRequest {
  /** Aborts it. */
  readonly caller: AbortControllerLike;
  /** Its answer, once that has become a stream. */
  sse: SseBody | undefined;
  /** A drain has ended it: the caller may still be there. */
  isEnded: boolean;
  /** Its index in the list; -1 once removed. */
  index: number;
}

/**
 * The chat requests under way: counted for shedding and metrics, ended together when a drain runs out of time.
 *
 * A list whose gaps are filled from its end, because it changes twice a request: a `Map` or `Set` allocates a new table
 * every few changes, and an old table that the collector has promoted keeps every request in it alive, with all that it
 * references, until the next full collection.
 */
export class OpenRequests {
  readonly #open: OpenRequest[] = [];
  #whenEmpty: (() => void)[] = [];

  get count(): number {
    return this.#open.length;
  }

  /** How many of them are being answered as streams. */
  get streaming(): number {
    return this.#open.reduce((count, { sse }) => (sse === undefined ? count : count + 1), 0);
  }

  add(caller: AbortControllerLike): OpenRequest {
    const request: OpenRequest = { caller, sse: undefined, isEnded: false, index: this.#open.length };
    this.#open.push(request);
    return request;
  }

  /** It has been answered; calling it again does nothing. */
  remove(request: OpenRequest): void {
    if (request.index < 0) return;
    const last = this.#open.pop();
    if (last !== undefined && last !== request) {
      this.#open[request.index] = last;
      last.index = request.index;
    }
    request.index = -1;
    if (this.#open.length === 0) for (const notify of this.#whenEmpty.splice(0)) notify();
  }

  /** Resolves when no request is open. */
  whenEmpty(): Promise<void> {
    if (this.#open.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends all open requests: streams with an error event, others by aborting them. */
  endAll(failure: UpstreamFailure): void {
    for (const request of [...this.#open]) {
      request.isEnded = true;
      if (request.sse === undefined) request.caller.abort();
      else request.sse.endWithError(failure);
    }
  }
}
