/** What is remembered apart from each other: the kinds have limits of their own. */
export type MemoryKind = "conversation" | "task";

/** One remembered conversation or task. */
export interface MemoryRow {
  readonly kind: MemoryKind;
  /** Salted hash of its key, hexadecimal; never the key, which may hold a caller's ids. */
  readonly keyHash: string;
  /** JSON: model keys, counts and hashes. */
  readonly value: string;
  /** When the key was last used, in milliseconds since the epoch; the column `heard_ms`. */
  readonly lastSeenMs: number;
}

/** How much a store keeps of a kind. */
export interface MemoryBounds {
  readonly rows: number;
  /** Rows that were last used before this are deleted; milliseconds since the epoch. */
  readonly fromMs: number;
}

/**
 * Where routing memory is kept for other nodes and later processes. A failed call may be retried or dropped: a lost
 * row costs one new routing decision. All forms pass `routing-memory-store.contract.ts`.
 */
export interface RoutingMemoryStore {
  /** The salt of this store's hashes, made by the first who asks. */
  salt(): Promise<string>;
  /** When a key of this kind was last used, in milliseconds since the epoch; undefined when there is no row. */
  newest(kind: MemoryKind): Promise<number | undefined>;
  /** The rows of these keys that there are. */
  load(kind: MemoryKind, keyHashes: readonly string[]): Promise<readonly MemoryRow[]>;
  /** Writes each row unless the stored one was used later. */
  save(rows: readonly MemoryRow[]): Promise<void>;
  /** Deletes what is too old, and of the rest the oldest rows above the limit. */
  prune(kind: MemoryKind, bounds: MemoryBounds): Promise<void>;
  close(): Promise<void>;
}

/** 128 random bits. */
export function newSalt(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex");
}
