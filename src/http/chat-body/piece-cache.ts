import type { MessageRole } from "#domain/chat.ts";
import type { Facts } from "#domain/known-message.ts";
import { LruMap } from "#platform/lru-map.ts";

/** A message, or another large member of a body, as an earlier request had it, byte for byte. */
export interface KnownPiece {
  /** The member of the body that it is, or `messages` for one of these: what is found depends on it. */
  readonly kind: string;
  /** Undefined for what is no message. */
  readonly role: MessageRole | undefined;
  /** JSON values in it. */
  readonly values: number;
  /** Whether a number of the body that it came with would be written in another way once it is parsed. */
  readonly hasOddNumbers: boolean;
  /** Whether it asks the upstream to write to its prompt cache. */
  readonly writesCache: boolean;
  readonly facts: Facts;
}

interface Entry extends KnownPiece {
  /** Its other hash. */
  readonly check: bigint;
  /** Bytes of the pieces that followed it last: other conversations may have it too. */
  nextLengths: readonly number[];
}

const none: readonly number[] = [];
/** Conversations that may share a piece, and whose next ones are found without a scan. */
const maxNextLengths = 4;
/** What a piece takes, by estimate: two hashes, and some facts. */
const bytesPerPiece = 512;

/**
 * What is known of pieces of earlier bodies, under two hashes of their bytes of different kinds, together 128 bits, each with a random
 * key that never leaves the process. No text is kept. Pieces that were not found for the longest time are removed when there is no more room.
 */
export class PieceCache {
  readonly counts = { hits: 0, misses: 0 };
  readonly #maxBytes: () => number;
  readonly #keys = crypto.getRandomValues(new BigUint64Array(2));
  readonly #pieces = new LruMap<bigint, Entry>();

  /** @param maxBytes of memory; 0: nothing is kept */
  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  /** Estimate of the memory that it takes. */
  get bytes(): number {
    return this.#pieces.size * bytesPerPiece;
  }

  find(kind: string, bytes: Uint8Array, from: number, to: number): KnownPiece | undefined {
    const piece = bytes.subarray(from, to);
    const entry = this.#pieces.use(this.#key(piece));
    if (entry === undefined || entry.check !== this.#check(piece) || entry.kind !== kind) return undefined;
    this.counts.hits += 1;
    return entry;
  }

  /** How long the messages were that followed a known one last. */
  lengthsBehind(known: KnownPiece | undefined): readonly number[] {
    return known === undefined ? none : (known as Entry).nextLengths; // all come from here
  }

  noteLengthBehind(known: KnownPiece, length: number): void {
    const entry = known as Entry;
    if (!entry.nextLengths.includes(length))
      entry.nextLengths = [length, ...entry.nextLengths.slice(0, maxNextLengths - 1)];
  }

  add(bytes: Uint8Array, from: number, to: number, known: KnownPiece): KnownPiece {
    this.counts.misses += 1;
    const piece = bytes.subarray(from, to);
    const { kind, role, values, hasOddNumbers, writesCache, facts } = known;
    const check = this.#check(piece);
    const entry: Entry = { kind, role, values, hasOddNumbers, writesCache, facts, check, nextLengths: none };
    this.#pieces.set(this.#key(piece), entry);
    this.#pieces.trim(Math.floor(this.#maxBytes() / bytesPerPiece));
    return entry;
  }

  #key(piece: Uint8Array): bigint {
    return Bun.hash.rapidhash(piece, this.#keys[0]);
  }

  #check(piece: Uint8Array): bigint {
    return Bun.hash.xxHash3(piece, this.#keys[1]);
  }
}
