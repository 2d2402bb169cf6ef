import type { Policy } from "#config/policy.ts";
import type { Model, ModelKey } from "#domain/model.ts";
import { RecentTimes } from "#platform/recent-times.ts";
import type { Clock } from "#platform/time.ts";

/** So few are remembered, and the percentile follows so soon, that a model which has become slower is not left for long. */
const remembered = 100;
const holdsMs = 5_000;

/** How long streams have waited for the first events of each model, as far as this process has seen them. */
export class FirstEventTimes {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #models = new Map<ModelKey, RecentTimes>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** A stream has waited so long for its first event, or at least so long. */
  add(model: ModelKey, ms: number): void {
    let times = this.#models.get(model);
    if (times === undefined) {
      times = new RecentTimes(remembered, holdsMs);
      this.#models.set(model, times);
    }
    times.add(ms);
  }

  /** How long a stream with this prompt waits before it would rather be answered by another model. */
  limitMs(model: Model, inputTokens: number, rules: Policy["upstream"]["slow_first_event"]): number {
    if (rules.p95_multiple === 0 || model.timeoutsMs.first_event !== undefined) return Number.POSITIVE_INFINITY;
    const p95Ms = this.#models.get(model.key)?.p95(this.#clock.monotonic());
    const factor = model.reasoning ? rules.reasoning_factor : 1;
    const usualMs = p95Ms === undefined ? factor * rules.unknown_ms : rules.p95_multiple * p95Ms;
    return Math.max(usualMs, factor * rules.least_ms) + (inputTokens / 1_000) * rules.per_1000_tokens_ms;
  }
}
