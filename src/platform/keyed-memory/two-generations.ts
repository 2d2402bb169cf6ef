import type { TextTag } from "./text-tags.ts";

/** What an entry takes beside its value, in bytes: the tag's string and its place in the map. */
const bytesPerEntry = 160;

/**
 * Values by tag, or by another key, within a bound on memory. Entries go into a young generation. When that holds half of the bytes, it becomes the
 * old one, and what the old one held is forgotten; an entry that is asked for in time is taken over.
 */
export class TwoGenerations<T, K = TextTag> {
  readonly #maxBytes: number;
  readonly #bytesOf: (value: T) => number;
  #young = new Map<K, T>();
  #old = new Map<K, T>();
  #youngBytes = 0;
  #oldBytes = 0;

  /** @param bytesOf estimate of what a value takes */
  constructor(maxBytes: number, bytesOf: (value: T) => number) {
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  /** Estimate of what all entries take; never above the bound. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  get(tag: K): T | undefined {
    const young = this.#young.get(tag);
    if (young !== undefined) return young;
    const old = this.#old.get(tag);
    if (old !== undefined) this.set(tag, old);
    return old;
  }

  set(tag: K, value: T): void {
    if (this.#young.has(tag)) return;
    const bytes = bytesPerEntry + this.#bytesOf(value);
    if (2 * bytes > this.#maxBytes) return;
    if (2 * (this.#youngBytes + bytes) > this.#maxBytes) {
      this.#old = this.#young;
      this.#oldBytes = this.#youngBytes;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(tag, value);
    this.#youngBytes += bytes;
  }
}
