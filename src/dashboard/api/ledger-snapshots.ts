import type { DashboardSources } from "#dashboard/sources.ts";
import type { HoldTotal, LedgerHold } from "#ledger/admin/holds.ts";
import type { LedgerAccount } from "#ledger/admin/ledger-admin.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { utcDayOf } from "#platform/time.ts";
import { emptyLedgerAccount } from "./caps.ts";
import { storeUnavailable } from "./ledger-admin.ts";

/** The ledger as it was a moment ago, for everybody who looks at it. */
export interface LedgerSnapshot {
  /** The newest days first, then the goals that have spent most. */
  readonly accounts: readonly LedgerAccount[];
  /** Accounts that are left out. */
  readonly more: number;
  /** Those that end first, up to a limit; the totals are of all. */
  readonly holds: readonly LedgerHold[];
  readonly totals: readonly HoldTotal[];
  /** The UTC day of the ledger now: what is spent counts to it. */
  readonly today: string;
}

/** Pages that ask within so long share one reading. */
const maxAgeMs = 1_000;
const maxAccounts = 1_000;
const maxHolds = 1_000;

/** Reads the ledger for the pages, at most once a second however many there are. */
export class LedgerSnapshots {
  readonly #sources: Pick<DashboardSources, "admin" | "clock" | "ledger">;
  #reading: Promise<LedgerSnapshot> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(sources: Pick<DashboardSources, "admin" | "clock" | "ledger">) {
    this.#sources = sources;
  }

  /** Throws an `ApiProblem` when the ledger does not answer. */
  read(): Promise<LedgerSnapshot> {
    const nowMs = this.#sources.clock.monotonic();
    if (this.#reading === undefined || nowMs - this.#readAtMs >= maxAgeMs) {
      this.#readAtMs = nowMs;
      this.#reading = this.#readNow();
    }
    return this.#reading;
  }

  /** What was read is out of date: somebody has changed it. */
  invalidate(): void {
    this.#reading = undefined;
  }

  async #readNow(): Promise<LedgerSnapshot> {
    try {
      const admin = await this.#sources.admin();
      const { clock, ledger } = this.#sources;
      const [{ accounts, more }, { holds, totals }, spend] = await Promise.all([
        admin.accounts(maxAccounts),
        admin.holds({ limit: maxHolds }),
        ledger.read(adhocGoal),
      ]);
      return { accounts, more, holds, totals, today: spend?.day ?? utcDayOf(clock.now()) };
    } catch {
      // A driver's message may hold the database's address.
      this.#reading = undefined;
      const own = this.#ownView();
      if (own !== undefined) return own;
      throw storeUnavailable();
    }
  }

  /** What this process knows of a ledger that nobody else can open: an in-memory one. */
  #ownView(): LedgerSnapshot | undefined {
    const { clock, ledger } = this.#sources;
    const day = ledger.peekDay();
    const { ok, holds } = ledger.status();
    if (!ok || day === undefined) return undefined;
    const today = utcDayOf(clock.now());
    const totals = [
      ...(holds === undefined ? [] : [{ state: "live" as const, ...holds.running }]),
      ...(holds === undefined ? [] : [{ state: "unresolved" as const, ...holds.unresolved }]),
    ].filter(({ count }) => count > 0);
    const account = { ...emptyLedgerAccount(`day/${today}`), ...day };
    return { accounts: [account], more: 0, holds: [], totals, today };
  }
}
