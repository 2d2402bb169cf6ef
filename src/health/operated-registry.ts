import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import type { Clock, Random } from "#platform/time.ts";
import type { HealthRegistry, HealthState, ModelHealth } from "./health.ts";
import type { Breaker } from "./state-machine/aggregator-breaker.ts";
import type { Health, HealthRules } from "./state-machine/model-health.ts";
import type { OverrideAction, StoredModelHealth } from "./store/health-store.ts";

export interface HealthRegistryOptions {
  /** The model registry in force; another object after a reload. */
  readonly models: () => ModelRegistry;
  readonly rules: () => HealthRules;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after each change of state, for the log, the metrics and the record. Must not throw. */
  readonly onChange?: (change: HealthChange) => void;
}

/** A change of state, reported once. */
export type HealthChange =
  | {
      readonly kind: "model";
      readonly model: ModelKey;
      readonly from: HealthState;
      readonly to: HealthState;
      readonly reason: string;
      readonly epoch: number;
      readonly atMs: number;
    }
  | {
      readonly kind: "aggregator";
      readonly from: Breaker["kind"];
      readonly to: Breaker["kind"];
      readonly reason: string;
      readonly atMs: number;
    };

/** One model as metrics and the operator's command show it. */
export interface ModelHealthStatus extends ModelHealth {
  readonly model: ModelKey;
  readonly trips: number;
  readonly limitedUntilMs: number;
  /** Verdicts in the window, and how many of them were failures and slow answers. */
  readonly answers: number;
  readonly failures: number;
  readonly slow: number;
  readonly shedShare: number;
  readonly firstTokenP95Ms: number | undefined;
}

export interface AggregatorStatus {
  readonly state: Breaker["kind"];
  readonly sinceMs: number | undefined;
  readonly reason: string | undefined;
  readonly retryAtMs: number | undefined;
}

/** The registry beyond what the pipeline needs: for the operator, the metrics and the code that stores it across restarts. */
export interface OperatedHealthRegistry extends HealthRegistry {
  /** What the operator says about a model. `enable` lifts the operator's `disable`, never the file's `enabled: false`. */
  override(model: ModelKey, action: OverrideAction): "done" | "unknown_model";
  status(): { readonly models: readonly ModelHealthStatus[]; readonly aggregator: AggregatorStatus };
  /** Every model's whole health, to be stored. */
  health(): ReadonlyMap<ModelKey, Health>;
  /**
   * Takes over what was kept: as it was before a `restart`, or as another node has it now (`running`): then a model that
   * serves here keeps its own evidence, one that is out there is out here, and one that serves there again serves here.
   */
  restore(model: ModelKey, stored: StoredModelHealth, when: "restart" | "running"): void;
  /** Sets the end of an UNHEALTHY model's pause: this node alone thinks so. */
  pauseUntil(model: ModelKey, retryAtMs: number): void;
}
