/** A store that is opened when it is first needed. An opening that failed is repeated by the next call. */
export class LazyStore<Store extends { close(): Promise<void> }> {
  readonly #open: () => Promise<Store>;
  #opening: Promise<Store> | undefined;
  #closed = false;

  constructor(open: () => Promise<Store>) {
    this.#open = open;
  }

  /** Rejects when the store cannot be opened, and after `close`. */
  opened(): Promise<Store> {
    if (this.#closed) return Promise.reject(new Error("the store is closed"));
    if (this.#opening === undefined) {
      this.#opening = this.#open();
      this.#opening.catch(() => {
        this.#opening = undefined;
      });
    }
    return this.#opening;
  }

  /** Closes the store if it was opened. Rejects when the store's own `close` does. */
  async close(): Promise<void> {
    this.#closed = true;
    const store = await this.#opening?.catch(() => undefined);
    await store?.close();
  }
}
