import type { WriteTransaction } from "#db/store-database.ts";
import type { Clock, Random, Timers, UtcDay } from "#platform/time.ts";
import type { BillingLookup, LedgerStatus, LostCommits, ReservationId } from "./ledger.ts";
import type { BatchReply, LedgerBatch, LedgerNotice } from "./rules/operations.ts";
import type { NodeIdentity } from "./rules/rows.ts";
import type { OpenHolds } from "./shared-sql.ts";

/** Where the ledger is kept. A store keeps rows and makes batches atomic and durable; what a batch does is decided in `rules/`. */
export interface LedgerStore {
  readonly kind: LedgerStatus["kind"];
  /** Registers this process and raises its epoch. */
  join(nodeId: string): Promise<JoinedNode>;
  /**
   * Runs one batch as one transaction and resolves when it is durable. Rejects with a StoreFailure. After `transient`
   * it is unknown whether the batch has happened; running it again, same ids and all, makes that true and changes
   * nothing twice.
   */
  commit(batch: LedgerBatch): Promise<BatchReply>;
  /** Renews the heartbeat of the node. Rejects with `lost` when this is no longer the store that the node has joined. */
  heartbeat(node: NodeIdentity): Promise<void>;
  /** Open reservations whose deadline has passed, and held ones whose owner is dead. At most `limit`, oldest first. */
  findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]>;
  /**
   * Claims up to `limit` calls to ask the aggregator about: of several nodes only one gets each. They come back after a
   * pause that doubles, `maxLookups` times in all.
   */
  takeLookups(limit: number): Promise<readonly BillingLookup[]>;
  dropLookups(ids: readonly ReservationId[]): Promise<void>;
  /** What is held now, without a lock. May reject where the query would take too long; called seldom. */
  openHolds(): Promise<OpenHolds>;
  /**
   * Removes at most `limit` reservations closed more than `retentionMs` ago with their entries, carrying their sums
   * over into the accounts, and day accounts as old as that. Answers how many reservations went; fewer than `limit`:
   * all.
   */
  prune(retentionMs: number, limit: number): Promise<number>;
  /** Absent where no other server can take over. */
  readonly failOver?: FailOver;
  /** See `SharedConnection`. */
  readonly sharedWrite?: WriteTransaction | undefined;
  close(): Promise<void>;
}

export interface JoinedNode extends NodeIdentity {
  /** Nobody had ever used this store before. `expected`: something tells that it was used, and then deleted. */
  readonly empty?: { readonly expected: boolean };
  /** Standbys that commits do not wait for. */
  readonly asynchronousStandbys?: number;
}

/** What a node finds at a server that has taken over; `earlier`: itself, where it was an earlier process that that one knew. */
export interface Rejoined {
  /** Acknowledged ones that the server lacks. */
  readonly batches: number;
  /** It is not the server that the node knew. */
  readonly takenOver: boolean;
  readonly earlier: readonly string[];
}

/** For a store whose server may be replaced by one that lacks acknowledged commits: see `lost-commits.ts`. */
export interface FailOver {
  /** Makes the node known to the server that is there now. Rejects with `lost` where it is not this store any more. */
  rejoin(node: NodeIdentity): Promise<Rejoined>;
  /** Notes that nothing of the node is missing; answers the nodes of which that is not known, and that lived when the server changed. */
  notRecovered(node: NodeIdentity): Promise<readonly string[]>;
  /** Records what it has cost where that is something, and waits for nobody any more. */
  finish(node: NodeIdentity, lost: LostCommits): Promise<void>;
}

export interface DueReservation {
  readonly id: ReservationId;
  readonly why: "expired" | "owner_dead";
}

/**
 * `transient`: the store is unavailable or busy, or the reply was lost. `conflict`: this batch cannot be written as it
 * is; one of its operations is wrong. `fatal`: no reply of the store can be trusted any more (a failed fsync, a corrupt
 * file). `lost`: the store was deleted, emptied or replaced under the running process, and what it had recorded with
 * it. `behind`: another server has taken over, and what is missing there has to be written again first.
 */
export class StoreFailure extends Error {
  readonly kind: "transient" | "conflict" | "fatal" | "lost" | "behind";

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

/** What every part of a node's ledger is handed. */
export interface LedgerContext {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: (event: LedgerEvent) => void;
}

/** What the ledger reports beside its replies; for the log, metrics and records. */
export type LedgerEvent =
  | LedgerNotice
  /** The store cannot be reached at the start of the process, which waits for it. */
  | { readonly kind: "store_awaited"; readonly message: string; readonly withinMs: number }
  /** The store stopped answering; admission is closed until `store_available`. */
  | { readonly kind: "store_unavailable"; readonly message: string }
  | { readonly kind: "store_available"; readonly unavailableMs: number }
  /** The store cannot be trusted any more: nothing is admitted until the process is restarted. */
  | {
      readonly kind: "store_failed";
      readonly message: string;
      readonly failed: NonNullable<LedgerStatus["failed"]>;
    }
  /** No node has ever used this store. `expected`: it should have been used before. */
  | { readonly kind: "store_empty"; readonly expected: boolean }
  /** Another server has taken over, and living nodes have written again what they know. */
  | ({ readonly kind: "failed_over" } & LostCommits)
  /** The server has standbys, and commits do not wait for any of them. */
  | { readonly kind: "standby_asynchronous"; readonly standbys: number }
  /** The newest day in the ledger is ahead of the clock: until then all spending counts to it. */
  | { readonly kind: "day_ahead"; readonly day: UtcDay; readonly today: UtcDay }
  /** Resolutions that could not be kept or written: their holds expire and are charged. */
  | { readonly kind: "resolutions_dropped"; readonly count: number; readonly message: string }
  /** This node has taken over the holds of dead nodes: how many, and how much money they hold. Each may have been billed. */
  | {
      readonly kind: "taken_over";
      readonly nodes: readonly string[];
      readonly unresolved: number;
      readonly unresolvedNanoUsd: number;
    }
  | { readonly kind: "pruned"; readonly reservations: number };
