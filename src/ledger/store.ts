import type { WriteTransaction } from "#db/sql-writes.ts";
import type { UtcDay } from "#platform/time.ts";
import type { BillingLookup, LedgerStatus, ReservationId } from "./ledger.ts";
import type { OpenHolds } from "./open-holds.ts";
import type { BatchReply, LedgerBatch } from "./rules/operations.ts";
import type { AccountId, AccountRow, NodeIdentity } from "./rules/rows.ts";

/** Where the ledger is kept. A store keeps rows and makes batches atomic and durable; what a batch does is decided in `rules/`. */
export interface LedgerStore {
  readonly kind: LedgerStatus["kind"];
  /**
   * From so many waiting operations on, the next batch may be handed in while one is under way; never when absent. Batches
   * take effect in their order, and one that follows a batch which fails may fail with it.
   */
  readonly pipelineFrom?: number;
  /** Set by `join`: whether nobody had ever used this store before. Absent where stores do not outlive the process. */
  readonly empty?: { readonly expected: boolean } | undefined;
  /** Registers this process and raises its epoch. */
  join(nodeId: string): Promise<NodeIdentity>;
  /**
   * Runs one batch as one transaction and resolves when it is durable. Rejects with a StoreFailure. After `transient` it is
   * unknown whether the batch has happened; running it again, same ids and all, makes that true and changes nothing twice.
   */
  commit(batch: LedgerBatch): Promise<BatchReply>;
  /** Renews the heartbeat of the node. Rejects with `lost` when this is no longer the store that the node has joined. */
  heartbeat(node: NodeIdentity): Promise<void>;
  /** Open reservations whose deadline has passed, and held ones whose owner is dead. At most `limit`, oldest first. */
  findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]>;
  /** The current accounts, without a lock; those that do not exist are left out. `accountsOf` gets the day of the store. */
  read(accountsOf: (day: UtcDay) => readonly AccountId[]): Promise<{ day: UtcDay; accounts: readonly AccountRow[] }>;
  /**
   * Claims up to `limit` calls to ask the aggregator about: of several nodes only one gets each. They come back after a pause
   * that doubles, `maxLookups` times in all.
   */
  takeLookups(limit: number): Promise<readonly BillingLookup[]>;
  dropLookups(ids: readonly ReservationId[]): Promise<void>;
  /** What is held now, without a lock. May reject where the query would take too long; called seldom. */
  openHolds(): Promise<OpenHolds>;
  /**
   * Removes at most `limit` reservations closed more than `retentionMs` ago with their entries, carrying their sums over
   * into the accounts, and day accounts as old as that. Answers how many reservations went; fewer than `limit`: all.
   */
  prune(retentionMs: number, limit: number): Promise<number>;
  /** See `SharedConnection`. */
  readonly sharedWrite?: WriteTransaction | undefined;
  close(): Promise<void>;
}

export interface DueReservation {
  readonly id: ReservationId;
  readonly why: "expired" | "owner_dead";
}

/**
 * `transient`: the store is unavailable or busy, or the reply was lost. `conflict`: this batch cannot be written as it is; one of its
 * operations is wrong. `fatal`: no reply of the store can be trusted any more (a failed fsync, a corrupt file). `lost`: the store
 * was deleted, emptied or replaced under the running process, and what it had recorded with it.
 */
export class StoreFailure extends Error {
  readonly kind: "transient" | "conflict" | "fatal" | "lost";

  constructor(kind: StoreFailure["kind"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreFailure";
    this.kind = kind;
  }

  /** After such a failure no reply of the store can be trusted. */
  get isFinal(): boolean {
    return this.kind === "fatal" || this.kind === "lost";
  }
}

export function asStoreFailure(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  return new StoreFailure("transient", error instanceof Error ? error.message : String(error), { cause: error });
}
