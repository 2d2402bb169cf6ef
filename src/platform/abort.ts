/** The part of `AbortSignal` that this program uses; the runtime's own signals implement it. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The part of `AbortController` that this program uses. */
export interface AbortControllerLike {
  readonly signal: AbortSignalLike;
  abort(): void;
}

/**
 * A small `AbortController`. Every request has one, and the runtime's own, with its signal and event listeners outside
 * of the JavaScript heap, costs several times as much memory. Listeners are called once.
 */
export class LightAbortController implements AbortControllerLike, AbortSignalLike {
  aborted = false;
  #listeners: (() => void)[] = [];

  get signal(): AbortSignalLike {
    return this;
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** As a listener of another signal: it aborts with it. */
  handleEvent(): void {
    this.abort();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }
}
