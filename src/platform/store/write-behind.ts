import type { Timers } from "#platform/time.ts";
import { LazyStore } from "./lazy-store.ts";

export interface WriteBehindOptions<Store, Saved> {
  readonly openStore: () => Promise<Store>;
  readonly timers: Timers;
  /** Writes all that waits. Must not reject. */
  readonly saveAll: () => Promise<Saved>;
}

/** A store that is opened when it is first needed. Saves run one at a time, some time after they are scheduled; no request waits for them. */
export class WriteBehind<Store extends { close(): Promise<void> }, Saved> {
  readonly #options: WriteBehindOptions<Store, Saved>;
  readonly #store: LazyStore<Store>;
  #saving: Promise<Saved> | undefined;
  #cancelTimer: (() => void) | undefined;
  #closed = false;

  constructor(options: WriteBehindOptions<Store, Saved>) {
    this.#options = options;
    this.#store = new LazyStore(options.openStore);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Rejects when the store cannot be opened; the next call tries again. */
  opened(): Promise<Store> {
    return this.#store.opened();
  }

  /** Saves in `delayMs`; a save that is due already stays as it is. */
  schedule(delayMs: number): void {
    if (this.#cancelTimer !== undefined || this.#closed) return;
    this.#cancelTimer = this.#options.timers.after(delayMs, () => {
      this.#cancelTimer = undefined;
      void this.save();
    });
  }

  /** Writes what waits, now, and not again when it would have been due. */
  async save(): Promise<Saved> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    // One under way may have begun before what is to be written now.
    if (this.#saving !== undefined) await this.#saving;
    this.#saving ??= this.#options.saveAll().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  /** Writes what it can and closes the store. Never rejects. */
  async close(): Promise<void> {
    await this.save();
    this.#closed = true;
    // The last save may have failed, and scheduled another.
    this.#cancelTimer?.();
    await this.#store.close().catch(() => undefined); // the end of the process closes it
  }
}
