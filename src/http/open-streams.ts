import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { OpenSse } from "./sse-response.ts";

/** The chat requests under way: counted for shedding and metrics, ended together when a drain runs out of time. */
export class OpenStreams {
  readonly #open = new Map<AbortController, OpenSse | undefined>();
  #whenEmpty: (() => void)[] = [];

  get count(): number {
    return this.#open.size;
  }

  /** How many of them are being answered as streams. */
  get streaming(): number {
    let count = 0;
    for (const sse of this.#open.values()) if (sse !== undefined) count += 1;
    return count;
  }

  /** A request begins; the answer ends it (once, however often it is called). */
  enter(caller: AbortController): () => void {
    this.#open.set(caller, undefined);
    return () => {
      if (!this.#open.delete(caller) || this.#open.size > 0) return;
      for (const notify of this.#whenEmpty.splice(0)) notify();
    };
  }

  /** The request's answer has become a stream. */
  opened(caller: AbortController, sse: OpenSse): void {
    if (this.#open.has(caller)) this.#open.set(caller, sse);
  }

  /** Resolves when no request is under way. */
  empty(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends all that is still under way: streams with an error in their own words, others by aborting them. */
  breakOff(failure: UpstreamFailure): void {
    for (const [caller, sse] of [...this.#open]) {
      if (sse === undefined) caller.abort();
      else sse.breakOff(failure);
    }
  }
}
