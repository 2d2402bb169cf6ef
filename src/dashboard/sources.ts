import type { ModelKey } from "#domain/model.ts";
import type { HealthState } from "#health/health.ts";
import type { OperatedHealthRegistry } from "#health/operated-registry.ts";
import type { OverrideAction, OverrideRow } from "#health/store/health-store.ts";
import type { ConfigStatus } from "#http/endpoints/health.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { Configuration } from "#pipeline/ports.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { DecisionRecords } from "#records/records.ts";
import type { ConfigDocument } from "#settings/config-file.ts";
import type { Problem } from "#settings/problem.ts";
import type { OperatorActions } from "./audit/operator-actions.ts";

/** Everything outside itself that the dashboard shows or changes. `gateway/open-dashboard.ts` chooses the implementations. */
export interface DashboardSources {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly installation: Installation;
  readonly config: () => Configuration;
  readonly configStatus: () => ConfigStatus;
  readonly policyFile: PolicyFile;
  readonly ledger: Ledger;
  /** The ledger as operators use it. Rejects where there is none to open, or it does not answer. */
  readonly admin: () => Promise<LedgerAdmin>;
  readonly records: DecisionRecords;
  readonly health: OperatedHealthRegistry;
  readonly overrides: Overrides;
  /** What the gateway has noticed since its start, and may need somebody. */
  readonly notices: Notices;
  readonly actions: OperatorActions;
  /** When the aggregator's list of prices was last read; undefined: not yet, or nobody wants it. */
  readonly priceBookReadAtMs: () => number | undefined;
}

export interface Installation {
  readonly version: string;
  readonly nodeId: string;
  readonly demo: boolean;
  readonly workers: number;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
}

/** What operators have said about models. */
export interface Overrides {
  /** Kept in the database and applied here at once; other processes follow within a second. */
  set(model: ModelKey, action: OverrideAction, by: string): Promise<"done" | "unknown_model">;
  list(): Promise<readonly OverrideRow[]>;
}

export interface PolicyFile {
  /** Undefined: the defaults are in force. */
  readonly path: string | undefined;
  /** The file's own keys and where they stand; undefined without a file, or when it cannot be read now. */
  readonly lines: () => Pick<ConfigDocument, "value" | "lineOf"> | undefined;
  /** What is wrong with the files as they are now. */
  readonly problems: () => Promise<readonly Problem[]>;
  /** A policy that somebody has edited, judged as a file would be, with the registry in force. */
  readonly check: (
    text: string,
  ) => Promise<
    | { readonly kind: "ok"; readonly policy: Configuration["policy"] }
    | { readonly kind: "invalid"; readonly problems: readonly Problem[] }
  >;
}

export interface HealthNotice {
  readonly model: ModelKey;
  readonly to: HealthState;
  readonly reason: string;
  readonly atMs: number;
}

export interface DriftNotice {
  readonly model: ModelKey;
  readonly reason: string;
  readonly detail: string;
  readonly atMs: number;
}

export interface Notices {
  /** Changes of state, the oldest first; a bounded number per model. */
  healthOf(model: ModelKey): readonly HealthNotice[];
  /** The newest drift of each model and reason. */
  readonly drifts: readonly DriftNotice[];
}
