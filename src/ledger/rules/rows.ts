import type { ActualSource, ReservationId } from "#ledger/ledger.ts";

/** The rows of the ledger, as every store keeps them. Amounts are nano-USD, times milliseconds since the Unix epoch. */

export type AccountId = string;

export interface AccountRow {
  readonly id: AccountId;
  readonly held: number;
  readonly spent: number;
  /** Costs above the holds of their attempts; part of `spent`. */
  readonly overrun: number;
  /** The hard cap that the last admission was measured against; null before the first. */
  readonly hard: number | null;
  /** An operator's own hard cap; null when the policy's holds. */
  readonly ownHard: number | null;
}

export type ReservationState = "HELD" | "UNRESOLVED" | "SETTLED" | "RELEASED" | "EXPIRED_CHARGED" | "CORRECTED";

export interface ReservationRow {
  readonly id: ReservationId;
  readonly requestId: string;
  readonly attempt: number;
  readonly goalAccount: AccountId;
  readonly dayAccount: AccountId;
  readonly hold: number;
  readonly actual: number | null;
  readonly source: ActualSource | null;
  readonly state: ReservationState;
  readonly model: string;
  readonly nodeId: string;
  readonly nodeEpoch: number;
  /** Always true for new rows. Earlier releases could hold before dispatch; such a row is released when its node dies. */
  readonly dispatched: boolean;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly closedMs: number | null;
}

/** One change of a reservation and its reason; append-only. Each event happens to a reservation at most once; the amounts are signed. */
export interface EntryRow {
  readonly reservationId: ReservationId;
  readonly event: "admitted" | "unresolved" | "settled" | "released" | "expired_charged" | "corrected";
  readonly held: number;
  readonly spent: number;
  readonly overrun: number;
  readonly reason: string;
  readonly nodeId: string;
  readonly atMs: number;
}

/** A gateway process; `epoch` rises with each of its starts. */
export interface NodeIdentity {
  readonly id: string;
  readonly epoch: number;
}

/** A call whose cost the aggregator is to be asked about, first at `nextMs`. */
export interface LookupRow {
  readonly reservationId: ReservationId;
  readonly generationId: string;
  readonly nextMs: number;
}

/** The request and the attempt that an id names. */
export function partsOfReservationId(id: ReservationId): { readonly requestId: string; readonly attempt: number } {
  const dot = id.lastIndexOf(".");
  return { requestId: id.slice(0, dot), attempt: Number(id.slice(dot + 1)) };
}

export function isOpen(state: ReservationState): boolean {
  return state === "HELD" || state === "UNRESOLVED";
}

/** What a reservation has taken from its accounts for good. */
export function chargedOf(row: Pick<ReservationRow, "state" | "actual" | "hold">): number {
  if (row.state === "SETTLED" || row.state === "CORRECTED") return row.actual ?? row.hold;
  return row.state === "EXPIRED_CHARGED" ? row.hold : 0;
}
