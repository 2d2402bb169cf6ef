import type { MessageRole } from "#domain/chat.ts";
import type { Memos } from "#domain/message-memo.ts";
import { LruMap } from "#platform/lru-map.ts";

/** A message, or another large member of a body, as an earlier request had it, byte for byte. */
export interface CachedValue {
  /** The member of the body that it is, or `messages` for one of these: what is found depends on it. */
  readonly kind: string;
  /** Undefined for what is no message. */
  readonly role: MessageRole | undefined;
  /** JSON values in it. */
  readonly values: number;
  /** Whether a number of the body that it came with would be written in another way once it is parsed. */
  readonly hasRawNumbers: boolean;
  /** Whether it asks the upstream to write to its prompt cache. */
  readonly writesCache: boolean;
  readonly memos: Memos;
}

interface Entry extends CachedValue {
  /** Its other hash. */
  readonly check: bigint;
  /** Bytes of the messages that followed it last: other conversations may have it too. */
  nextLengths: readonly number[];
}

const none: readonly number[] = [];
/** Conversations that may share a message, and whose next ones are found without a scan. */
const maxNextLengths = 4;
/** What an entry takes, by estimate: two hashes, and some memos. */
const bytesPerEntry = 512;
/** Some 30,000 messages, the histories of a hundred agents. */
const defaultMaxBytes = 16 * 1_048_576;

/**
 * What is known of messages and large members of earlier bodies, under two keyed hashes of different kinds, together
 * 128 bits; the keys never leave the process. No text is kept. The least recently used are removed when there is no
 * more room.
 */
export class MessageCache {
  readonly counts = { hits: 0, misses: 0 };
  readonly #keys = crypto.getRandomValues(new BigUint64Array(2));
  readonly #entries: LruMap<bigint, Entry>;

  constructor(maxBytes = defaultMaxBytes) {
    this.#entries = new LruMap(Math.floor(maxBytes / bytesPerEntry));
  }

  /** Estimate of the memory that it takes. */
  get bytes(): number {
    return this.#entries.size * bytesPerEntry;
  }

  find(kind: string, bytes: Uint8Array, from: number, to: number): CachedValue | undefined {
    const value = bytes.subarray(from, to);
    const entry = this.#entries.use(this.#key(value));
    if (entry === undefined || entry.check !== this.#check(value) || entry.kind !== kind) return undefined;
    this.counts.hits += 1;
    return entry;
  }

  /** How long the messages were that followed a cached one last. */
  lengthsBehind(cached: CachedValue | undefined): readonly number[] {
    return cached === undefined ? none : (cached as Entry).nextLengths; // all come from here
  }

  noteLengthBehind(cached: CachedValue, length: number): void {
    const entry = cached as Entry;
    if (!entry.nextLengths.includes(length))
      entry.nextLengths = [length, ...entry.nextLengths.slice(0, maxNextLengths - 1)];
  }

  add(bytes: Uint8Array, from: number, to: number, found: CachedValue): CachedValue {
    this.counts.misses += 1;
    const value = bytes.subarray(from, to);
    const { kind, role, values, hasRawNumbers, writesCache, memos } = found;
    const check = this.#check(value);
    const entry: Entry = { kind, role, values, hasRawNumbers, writesCache, memos, check, nextLengths: none };
    this.#entries.set(this.#key(value), entry);
    return entry;
  }

  #key(value: Uint8Array): bigint {
    return Bun.hash.rapidhash(value, this.#keys[0]);
  }

  #check(value: Uint8Array): bigint {
    return Bun.hash.xxHash3(value, this.#keys[1]);
  }
}
