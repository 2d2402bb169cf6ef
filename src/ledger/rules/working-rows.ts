import { maxUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import type { LedgerChanges, LedgerNotice, LedgerTime, LedgerView } from "./operations.ts";
import {
  type AccountId,
  type AccountRow,
  accountsOf,
  chargedOf,
  type EntryRow,
  isOpen,
  type LookupRow,
  type NodeIdentity,
  type ReservationRow,
  type ReservationState,
  unprovenOf,
} from "./rows.ts";
import { AccountShares, type ShareScope } from "./shares.ts";

/** Characters of a reason that are kept. */
const maxReasonLength = 200;

/** The rows that one batch reads and changes, while its operations are applied one after the other. */
export class WorkingRows {
  readonly notices: LedgerNotice[] = [];
  readonly heldMs: number[] = [];
  readonly lookups: LookupRow[] = [];
  readonly node: NodeIdentity;
  readonly time: LedgerTime;
  /** Accounts of which more has to be locked before this batch can be decided. */
  readonly short = new Map<AccountId, ShareScope>();
  readonly #view: LedgerView;
  readonly #shares = new Map<AccountId, AccountShares>();
  /** The caps that this batch was measured against, of divided accounts. */
  readonly #caps = new Map<AccountId, number>();
  readonly #accounts = new Map<AccountId, { before: AccountRow; after: Writable<AccountRow> }>();
  readonly #reservations = new Map<
    ReservationId,
    { before: ReservationRow | undefined; after: ReservationRow | undefined }
  >();
  readonly #entries: EntryRow[] = [];

  constructor(view: LedgerView, node: NodeIdentity, time: LedgerTime) {
    this.#view = view;
    this.node = node;
    this.time = time;
  }

  /** The slot whose shares new reservations are held in. */
  get slot(): number {
    return this.#view.slot;
  }

  /** The account as it is after the operations so far. Changed in place: a hot one changes with nearly every operation. */
  account(id: AccountId): Writable<AccountRow> {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known.after;
    const before = this.#view.account(id);
    const after = { ...before };
    this.#accounts.set(id, { before, after });
    const locked = this.#view.shares?.(id);
    if (locked !== undefined) this.#shares.set(id, new AccountShares(locked, this.slot));
    return after;
  }

  /** Whether all of an account is locked, so that its sums can refuse. */
  isWhole(id: AccountId): boolean {
    return this.#shares.get(id)?.isWhole !== false;
  }

  /** Notes where an amount does not fit by what is locked of a divided account. */
  takeFrom(account: AccountRow, amount: number, hard: number): void {
    const shares = this.#shares.get(account.id);
    if (shares === undefined) return;
    this.#caps.set(account.id, hard);
    if (amount > shares.roomUnder(hard, account)) this.#requireScope(account.id, shares.scopeFor(amount, hard));
  }

  /** Behind the last operation: grants for what was taken. Answers what is left to reserve. */
  grant(): Map<AccountId, { readonly free: number; readonly left: number }> {
    const rooms = new Map<AccountId, { free: number; left: number }>();
    for (const [id, shares] of this.#shares) {
      const { hard, ownHard } = this.account(id);
      const cap = this.#caps.get(id) ?? ownHard ?? hard ?? 0;
      const wider = shares.grant(cap);
      if (wider !== undefined) this.#requireScope(id, wider);
      rooms.set(id, { free: shares.free, left: cap - shares.granted });
    }
    return rooms;
  }

  #requireScope(id: AccountId, scope: ShareScope): void {
    if (this.short.get(id) !== "all") this.short.set(id, scope);
  }

  reservation(id: ReservationId): ReservationRow | undefined {
    const known = this.#reservations.get(id);
    if (known !== undefined) return known.after;
    const row = this.#view.reservation(id);
    this.#reservations.set(id, { before: row, after: row });
    return row;
  }

  /**
   * The part of a cost that can be charged to a reservation: all of it, but that spent and held stay countable in each account. An
   * upstream may have stated costs of millions of dollars; then the account is full for every cap there can be.
   */
  chargeable(row: ReservationRow, actual: number): number {
    const taken = isOpen(row.state) ? row.hold : chargedOf(row);
    const rooms = accountsOf(row).map((id) => {
      const { held, spent } = this.account(id);
      return maxUsd - held - spent + taken;
    });
    return Math.max(0, Math.min(actual, ...rooms));
  }

  /** Writes the row, appends the entry, and changes the accounts of the reservation by the same signed amounts. */
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
    const unproven = unprovenOf(row) - (known.after === undefined ? 0 : unprovenOf(known.after));
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
    if (held !== 0 || spent !== 0 || overrun !== 0 || unproven !== 0) {
      for (const id of accountsOf(row)) {
        const account = this.account(id);
        account.held += held;
        account.spent += spent;
        account.overrun += overrun;
        account.unproven += unproven;
        this.#shares.get(id)?.move(row.slot, held, spent, overrun, unproven);
      }
    }
    if (event === "admitted") return;
    if (row.state === "SETTLED") {
      this.heldMs.push(this.time.nowMs - row.createdMs);
      if (row.source !== "operator") return;
    }
    this.notices.push({
      kind: "resolved",
      id: row.id,
      state: row.state,
      hold: row.hold,
      charged: chargedOf(row),
    });
  }

  ignore(id: ReservationId, state: ReservationState | "absent", why: string): void {
    this.notices.push({ kind: "ignored", id, state, why });
  }

  touchedAccounts(): AccountRow[] {
    return [...this.#accounts.values()].map(({ after }) => after);
  }

  changes(): LedgerChanges {
    const inserted: ReservationRow[] = [];
    const updated: { before: ReservationRow; after: ReservationRow }[] = [];
    for (const { before, after } of this.#reservations.values()) {
      if (after === undefined || after === before) continue;
      if (before === undefined) inserted.push(after);
      else updated.push({ before, after });
    }
    const accounts = [...this.#accounts.values()].filter(({ before, after }) => {
      const { id, held, spent, unproven, hard } = after;
      if (this.#shares.has(id)) return false;
      return held !== before.held || spent !== before.spent || unproven !== before.unproven || hard !== before.hard;
    });
    const shares = [...this.#shares.values()].flatMap((divided) => divided.changed());
    const grants = [...this.#shares].flatMap(([id, { was, granted }]) => {
      const { hard } = this.account(id);
      return granted === was && hard === this.#view.account(id).hard ? [] : [{ id, wasGranted: was, granted, hard }];
    });
    return { accounts, shares, grants, inserted, updated, entries: this.#entries, lookups: this.lookups };
  }
}
