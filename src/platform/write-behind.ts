import type { Timers } from "./time.ts";

export interface WriteBehindOptions<Store, Saved> {
  readonly openStore: () => Promise<Store>;
  readonly timers: Timers;
  /** Writes all that waits. Must not reject. */
  readonly saveAll: () => Promise<Saved>;
}

/** A store that is opened when it is first needed. Saves run behind the requests, one at a time, some time after they are scheduled. */
export class WriteBehind<Store extends { close(): Promise<void> }, Saved> {
  readonly #options: WriteBehindOptions<Store, Saved>;
  #store: Promise<Store> | undefined;
  #saving: Promise<Saved> | undefined;
  #cancelTimer: (() => void) | undefined;
  #closed = false;

  constructor(options: WriteBehindOptions<Store, Saved>) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Rejects when the store cannot be opened; the next call tries again. */
  opened(): Promise<Store> {
    if (this.#store === undefined) {
      this.#store = this.#options.openStore();
      this.#store.catch(() => {
        this.#store = undefined;
      });
    }
    return this.#store;
  }

  /** Saves in `delayMs`; a save that is due already stays as it is. */
  schedule(delayMs: number): void {
    if (this.#cancelTimer !== undefined || this.#closed) return;
    this.#cancelTimer = this.#options.timers.after(delayMs, () => {
      this.#cancelTimer = undefined;
      void this.save();
    });
  }

  /** Writes what waits, now. */
  async save(): Promise<Saved> {
    // One under way may have begun before what is to be written now.
    await this.#saving;
    this.#saving ??= this.#options.saveAll().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  /** Writes what it can and closes the store. Never rejects. */
  async close(): Promise<void> {
    this.#cancelTimer?.();
    await this.save();
    this.#closed = true;
    // The last save may have failed, and scheduled another.
    this.#cancelTimer?.();
    const store = await this.#store?.catch(() => undefined);
    await store?.close().catch(() => undefined); // the end of the process closes it
  }
}
