import type { GoalId, Spend } from "#ledger/ledger.ts";
import { dayAccountOf, emptyAccount, goalAccountOf, spendOf } from "#ledger/rules/accounts.ts";
import type { AccountId } from "#ledger/rules/rows.ts";
import type { LedgerStore } from "#ledger/store.ts";
import type { UtcDay } from "#platform/time.ts";
import type { SpendCache } from "./spend-cache.ts";

/** Goals in one read. */
const maxGoals = 256;

/** Reads of the store, coalesced: one is in flight at a time, for everybody who asked before it began. */
export class SpendReader {
  readonly #store: LedgerStore;
  readonly #cache: SpendCache;
  readonly #batchInFlight: () => boolean;
  #waiting: { readonly goal: GoalId; readonly answer: (spend: Spend | undefined) => void }[] = [];
  #reading = false;

  constructor(store: LedgerStore, cache: SpendCache, batchInFlight: () => boolean) {
    this.#store = store;
    this.#cache = cache;
    this.#batchInFlight = batchInFlight;
  }

  /** Calls `answer` with what a read says that begins from now on; with undefined when the store does not answer. */
  read(goal: GoalId, answer: (spend: Spend | undefined) => void): void {
    this.#waiting.push({ goal, answer });
    if (!this.#reading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting.splice(0, maxGoals);
      const accountsOf = (day: UtcDay) => [
        ...new Set([dayAccountOf(day), ...waiting.map(({ goal }) => goalAccountOf(goal, day))]),
      ];
      try {
        const { day, accounts } = await this.#store.read(accountsOf);
        const found = new Map(accounts.map((row) => [row.id, row]));
        const rowOf = (id: AccountId) => found.get(id) ?? emptyAccount(id);
        this.#cache.storeRead(day, accountsOf(day).map(rowOf), this.#batchInFlight());
        for (const { goal, answer } of waiting) {
          answer(spendOf(day, rowOf(goalAccountOf(goal, day)), rowOf(dayAccountOf(day))));
        }
      } catch {
        // Undefined says that the store does not answer.
        for (const { answer } of waiting) answer(undefined);
      }
    }
    this.#reading = false;
  }
}
