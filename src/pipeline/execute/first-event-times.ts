import type { Model, ModelKey } from "#domain/model.ts";
import { RecentTimes } from "#platform/recent-times.ts";
import type { Clock } from "#platform/time.ts";

/** So few are remembered, and the percentile follows so soon, that a model which has become slower is not left for long. */
const remembered = 100;
const holdsMs = 5_000;

// When a stream is left for the next model. Measured on lists of providers: a fast model that does not begin within
// four times its 95th percentile rarely begins soon, and what is left too early is paid for twice.
/** Times the 95th percentile of the model's own latest first events. */
const p95Multiple = 4;
/** At least this long, however fast the model has been. */
const leastMs = 8_000;
/** This long while too few first events of the model are known. */
const unknownMs = 12_000;
/** How many times longer both are for models marked `reasoning`. */
const reasoningFactor = 5;
/** Longer by this for each token of the prompt: reading 100,000 takes about five seconds. */
const perTokenMs = 0.05;

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
  limitMs(model: Model, inputTokens: number): number {
    if (model.timeoutsMs.first_event !== undefined) return Number.POSITIVE_INFINITY;
    const p95Ms = this.#models.get(model.key)?.p95(this.#clock.monotonic());
    const factor = model.reasoning ? reasoningFactor : 1;
    const usualMs = p95Ms === undefined ? factor * unknownMs : p95Multiple * p95Ms;
    return Math.max(usualMs, factor * leastMs) + inputTokens * perTokenMs;
  }
}
