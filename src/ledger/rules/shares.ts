import type { Writable } from "#domain/writable.ts";
import { type AccountRow, type Amounts, addAmounts, type ShareRow } from "./rows.ts";

/**
 * What a batch may change of a divided account: shares that it has locked; also what is granted of the cap; or every
 * share, and with that the whole account.
 */
export type ShareScope = "shares" | "grants" | "all";

/** The locked part of an account that nodes share. */
export interface LockedShares {
  readonly scope: ShareScope;
  readonly rows: readonly ShareRow[];
  /** The number of shares that the account has. */
  readonly count: number;
  /** The sum of what they were granted. */
  readonly granted: number;
}

/**
 * An account in shares, so that nodes need not wait for each other. Always: what a share has held and spent ≤ what it
 * is granted, and the sum of all grants ≤ the cap, or the spending where that is above it. So an admission from one
 * share can be decided without the others, and a refusal needs all of them: money is never idle. Nobody owns a share: a
 * batch locks it and reads it, whoever uses its slot.
 */
export class AccountShares {
  readonly #locked: LockedShares;
  readonly #ownSlot: number;
  readonly #rows = new Map<number, { readonly before: ShareRow; readonly after: Writable<ShareRow> }>();
  #granted: number;

  /** `ownSlot`: the one that this node reserves from. */
  constructor(locked: LockedShares, ownSlot: number) {
    this.#locked = locked;
    this.#ownSlot = ownSlot;
    this.#granted = locked.granted;
    for (const row of locked.rows) this.#rows.set(row.slot, { before: row, after: { ...row } });
  }

  get isWhole(): boolean {
    return this.#locked.scope === "all";
  }

  get was(): number {
    return this.#locked.granted;
  }

  get granted(): number {
    return this.#granted;
  }

  /** Of the own share. */
  get free(): number {
    const own = this.#rows.get(this.#ownSlot)?.after;
    return own === undefined ? 0 : own.granted - own.held - own.spent;
  }

  /** What this node can still hold under a cap, by what is locked. `account` is the sum of all shares. */
  roomUnder(hard: number, account: AccountRow): number {
    if (this.isWhole) return hard - account.held - account.spent;
    const left = hard - this.#granted;
    if (this.#locked.scope === "grants") return this.free + left;
    // Under another cap than the one that was granted from, a share says nothing.
    return account.hard === hard && left >= 0 ? this.free : Number.NEGATIVE_INFINITY;
  }

  /** What has to be locked for an amount that does not fit by what is. */
  scopeFor(amount: number, hard: number): ShareScope {
    return this.#locked.scope === "shares" && amount <= this.free + hard - this.#granted ? "grants" : "all";
  }

  /** Changes the share that a reservation belongs to. */
  add(slot: number, amounts: Amounts): void {
    const share = this.#rows.get(slot)?.after;
    if (share === undefined) throw new Error(`a share of slot ${slot} is changed that is not locked`);
    addAmounts(share, amounts);
  }

  /**
   * Grants every share what it has taken, and the own one half of a fair part of what the cap leaves; with all shares
   * locked the others give back what they do not use. Answers what has to be locked for it instead, where that is more.
   */
  grant(hard: number): ShareScope | undefined {
    const { scope, count } = this.#locked;
    const rows = [...this.#rows.values()].map(({ after }) => after);
    const lacking = rows.reduce((sum, row) => sum + Math.max(0, row.held + row.spent - row.granted), 0);
    if (scope !== "all" && lacking > 0 && lacking > hard - this.#granted) return "all";
    if (scope === "shares") return lacking > 0 ? "grants" : undefined;
    for (const row of rows) {
      const used = row.held + row.spent;
      this.#granted -= row.granted;
      row.granted = scope === "all" ? used : Math.max(used, row.granted);
      this.#granted += row.granted;
    }
    const own = this.#rows.get(this.#ownSlot)?.after;
    const more = Math.floor(Math.max(0, hard - this.#granted) / (2 * Math.max(1, count)));
    if (own !== undefined) {
      own.granted += more;
      this.#granted += more;
    }
    return undefined;
  }

  changed(): { readonly before: ShareRow; readonly after: ShareRow }[] {
    return [...this.#rows.values()].filter(
      ({ before, after }) =>
        after.granted !== before.granted ||
        after.held !== before.held ||
        after.spent !== before.spent ||
        after.unproven !== before.unproven,
    );
  }
}
