import type { Settings } from "#config/settings.ts";
import type { RecentNotices } from "#dashboard/notices.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { LedgerEvent } from "#ledger/open-ledger.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import type { Log } from "#telemetry/log/log.ts";
import type { Metrics } from "#telemetry/metrics/metrics.ts";
import type { Closing } from "./closing.ts";
import type { LiveConfiguration } from "./live-configuration.ts";

/** What all parts of one gateway share. */
export interface GatewayContext {
  readonly settings: Settings;
  readonly configuration: LiveConfiguration;
  /** Every part takes these, so they are passed on as one. */
  readonly time: { readonly clock: Clock; readonly timers: Timers; readonly random: Random };
  readonly log: Log;
  readonly metrics: Metrics;
  /** Events that the dashboard shows later. */
  readonly notices: RecentNotices;
  /** Replaces the ledger of the settings. */
  readonly ledger?: Ledger;
  /** Called with each event of the ledger, after it was reported. */
  readonly onLedgerEvent: ((event: LedgerEvent) => void)[];
  readonly closing: Closing;
  /** Whether other processes may use the same database. */
  readonly sharesDatabase: boolean;
}
