import type { Settings } from "#config/settings.ts";
import type { BillingLookups, Ledger, SharedConnection } from "#ledger/ledger.ts";
import type { RecentNotices } from "#operator/sources.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import type { Log } from "#telemetry/log/log.ts";
import type { Metrics } from "#telemetry/metrics/metrics.ts";
import type { LiveConfiguration } from "./live-configuration.ts";

/** What all parts of one gateway share. */
export interface GatewayContext {
  readonly version: string;
  readonly settings: Settings;
  readonly configuration: LiveConfiguration;
  /** Every part takes these, so they are passed on as one. */
  readonly time: { readonly clock: Clock; readonly timers: Timers; readonly random: Random };
  readonly log: Log;
  readonly metrics: Metrics;
  /** Events that the dashboard shows later. */
  readonly notices: RecentNotices;
  /** Replaces the ledger of the settings. */
  readonly ledger?: GatewayLedger;
  readonly closing: Closing;
  /** Whether other processes may use the same database. */
  readonly sharesDatabase: boolean;
}

export type GatewayLedger = Ledger & BillingLookups & SharedConnection;

/** How long the parts with a timeout may delay the end of the process, together. Their last writes may be lost. */
const closeTimeoutMs = 3_000;

/** Closes the parts of the gateway in the reverse order of their opening. */
export class Closing {
  readonly #parts = new AsyncDisposableStack();
  readonly #timers: Timers;
  #limit: Promise<void> | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Adds a part whose closing is always awaited, such as the ledger. */
  add(close: () => void | Promise<void>): void {
    this.#parts.defer(close);
  }

  /** Adds a part whose closing is awaited for `closeTimeoutMs`: a database that does not answer must not block the end. */
  addWithTimeout(close: () => void | Promise<void>): void {
    this.#parts.defer(() => {
      // The time counts from the first part that has a timeout.
      this.#limit ??= new Promise((resolve) => void this.#timers.after(closeTimeoutMs, resolve));
      return Promise.race([close(), this.#limit]);
    });
  }

  async closeAll(): Promise<void> {
    await this.#parts.disposeAsync();
  }
}
