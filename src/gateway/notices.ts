import type { DriftNotice, HealthNotice, Notices } from "#dashboard/sources.ts";
import type { ModelKey } from "#domain/model.ts";
import { healthStates } from "#health/health.ts";
import type { Clock } from "#platform/time.ts";
import type { Log, LogEvents } from "#telemetry/log/log.ts";

/** Changes of state that are remembered of each model. */
const maxChanges = 50;
/** Models that are remembered; a registry has a handful. */
const maxModels = 200;

/** Remembers log events for the dashboard: changes of health, and models that had no host within our prices. */
export class RecentNotices implements Notices {
  readonly #clock: Clock;
  readonly #health = new Map<ModelKey, HealthNotice[]>();
  readonly #filtered = new Map<string, DriftNotice>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Passes events on to `log`, and remembers those that the dashboard shows. */
  observing(log: Log): Log {
    return (event, fields, atMs) => {
      log(event, fields, atMs);
      // The fields are those of the event: the log's type has checked them.
      if (event === "health_changed") this.#healthChanged(fields as LogEvents["health_changed"]);
      else if (event === "price_drift") this.#priceDrifted(fields as LogEvents["price_drift"]);
    };
  }

  healthOf(model: ModelKey): readonly HealthNotice[] {
    return this.#health.get(model) ?? [];
  }

  get filtered(): readonly DriftNotice[] {
    return [...this.#filtered.values()];
  }

  #healthChanged({ model, to, reason }: LogEvents["health_changed"]): void {
    const state = healthStates.find((one) => one === to);
    const changes = this.#health.get(model) ?? [];
    if (state === undefined || (changes.length === 0 && this.#health.size >= maxModels)) return;
    changes.push({ model, to: state, reason, atMs: this.#clock.now() });
    if (changes.length > maxChanges) changes.shift();
    this.#health.set(model, changes);
  }

  #priceDrifted({ model, reason, detail }: LogEvents["price_drift"]): void {
    // Drifts for other reasons are found again at each reading of the price list.
    if (reason !== "constraint_filtered") return;
    if (!this.#filtered.has(model) && this.#filtered.size >= maxModels) return;
    this.#filtered.set(model, { model, reason, detail, atMs: this.#clock.now() });
  }
}
