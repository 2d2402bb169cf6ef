import type { Timers } from "#platform/time.ts";

type Close = () => void | Promise<void>;

/** How long the parts with a timeout may delay the end of the process, together. Their last writes may be lost. */
const closeTimeoutMs = 3_000;

/** Closes the parts of the gateway in the reverse order of their opening. */
export class Closing {
  readonly #parts: { readonly close: Close; readonly hasTimeout: boolean }[] = [];
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Adds a part whose closing is always awaited, such as the ledger. */
  add(close: Close): void {
    this.#parts.push({ close, hasTimeout: false });
  }

  /** Adds a part whose closing is awaited for `closeTimeoutMs` only: a database that does not answer must not block the end. */
  addWithTimeout(close: Close): void {
    this.#parts.push({ close, hasTimeout: true });
  }

  async closeAll(): Promise<void> {
    let cancel = () => {};
    let limit: Promise<void> | undefined;
    for (const { close, hasTimeout } of this.#parts.splice(0).reverse()) {
      // The time counts from the first part that has a timeout.
      if (hasTimeout)
        limit ??= new Promise((resolve) => {
          cancel = this.#timers.after(closeTimeoutMs, resolve);
        });
      await (hasTimeout ? Promise.race([close(), limit]) : close());
    }
    cancel();
  }
}
