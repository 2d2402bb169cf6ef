import type { AuthKeys } from "#config/auth-keys.ts";
import type { ConfigStatus } from "#config/live-config.ts";
import type { ConfigPaths } from "#config/load-config.ts";
import { type ModelKey, tierOfRole } from "#domain/model.ts";
import type { HealthChange } from "#health/health.ts";
import type { ProcessHealthRegistry } from "#health/registry.ts";
import type { OverrideAction, OverrideRow } from "#health/store/health-store.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { Reconciliation } from "#ledger/reconcile/reconciliation-job.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import type { Configuration } from "#pipeline/ports.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { ExplainedDecision } from "#records/decision-record.ts";
import type { StoredRecords } from "#records/stored-records.ts";
import type { OperatorStores } from "./stores.ts";

/** What a running gateway shows its operators and lets them change; `gateway/open-dashboard.ts` puts it together. */
export interface OperatorSources {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly installation: {
    readonly version: string;
    readonly nodeId: string;
    readonly demo: boolean;
    /** What people type before a command of ours. */
    readonly command: string;
  };
  readonly config: () => Configuration;
  readonly configStatus: () => ConfigStatus;
  /** Undefined where the defaults are in force. */
  readonly files: ConfigPaths;
  readonly ledger: Ledger;
  /** The database as operators use it; each part rejects where it does not answer. */
  readonly stores: Pick<OperatorStores, "admin" | "actions">;
  /** The tokens of callers that this process accepts; undefined: every long-enough one. */
  readonly keys: () => AuthKeys | undefined;
  /** Called with each hold that an operator has closed, so that its decision record gets the cost. */
  readonly holdClosed: (notice: LedgerNotice) => void;
  /** Empty while the policy has them off. */
  readonly records: StoredRecords;
  /** The `policy_hash` of decisions made now; null while no records are kept. */
  readonly policyHash: () => string | null;
  readonly health: Pick<ProcessHealthRegistry, "view" | "outage">;
  /** Operators' overrides are kept in the database and applied here at once; other processes follow within a second. */
  readonly overrides: {
    set(model: ModelKey, action: OverrideAction, by: string): Promise<"done" | "unknown_model">;
    list(): Promise<readonly OverrideRow[]>;
  };
  readonly notices: RecentNotices;
  /** What the aggregator's list of models, as last read, differs in from the registry. */
  readonly drifts: () => readonly DriftNotice[];
  /** When it was last read; undefined: not yet, or nobody wants it. */
  readonly priceBookReadMs: () => number | undefined;
  /** The day's two counts as last read together; undefined without an upstream key. */
  readonly reconciliation: () => Reconciliation | undefined;
  /** A record with its explanation, by decision id or request id. Rejects when the store does not answer. */
  readonly explained: (id: string) => Promise<ExplainedDecision | undefined>;
}

/** The tier of a model by its key; null where the registry does not have it any more. */
export function tierOf({ config }: Pick<OperatorSources, "config">, key: string) {
  const model = config().registry.models.get(key);
  return model === undefined ? null : tierOfRole[model.role];
}

/** A change of a model's health. */
type HealthNotice = Pick<Extract<HealthChange, { readonly kind: "model" }>, "model" | "to" | "reason" | "atMs">;

/** What the aggregator's list of models, or its answer to a call, says against our prices. */
export interface DriftNotice {
  readonly model: ModelKey;
  readonly reason: string;
  readonly detail: string;
  readonly atMs: number;
}

/** Changes of state that are remembered of each model. */
const maxChanges = 50;

/** Events since the start that an operator should see. Their models are the registry's, a handful. */
export class RecentNotices {
  readonly #health = new Map<ModelKey, HealthNotice[]>();
  readonly #filtered = new Map<ModelKey, DriftNotice>();

  /** The oldest first. */
  healthOf(model: ModelKey): readonly HealthNotice[] {
    return this.#health.get(model) ?? [];
  }

  /** Models that the aggregator had no host for within our prices, and when that was last so. */
  get filtered(): readonly DriftNotice[] {
    return [...this.#filtered.values()];
  }

  healthChanged(notice: HealthNotice): void {
    this.#health.set(notice.model, [...this.healthOf(notice.model), notice].slice(-maxChanges));
  }

  filteredNow(notice: DriftNotice): void {
    this.#filtered.set(notice.model, notice);
  }
}
