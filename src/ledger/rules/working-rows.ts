import type { GoalId, ReservationId } from "#ledger/ledger.ts";
import { accountRowOf, dayAccountOf, goalAccountOf, WorkingAccount } from "./accounts.ts";
import type { LedgerChanges, LedgerNotice, LedgerTime, LedgerView } from "./operations.ts";
import {
  type AccountId,
  type AccountRow,
  chargedOf,
  type EntryRow,
  type LookupRow,
  type NodeIdentity,
  type ReservationRow,
  type ReservationState,
} from "./rows.ts";

/** Characters of a reason that are kept. */
const maxReasonLength = 200;

/** The rows that one batch reads and changes, while its operations are applied one after the other. */
export class WorkingRows {
  readonly notices: LedgerNotice[] = [];
  readonly lookups: LookupRow[] = [];
  readonly node: NodeIdentity;
  readonly time: LedgerTime;
  readonly #view: LedgerView;
  readonly dayAccount: AccountId;
  readonly #goalAccounts = new Map<GoalId, AccountId>();
  readonly #accounts = new Map<AccountId, WorkingAccount>();
  readonly #reservations = new Map<
    ReservationId,
    { before: ReservationRow | undefined; after: ReservationRow | undefined }
  >();
  readonly #entries: EntryRow[] = [];

  constructor(view: LedgerView, node: NodeIdentity, time: LedgerTime) {
    this.#view = view;
    this.node = node;
    this.time = time;
    this.dayAccount = dayAccountOf(time.day);
  }

  /** The account of a goal today; looked up for each reserve, and made once. */
  goalAccount(goal: GoalId): AccountId {
    let id = this.#goalAccounts.get(goal);
    if (id === undefined) {
      id = goalAccountOf(goal, this.time.day);
      this.#goalAccounts.set(goal, id);
    }
    return id;
  }

  account(id: AccountId): WorkingAccount {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      account = new WorkingAccount(this.#view.account(id));
      this.#accounts.set(id, account);
    }
    return account;
  }

  reservation(id: ReservationId): ReservationRow | undefined {
    const known = this.#reservations.get(id);
    if (known !== undefined) return known.after;
    const row = this.#view.reservation(id);
    this.#reservations.set(id, { before: row, after: row });
    return row;
  }

  /** Writes the row, appends the entry, and changes both accounts of the reservation by the same signed amounts. */
  write(
    row: ReservationRow,
    event: EntryRow["event"],
    held: number,
    spent: number,
    overrun: number,
    reason: string,
  ): void {
    const known = this.#reservations.get(row.id);
    if (known === undefined) throw new Error(`reservation ${row.id} written before it was read`);
    known.after = row;
    this.#entries.push({
      reservationId: row.id,
      event,
      held,
      spent,
      overrun,
      reason: reason.length > maxReasonLength ? reason.slice(0, maxReasonLength) : reason,
      nodeId: this.node.id,
      atMs: this.time.nowMs,
    });
    if (held !== 0 || spent !== 0 || overrun !== 0) {
      this.account(row.goalAccount).move(held, spent, overrun);
      this.account(row.dayAccount).move(held, spent, overrun);
    }
    if (event === "admitted") return;
    this.notices.push({
      kind: "resolved",
      id: row.id,
      requestId: row.requestId,
      attempt: row.attempt,
      model: row.model,
      state: row.state,
      hold: row.hold,
      charged: chargedOf(row),
      reason,
    });
  }

  ignore(id: ReservationId, state: ReservationState | "absent", why: string): void {
    this.notices.push({ kind: "ignored", id, state, why });
  }

  touchedAccounts(): AccountRow[] {
    return [...this.#accounts.values()].map(accountRowOf);
  }

  changes(): LedgerChanges {
    const inserted: ReservationRow[] = [];
    const updated: { before: ReservationRow; after: ReservationRow }[] = [];
    for (const { before, after } of this.#reservations.values()) {
      if (after === undefined || after === before) continue;
      if (before === undefined) inserted.push(after);
      else updated.push({ before, after });
    }
    const accounts: LedgerChanges["accounts"][number][] = [];
    for (const account of this.#accounts.values()) {
      const after = accountRowOf(account);
      if (after !== account.before) accounts.push({ before: account.before, after });
    }
    return { accounts, inserted, updated, entries: this.#entries, lookups: this.lookups };
  }
}
