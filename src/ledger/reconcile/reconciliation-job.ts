import { BackgroundJob } from "#platform/background-job.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import { type Clock, endOfUtcDay, type Random, type Timers, type UtcDay, utcDayOf } from "#platform/time.ts";
import type { KeyUsageReading, KeyUsageStore } from "./key-usage-store.ts";

/** A UTC day as the ledger and the aggregator count it, at one moment; amounts in nano-USD. */
export interface Reconciliation {
  readonly day: UtcDay;
  readonly ledgerSpent: number;
  /** Held by calls that are running or of unknown outcome: not spent yet. */
  readonly ledgerHeld: number;
  /** The part of `ledgerSpent` that is holds of calls whose cost stayed unknown: the aggregator may have billed less. */
  readonly ledgerUnproven: number;
  readonly aggregatorSpent: number;
  /** When the aggregator was asked, in milliseconds since the epoch. */
  readonly readMs: number;
}

/** What the aggregator has answered. */
export type UsageAnswer =
  | { readonly kind: "ok"; readonly spent: number; readonly limitRemaining?: number }
  /** `detail` is the gateway's own text. */
  | { readonly kind: "failed"; readonly detail: string };

export interface ReconciliationJobOptions {
  readonly source: string;
  readonly keyDigest: string;
  /** Whether the policy wants the aggregator to be asked; looked at before each reading. */
  readonly enabled: () => boolean;
  /** What was spent with the key since the UTC day began, in nano-USD. Must not reject. */
  readonly ask: (signal: AbortSignal) => Promise<UsageAnswer>;
  /** Today's account in the ledger; undefined while the store is unavailable. */
  readonly ledgerDay: () => Promise<
    { readonly day: UtcDay; readonly spent: number; readonly held: number; readonly unproven: number } | undefined
  >;
  /** Called when there is something to keep, and again after a failure. */
  readonly openStore: () => Promise<KeyUsageStore>;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  readonly random: Random;
  readonly onEvent: (event: ReconciliationEvent) => void;
}

export type ReconciliationEvent =
  | { readonly kind: "read"; readonly reconciliation: Reconciliation; readonly lastOfDay: boolean }
  | { readonly kind: "unavailable"; readonly detail: string }
  /** The reading could not be kept; `budgets reconcile --day` will lack it. */
  | { readonly kind: "store_failed"; readonly error: unknown };

const everyMs = 3_600_000;
const jitterShare = 0.2;
/** The day's last reading is at least this long before midnight, in milliseconds. The nodes spread theirs over the same time. */
const lastReadingMs = 120_000;

/**
 * Reads the aggregator's own count of the day about every hour, and once more shortly before the UTC day ends, beside
 * the ledger's: the aggregator tells a day's count only on that day. Nothing that it does can fail a start or a
 * request.
 */
export class ReconciliationJob {
  readonly #options: ReconciliationJobOptions;
  readonly #closing = new AbortController();
  readonly #job: BackgroundJob;
  readonly #store: LazyStore<KeyUsageStore>;
  /** The two counts of the last reading. */
  latest: Reconciliation | undefined;
  /** What may still be spent with the key, in nano-USD, as last read; undefined where it has no limit. */
  limitRemaining: number | undefined;

  constructor(options: ReconciliationJobOptions) {
    this.#options = options;
    this.#store = new LazyStore(options.openStore);
    const { timers } = options;
    this.#job = new BackgroundJob({ run: () => this.#read(), pauseMs: () => this.#pauseMs(), timers });
  }

  /** Reads for the first time; the caller does not wait. */
  start(): void {
    this.#job.start();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#job.close();
    await this.#store.close();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { ask, clock, enabled, ledgerDay, onEvent } = this.#options;
    if (!enabled()) return;
    const answer = await ask(this.#closing.signal);
    const ledger = await ledgerDay();
    if (this.#closing.signal.aborted) return;
    if (answer.kind === "failed") return onEvent({ kind: "unavailable", detail: answer.detail });
    this.limitRemaining = answer.limitRemaining;
    const readMs = clock.now();
    const day = utcDayOf(readMs);
    // Without the ledger, or across midnight, the two counts are not of one day.
    if (ledger === undefined || ledger.day !== day) return;
    this.latest = {
      day,
      ledgerSpent: ledger.spent,
      ledgerHeld: ledger.held,
      ledgerUnproven: ledger.unproven,
      aggregatorSpent: answer.spent,
      readMs,
    };
    onEvent({
      kind: "read",
      reconciliation: this.latest,
      lastOfDay: endOfUtcDay(readMs) - readMs <= 2 * lastReadingMs,
    });
    const { source, keyDigest } = this.#options;
    await this.#save({ source, keyDigest, day, spent: answer.spent, readMs });
  }

  #pauseMs(): number {
    const { clock, random } = this.#options;
    const nowMs = clock.now();
    const lastMs = endOfUtcDay(nowMs) - lastReadingMs * (1 + random());
    const inAnHour = nowMs + everyMs * (1 - jitterShare * random());
    return (nowMs < lastMs ? Math.min(inAnHour, lastMs) : inAnHour) - nowMs;
  }

  async #save(reading: KeyUsageReading): Promise<void> {
    try {
      await (await this.#store.opened()).save(reading);
    } catch (error) {
      this.#options.onEvent({ kind: "store_failed", error });
    }
  }
}

/** The aggregator's count less the ledger's, in nano-USD. */
export function differenceOf({ aggregatorSpent, ledgerSpent }: Reconciliation): number {
  return aggregatorSpent - ledgerSpent;
}

/** Below this a difference is the rounding of two counts taken at two moments. */
const smallestNotable = 100_000_000;
const notableShare = 0.05;

/**
 * Whether the two differ by more than is known not to be known: above 0.10 USD and 5 %. Money that is held may have
 * been billed already, and what was charged without proof may never have been.
 */
export function isNotable(reconciliation: Reconciliation): boolean {
  const difference = differenceOf(reconciliation);
  const { ledgerHeld, ledgerUnproven } = reconciliation;
  const unexplained = Math.max(0, difference > 0 ? difference - ledgerHeld : -difference - ledgerUnproven);
  const larger = Math.max(reconciliation.aggregatorSpent, reconciliation.ledgerSpent);
  return unexplained > smallestNotable && unexplained > notableShare * larger;
}
