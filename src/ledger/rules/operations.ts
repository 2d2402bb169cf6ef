import type { GoalId, KeyLabel, Reservation, ReservationId, ReserveReply, Resolution, Spend } from "#ledger/ledger.ts";
import type { UtcDay } from "#platform/time.ts";
import type {
  AccountId,
  AccountRow,
  EntryRow,
  LookupRow,
  NodeIdentity,
  ReservationRow,
  ReservationState,
  ShareRow,
} from "./rows.ts";
import type { LockedShares } from "./shares.ts";

export type Operation =
  /** `admitted`: it was, at that time, and the store has lost it. It is held again, whatever the caps say now. */
  | { readonly kind: "reserve"; readonly reservation: Reservation; readonly admitted?: LedgerTime | undefined }
  | Resolution
  /** The spend of a goal, its day and a capped key. */
  | { readonly kind: "read"; readonly goal: GoalId; readonly key?: KeyLabel | undefined }
  /** A reservation of this node whose caller was answered `unavailable`: it was never used, whatever its row says. */
  | { readonly kind: "cancel"; readonly id: ReservationId }
  /** The deadline may have passed. */
  | { readonly kind: "expire"; readonly id: ReservationId }
  /** The node that made the reservation is dead: it was restarted, or missed its heartbeats. */
  | { readonly kind: "orphan"; readonly id: ReservationId };

export interface LedgerBatch {
  readonly node: NodeIdentity;
  readonly operations: readonly Operation[];
}

export type OperationReply =
  | ReserveReply
  | { readonly kind: "spend"; readonly spend: Spend }
  /** The operation was applied, or changed nothing; either way there is nothing more to do. */
  | { readonly kind: "done" };

/** What happened to a reservation, for logs, metrics and records. Written once per change, after it is durable. */
export type LedgerNotice =
  /** Not of a call that its own request has settled: that is no news to it, and happens with nearly every request. */
  | {
      readonly kind: "resolved";
      readonly id: ReservationId;
      readonly state: ReservationState;
      readonly hold: number;
      /** What the accounts were charged: the actual cost, the hold, or 0. */
      readonly charged: number;
      /** Present when the hold was taken over: the dead node that it belonged to. */
      readonly orphanOf?: string;
    }
  /** Actual cost above the hold: a defect or a price change. Charged in full. */
  | {
      readonly kind: "overrun";
      readonly id: ReservationId;
      readonly model: string;
      readonly hold: number;
      readonly actual: number;
    }
  /** A stated cost above all that the model can have written: that much is charged. */
  | {
      readonly kind: "cost_distrusted";
      readonly id: ReservationId;
      readonly requestId: string;
      readonly model: string;
      readonly hold: number;
      readonly stated: number;
    }
  /** A repeat with other numbers, or for a reservation that cannot take it any more: ignored. */
  | {
      readonly kind: "ignored";
      readonly id: ReservationId;
      readonly state: ReservationState | "absent";
      readonly why: string;
    };

export interface BatchReply {
  /** One per operation, in their order. */
  readonly replies: readonly OperationReply[];
  /** The accounts touched, as they stand after the batch. */
  readonly accounts: readonly AccountRow[];
  readonly day: UtcDay;
  readonly nowMs: number;
  readonly notices: readonly LedgerNotice[];
  /** How long each hold has lasted whose call was settled, in milliseconds. */
  readonly heldMs: readonly number[];
  /** Entries. */
  readonly written: number;
}

type GrantRow = Pick<AccountRow, "id" | "hard"> & { readonly granted: number };

export interface LedgerChanges {
  readonly lookups: readonly LookupRow[];
  /** Without those that are divided. */
  readonly accounts: readonly { readonly before: AccountRow; readonly after: AccountRow }[];
  readonly shares: readonly { readonly before: ShareRow; readonly after: ShareRow }[];
  /** What is granted of divided accounts, and under which cap. */
  readonly grants: readonly { readonly before: GrantRow; readonly after: GrantRow }[];
  readonly inserted: readonly ReservationRow[];
  readonly updated: readonly { readonly before: ReservationRow; readonly after: ReservationRow }[];
  readonly entries: readonly EntryRow[];
}

/** The rows of one transaction. Accounts that do not exist yet are empty ones. */
export interface LedgerView {
  /** That this node reserves from; 0 in a store with one writer. */
  readonly slot: number;
  /** Of a divided account the sums of all shares. */
  account(id: AccountId): AccountRow;
  reservation(id: ReservationId): ReservationRow | undefined;
  /** The locked shares of an account; undefined where it is not divided, and always in a store with one writer. */
  shares?(id: AccountId): LockedShares | undefined;
}

export interface LedgerTime {
  readonly nowMs: number;
  readonly day: UtcDay;
}

/** The reservation that an operation is about; a read is about none. */
export function reservationIdOfOperation(operation: Operation): ReservationId | undefined {
  switch (operation.kind) {
    case "reserve":
      return operation.reservation.id;
    case "read":
      return undefined;
    default:
      return operation.id;
  }
}
