import type { Timers } from "#platform/time.ts";

type Close = () => void | Promise<void>;

/** All stores whose last writes may be lost hold up the end of the process for no longer than this, together. */
const harmlessCloseMs = 3_000;

/** What is closed when the gateway ends, the last opened first. */
export class Closing {
  readonly #parts: { readonly close: Close; readonly harmless: boolean }[] = [];
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Adds a part whose closing is always waited for, such as the ledger. */
  add(close: Close): void {
    this.#parts.push({ close, harmless: false });
  }

  /** Adds a part whose closing is waited for only for a while: a database that does not answer must not hold up the end. */
  addHarmless(close: Close): void {
    this.#parts.push({ close, harmless: true });
  }

  async closeAll(): Promise<void> {
    let cancelLimit: (() => void) | undefined;
    let limit: Promise<void> | undefined;
    for (const { close, harmless } of this.#parts.splice(0).reverse()) {
      if (!harmless) {
        await close();
        continue;
      }
      limit ??= new Promise((resolve) => {
        cancelLimit = this.#timers.after(harmlessCloseMs, resolve);
      });
      await Promise.race([close(), limit]);
    }
    cancelLimit?.();
  }
}
