import type { ReservationId } from "#ledger/ledger.ts";
import { RecentMap } from "#ledger/recent-map.ts";
import type { BatchDecision } from "#ledger/rules/decide-batch.ts";
import { type LedgerBatch, reservationIdOfOperation } from "#ledger/rules/operations.ts";
import { type AccountId, type AccountRow, isOpen, type ReservationRow } from "#ledger/rules/rows.ts";
import { hasChanges } from "./write-message.ts";

export const maxRemembered = 100_000;

/** The rows that this node has last read or written. Nothing is decided by the times in them. */
export class NodeMemory {
  readonly accounts = new RecentMap<AccountId, AccountRow>(maxRemembered);
  readonly openReservations = new RecentMap<ReservationId, ReservationRow>(maxRemembered);
  /** The accounts of reservations that this node has written or tried to write: what a later batch has to lock for them. */
  readonly #accountsOf = new RecentMap<ReservationId, readonly AccountId[]>(maxRemembered);
  /** Accounts whose rows are known to exist. */
  readonly #existing = new Set<AccountId>();

  accountsOf(id: ReservationId): readonly AccountId[] | undefined {
    return this.#accountsOf.get(id);
  }

  /** Of the accounts given, those that may have to be inserted. */
  unknownAccounts(ids: readonly AccountId[]): AccountId[] {
    return ids.filter((id) => !this.#existing.has(id));
  }

  /** Reservations of a batch whose accounts are not known; reserves name their own. */
  unknownReservations(batch: LedgerBatch): Set<ReservationId> {
    const unknown = new Set<ReservationId>();
    for (const operation of batch.operations) {
      const id = reservationIdOfOperation(operation);
      if (operation.kind !== "reserve" && this.#accountsOf.get(id) === undefined) unknown.add(id);
    }
    return unknown;
  }

  setAccountsOf(id: ReservationId, accounts: readonly AccountId[]): void {
    this.#accountsOf.set(id, accounts);
  }

  /** Adds to the accounts that are locked for a reservation. */
  addAccountsOf(id: ReservationId, accounts: readonly AccountId[]): void {
    this.#accountsOf.set(id, [...new Set([...accounts, ...(this.#accountsOf.get(id) ?? [])])]);
  }

  /** Accounts that could not be locked do not exist and have to be inserted. */
  forgetMissing(ids: readonly AccountId[], locked: ReadonlyMap<AccountId, AccountRow>): void {
    for (const id of ids) if (!locked.has(id)) this.#existing.delete(id);
  }

  /** Stores what a committed batch has written. */
  remember(batch: LedgerBatch, { reply, changes }: BatchDecision): void {
    if (hasChanges(changes)) {
      // Only now: rows inserted by a transaction that did not commit do not exist.
      for (const { id } of reply.accounts) this.#existing.add(id);
      if (this.#existing.size > maxRemembered) this.#existing.clear();
    }
    for (const row of reply.accounts) this.accounts.set(row.id, row);
    for (const row of changes.inserted) if (isOpen(row.state)) this.openReservations.set(row.id, row);
    for (const { after } of changes.updated) {
      if (isOpen(after.state)) {
        this.openReservations.set(after.id, after);
      } else {
        this.openReservations.delete(after.id);
        this.#accountsOf.delete(after.id);
      }
    }
    for (const [index, operation] of batch.operations.entries()) {
      // Refused: there is no row whose accounts would have to be known.
      if (operation.kind === "reserve" && reply.replies[index]?.kind === "refused") {
        this.#accountsOf.delete(operation.reservation.id);
      }
    }
  }
}
