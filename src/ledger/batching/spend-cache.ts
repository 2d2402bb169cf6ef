import { nanoUsd } from "#domain/money/money.ts";
import type { DaySpend, GoalId, Spend } from "#ledger/ledger.ts";
import { RecentMap } from "#ledger/recent-map.ts";
import { accountSpendOf, dayAccountOf, goalAccountOf, spendOf } from "#ledger/rules/accounts.ts";
import type { AccountId, AccountRow } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";

const maxCachedAccounts = 10_000;

/** The accounts as this node has last seen them in a reply of the store. */
export class SpendCache {
  readonly #accounts = new RecentMap<AccountId, AccountRow>(maxCachedAccounts);
  #day: UtcDay | undefined;

  /** The newest day of the store's clock; undefined before the first reply. */
  get day(): UtcDay | undefined {
    return this.#day;
  }

  spend(goal: GoalId): Spend | undefined {
    if (this.#day === undefined) return undefined;
    const goalRow = this.#accounts.get(goalAccountOf(goal, this.#day));
    const dayRow = this.#accounts.get(dayAccountOf(this.#day));
    return goalRow === undefined || dayRow === undefined ? undefined : spendOf(this.#day, goalRow, dayRow);
  }

  daySpend(): DaySpend | undefined {
    const row = this.#day === undefined ? undefined : this.#accounts.get(dayAccountOf(this.#day));
    if (row === undefined) return undefined;
    return { ...accountSpendOf(row), ...(row.ownHard === null ? {} : { hardOverride: nanoUsd(row.ownHard) }) };
  }

  /** From the reply to a batch. */
  store(day: UtcDay, rows: readonly AccountRow[]): void {
    if (this.#day === undefined || day > this.#day) this.#day = day;
    for (const row of rows) this.#accounts.set(row.id, row);
  }

  /** From a read. While a batch is in flight its reply will be newer than what the read has seen: only missing rows are stored. */
  storeRead(day: UtcDay, rows: readonly AccountRow[], batchInFlight: boolean): void {
    this.store(
      day,
      rows.filter(({ id }) => !batchInFlight || this.#accounts.get(id) === undefined),
    );
  }
}
