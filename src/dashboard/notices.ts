import type { ModelKey } from "#domain/model.ts";
import type { HealthState } from "#health/health.ts";

/** A change of a model's health. */
export interface HealthNotice {
  readonly model: ModelKey;
  readonly to: HealthState;
  readonly reason: string;
  readonly atMs: number;
}

/** What the aggregator's list of models, or its answer to a call, says against our prices. */
export interface DriftNotice {
  readonly model: ModelKey;
  readonly reason: string;
  readonly detail: string;
  readonly atMs: number;
}

/** Changes of state that are remembered of each model. */
const maxChanges = 50;

/** Events since the start that an operator should see. Their models are the registry's, of which there are a handful. */
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
