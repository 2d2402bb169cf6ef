import { maxUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import type { LedgerChanges, LedgerNotice, LedgerTime, LedgerView } from "./operations.ts";
import {
  type AccountId,
  type AccountRow,
  accountsOf,
  addAmounts,
  amountsOf,
  type EntryRow,
  type LookupRow,
  type NodeIdentity,
  noAmounts,
  type ReservationRow,
  type ReservationState,
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
   * The part of a cost that can be charged to a reservation: all of it, but that spent and held stay countable in each
   * account. An upstream may have stated costs of millions of dollars; then the account is full for every cap there can
   * be.
   */
  chargeable(row: ReservationRow, actual: number): number {
    const own = amountsOf(row);
    const rooms = accountsOf(row).map((id) => {
      const { held, spent } = this.account(id);
      return maxUsd - held - spent + own.held + own.spent;
    });
    return Math.max(0, Math.min(actual, ...rooms));
  }

  /** Writes the row, appends the entry, and changes the accounts of the reservation by what it takes more or less now. */
  write(row: ReservationRow, reason: string, orphanOf?: string): void {
    const known = this.#reservations.get(row.id);
    if (known === undefined) throw new Error(`reservation ${row.id} written before it was read`);
    const before = known.after === undefined ? noAmounts : amountsOf(known.after);
    const after = amountsOf(row);
    const change = {
      held: after.held - before.held,
      spent: after.spent - before.spent,
      overrun: after.overrun - before.overrun,
      unproven: after.unproven - before.unproven,
    };
    known.after = row;
    const { id, state, hold, model } = row;
    const { held, spent, overrun } = change;
    this.#entries.push({
      reservationId: id,
      // Named after the state that it leads to.
      event: state === "HELD" ? "admitted" : (state.toLowerCase() as Lowercase<typeof state>),
      held,
      spent,
      overrun,
      reason: reason.length > maxReasonLength ? reason.slice(0, maxReasonLength) : reason,
      nodeId: this.node.id,
      atMs: this.time.nowMs,
    });
    for (const account of held !== 0 || spent !== 0 || change.unproven !== 0 ? accountsOf(row) : []) {
      addAmounts(this.account(account), change);
      this.#shares.get(account)?.add(row.slot, change);
    }
    if (state === "HELD") return;
    if (state === "SETTLED") this.heldMs.push(this.time.nowMs - row.createdMs);
    if (state !== "SETTLED" || row.source === "operator") {
      const owner = orphanOf === undefined ? {} : { orphanOf };
      this.notices.push({ kind: "resolved", id, state, hold, charged: after.spent, ...owner });
    }
    if (overrun > 0) this.notices.push({ kind: "overrun", id, model, hold, actual: after.spent });
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
      const before = { id, granted: was, hard: this.#view.account(id).hard };
      const after = { id, granted, hard: this.account(id).hard };
      return after.granted === before.granted && after.hard === before.hard ? [] : [{ before, after }];
    });
    return { accounts, shares, grants, inserted, updated, entries: this.#entries, lookups: this.lookups };
  }
}
