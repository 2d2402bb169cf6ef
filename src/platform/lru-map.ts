interface Entry<Key, Value> {
  readonly key: Key;
  value: Value;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
}

/**
 * The bounded cache of the house: a map that holds at most `max` entries and removes the oldest for a new one; an entry
 * is as old as its last `set` or `use`. The order is a list of its own: a `Map` of this runtime keeps the places of
 * deleted entries for a while, so finding its first entry means walking over all that were deleted before it. With
 * 20,000 entries that took 250,000 instructions.
 */
export class LruMap<Key, Value> {
  readonly #max: number;
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The value of the entry, which becomes the newest. */
  use(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#renew(entry);
    return entry?.value;
  }

  /** Sets the value and makes the entry the newest. */
  set(key: Key, value: Value): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      this.#renew(known);
      return;
    }
    const entry = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    if (this.#oldest !== undefined && this.#entries.size > this.#max) this.delete(this.#oldest.key);
  }

  #renew(entry: Entry<Key, Value>): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#append(entry);
  }

  #append(entry: Entry<Key, Value>): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
  }

  /** From the oldest to the newest. */
  *values(): Generator<Value, void> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield entry.value;
  }

  /** Clears the removed entry's links too: while it is not collected, they would keep its neighbours alive. */
  #unlink(entry: Entry<Key, Value>): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/** How many values, and for how many milliseconds after they were last remembered. */
export interface MemoryLimits {
  readonly remembered: number;
  readonly remembered_ms: number;
}

/** Values that are known from one request to the next, in this process. Lost without harm. Times in milliseconds. */
export interface Memory<Value> {
  recall(key: string, nowMs: number): Value | undefined;
  remember(key: string, value: Value, nowMs: number): void;
}

/** The value that was not remembered for the longest time goes first. */
export function limitedMemory<Value>({ remembered, remembered_ms }: MemoryLimits): Memory<Value> {
  const values = new LruMap<string, { readonly value: Value; readonly atMs: number }>(remembered);
  return {
    recall(key, nowMs) {
      const known = values.get(key);
      return known !== undefined && nowMs - known.atMs <= remembered_ms ? known.value : undefined;
    },
    remember(key, value, nowMs) {
      values.set(key, { value, atMs: nowMs });
    },
  };
}
