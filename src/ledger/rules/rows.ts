import type { Writable } from "#domain/writable.ts";
import type { ActualSource, ReservationId } from "#ledger/ledger.ts";

/** The rows of the ledger, as every store keeps them. Amounts are nano-USD, times milliseconds since the Unix epoch. */

export type AccountId = string;

/** Money in an account, or what one reservation takes of it. */
export interface Amounts {
  readonly held: number;
  readonly spent: number;
  /** Costs above the holds of their attempts; part of `spent`. */
  readonly overrun: number;
  /** Holds of calls whose cost stayed unknown; part of `spent`. */
  readonly unproven: number;
}

export interface AccountRow extends Amounts {
  readonly id: AccountId;
  /** The hard cap that the last admission was measured against; null before the first. */
  readonly hard: number | null;
  /** An operator's own hard cap; null when the policy's holds. */
  readonly ownHard: number | null;
}

/** What is taken from a divided account by way of one slot, and how much of the cap it may use. */
export interface ShareRow extends Amounts {
  readonly account: AccountId;
  /** Each living node has one of its own; reused when a node is gone. */
  readonly slot: number;
  readonly granted: number;
}

export type ReservationState = "HELD" | "UNRESOLVED" | "SETTLED" | "RELEASED" | "EXPIRED_CHARGED" | "CORRECTED";

export interface ReservationRow {
  readonly id: ReservationId;
  readonly goalAccount: AccountId;
  readonly dayAccount: AccountId;
  /** Of the caller's key and the day, where the key has a cap of its own. */
  readonly keyAccount: AccountId | null;
  /** Whose shares of divided accounts it is held in. */
  readonly slot: number;
  readonly hold: number;
  readonly actual: number | null;
  readonly source: ActualSource | null;
  readonly state: ReservationState;
  readonly model: string;
  readonly nodeId: string;
  readonly nodeEpoch: number;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly closedMs: number | null;
}

/** One change of a reservation and its reason; append-only. Each event happens to a reservation at most once; the amounts are signed. */
export interface EntryRow {
  readonly reservationId: ReservationId;
  readonly event: "admitted" | Lowercase<Exclude<ReservationState, "HELD">>;
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
  readonly hold: number;
  readonly nextMs: number;
}

/** The request and the attempt that an id names. */
export function partsOfReservationId(id: ReservationId): { readonly requestId: string; readonly attempt: number } {
  const dot = id.lastIndexOf(".");
  return { requestId: id.slice(0, dot), attempt: Number(id.slice(dot + 1)) };
}

/** The accounts that a reservation is held in and charged to. */
export function accountsOf(row: Pick<ReservationRow, "goalAccount" | "dayAccount" | "keyAccount">): AccountId[] {
  const { goalAccount, dayAccount, keyAccount } = row;
  return keyAccount === null ? [goalAccount, dayAccount] : [goalAccount, dayAccount, keyAccount];
}

export function isOpen(state: ReservationState): boolean {
  return state === "HELD" || state === "UNRESOLVED";
}

/** What a reservation has taken from its accounts for good. */
export function chargedOf(row: Pick<ReservationRow, "state" | "actual" | "hold">): number {
  if (row.state === "SETTLED" || row.state === "CORRECTED") return row.actual ?? row.hold;
  return row.state === "EXPIRED_CHARGED" ? row.hold : 0;
}

export const noAmounts: Amounts = { held: 0, spent: 0, overrun: 0, unproven: 0 };

/** What a reservation takes from each of its accounts. */
export function amountsOf(row: ReservationRow): Amounts {
  const spent = chargedOf(row);
  return {
    held: isOpen(row.state) ? row.hold : 0,
    spent,
    overrun: Math.max(0, spent - row.hold),
    unproven: row.state === "EXPIRED_CHARGED" ? row.hold : 0,
  };
}

/** Adds amounts in place: a hot account changes with nearly every operation. */
export function addAmounts(to: Writable<Amounts>, { held, spent, overrun, unproven }: Amounts): void {
  to.held += held;
  to.spent += spent;
  to.overrun += overrun;
  to.unproven += unproven;
}

/** An aggregator's record of a call appears some seconds after it. */
export const firstLookupMs = 3_000;
/** How often a call is asked about: with a pause of 5 s that doubles, for some five minutes. */
export const maxLookups = 7;
/** Pause after the first claim, in milliseconds; each further claim doubles it. */
export const lookupPauseMs = 5_000;
/** A lookup that nobody has claimed for this long (lookups are off, or no gateway ran) is deleted. */
export const staleLookupMs = 86_400_000;
/** A hold expires this long after the deadline of its attempt. */
export const expiryGraceMs = 60_000;
/** A node whose last heartbeat is older than this counts as dead. */
export const nodeTimeoutMs = 60_000;
/**
 * A node whose last heartbeat is older than this has missed two: its holds are not taken over yet, but no refusal
 * advises to wait for their calls.
 */
export const nodeSuspectMs = 12_000;
