import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import { RecentTimes } from "#platform/recent-times.ts";
import type { Clock, Random } from "#platform/time.ts";
import { EvidenceSources } from "./evidence-sources.ts";
import {
  type EvidenceSource,
  type HealthChange,
  type HealthRegistry,
  type HealthState,
  type HealthView,
  limitedDefaultMs,
  type ModelHealth,
  type Outage,
  type Permit,
  type Verdict,
} from "./health.ts";
import {
  afterAnswer,
  afterFailure,
  allowsAttempt,
  type Breaker,
  closedBreaker,
  probeEveryMs,
  withProbe,
} from "./state-machine/aggregator-breaker.ts";
import { shedShare } from "./state-machine/evidence.ts";
import {
  type Health,
  type HealthEvent,
  type HealthRules,
  initialHealth,
  isServing,
} from "./state-machine/model-health.ts";
import { next } from "./state-machine/transitions.ts";
import { type OverrideAction, restoredHealth, type StoredModelHealth } from "./store/health-store.ts";

export interface HealthRegistryOptions {
  /** The model registry in force; another object after a reload. */
  readonly models: () => ModelRegistry;
  readonly rules: () => HealthRules;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after each change of state, for the log, the metrics and the record. Must not throw. */
  readonly onChange?: (change: HealthChange) => void;
}

interface Entry {
  health: Health;
  sources: EvidenceSources;
  readonly firstTokens: RecentTimes;
  disabledByOperator: boolean;
  /** Whether the upstream stated the pause (Retry-After); false: our own guess after a bare 429. */
  pauseIsStated: boolean;
}

/** The percentile of first tokens holds this long, so that a model that turns slow is measured against what it used to be. */
const tokensHoldMs = 600_000;
const rememberedTokens = 500;
/** An answer is slow when its first token takes longer than this and than three times the model's 95th percentile. */
const slowFloorMs = 10_000;
/** Conversations with a cost above the hold: one can be the request's own doing, several are a price. */
const breachesToQuarantine = 3;
const outStates: ReadonlySet<HealthState> = new Set(["UNHEALTHY", "QUARANTINE", "DISABLED"]);

/** One call to a model. */
type Attempt = Readonly<{ model: ModelKey; entry: Entry; source: EvidenceSource; epoch: number }>;

/** When the pauses of a model end; 0 where it has none. */
function pausedUntil(health: Health): number {
  const out = health.state === "UNHEALTHY" || health.state === "QUARANTINE";
  return Math.max(out ? health.retryAtMs : 0, health.limitedUntilMs);
}

/** Whether a probe is out that has not answered: there is one at a time. */
function isProbed(health: Health, ms: number): boolean {
  return health.state === "HALF_OPEN" && (health.leaseUntilMs ?? 0) > ms;
}

/** What the upstream has asked for is kept, and a price comes before being up: the hard cap does. */
function mayBeEarly({ health, pauseIsStated }: Entry, ms: number): boolean {
  if (health.state === "QUARANTINE" && health.cause === "price_breach") return false;
  return health.limitedUntilMs <= ms || !pauseIsStated;
}

/** Model health in this process: applies the table to what the pipeline reports, and shows it as a view. */
export class ProcessHealthRegistry implements HealthRegistry {
  readonly #options: HealthRegistryOptions;
  readonly #entries = new Map<ModelKey, Entry>();
  #known: ModelRegistry | undefined;
  #breaker: Breaker = closedBreaker;
  #lastEarlyMs = Number.NEGATIVE_INFINITY;
  #nowMs = Number.NEGATIVE_INFINITY;
  #lastMonotonic: number;

  constructor(options: HealthRegistryOptions) {
    this.#options = options;
    this.#lastMonotonic = options.clock.monotonic();
    this.#refresh(this.now());
  }

  /** Wall-clock time that never goes back: a clock set back by an hour must not keep a model out for an hour. */
  now(): number {
    const { clock } = this.#options;
    const monotonic = clock.monotonic();
    this.#nowMs = Math.max(clock.now(), this.#nowMs + Math.max(0, monotonic - this.#lastMonotonic));
    this.#lastMonotonic = monotonic;
    return this.#nowMs;
  }

  /** Takes over a reloaded model registry: new models start HEALTHY, removed ones are forgotten. */
  #refresh(ms: number): void {
    const registry = this.#options.models();
    if (registry === this.#known) return;
    this.#known = registry;
    for (const key of this.#entries.keys()) if (!registry.models.has(key)) this.#entries.delete(key);
    for (const model of registry.models.values()) {
      if (!this.#entries.has(model.key)) {
        this.#entries.set(model.key, {
          health: initialHealth(ms),
          sources: new EvidenceSources(),
          firstTokens: new RecentTimes(rememberedTokens, tokensHoldMs),
          disabledByOperator: false,
          pauseIsStated: true,
        });
      }
    }
    for (const [key, entry] of this.#entries) this.#settleDisabled(key, entry, ms);
  }

  /** Whether a model is disabled is for this node's own files and the operator to say. */
  #settleDisabled(key: ModelKey, entry: Entry, ms: number): void {
    const inFile = this.#known?.models.get(key)?.enabled ?? false;
    const by = inFile ? "by the operator" : "in the model registry";
    const isDisabled = !inFile || entry.disabledByOperator;
    this.#apply(key, entry, isDisabled ? { kind: "disabled", reason: `disabled ${by}` } : { kind: "enabled" }, ms);
  }

  #apply(model: ModelKey, entry: Entry, event: HealthEvent, ms: number): void {
    const { random, rules } = this.#options;
    this.#replace(model, entry, next(entry.health, event, { ms, jitter: random(), rules: rules() }));
  }

  #replace(model: ModelKey, entry: Entry, after: Health): void {
    const before = entry.health;
    entry.health = after;
    if (after.state === before.state) return;
    if (!isServing(after)) entry.sources.endRuns();
    const { state: to, reason, sinceMs: atMs } = after;
    this.#options.onChange?.({ kind: "model", model, from: before.state, to, reason, atMs });
  }

  #setBreaker(after: Breaker, ms: number): void {
    const before = this.#breaker;
    this.#breaker = after;
    if (after.kind === before.kind) return;
    const reason = after.kind === "closed" ? "the aggregator answers again" : after.reason;
    this.#options.onChange?.({ kind: "aggregator", to: after.kind, reason, atMs: ms });
    if (after.kind === "closed") this.#endPauses(ms);
  }

  /** Models that tripped may be probed at once: they are reached in the same way as the one that answers again. */
  #endPauses(ms: number): void {
    for (const [key, entry] of this.#entries)
      if (entry.health.state === "UNHEALTHY") this.#replace(key, entry, { ...entry.health, retryAtMs: ms });
  }

  /**
   * When a model may be called before its own pause is over. While the aggregator cannot be reached its breaker says
   * when a call goes out. While no model of the fallback chain can be called, the most senior one that is out is
   * probed.
   */
  #earlyMs(model: ModelKey, ms: number): number {
    const own = this.#entries.get(model);
    const isAway = this.#breaker.kind === "open" && own?.health.state === "UNHEALTHY";
    if (own !== undefined && isAway && mayBeEarly(own, ms)) return ms;
    const out: ModelKey[] = [];
    for (const key of this.#options.rules().senior_fallback_chain) {
      const entry = this.#entries.get(key);
      if (entry === undefined || entry.health.state === "DISABLED") continue;
      if (pausedUntil(entry.health) <= ms && !isProbed(entry.health, ms)) return Number.POSITIVE_INFINITY;
      if (mayBeEarly(entry, ms)) out.push(key);
    }
    const urgent = out.find((key) => this.#known?.models.get(key)?.role === "senior") ?? out[0];
    return model === urgent ? this.#lastEarlyMs + probeEveryMs : Number.POSITIVE_INFINITY;
  }

  view(): HealthView {
    const ms = this.now();
    this.#refresh(ms);
    const view: { [key: ModelKey]: ModelHealth } = {};
    for (const [key, entry] of this.#entries) {
      this.#apply(key, entry, { kind: "time_passed" }, ms);
      const { state, sinceMs, limitedUntilMs, reason: why } = entry.health;
      const pausedMs = pausedUntil(entry.health);
      const untilMs = pausedMs > ms ? Math.min(pausedMs, this.#earlyMs(key, ms)) : pausedMs;
      const reason = limitedUntilMs > ms && isServing(entry.health) ? "rate limited by the upstream" : why;
      const routable = state !== "DISABLED" && untilMs <= ms;
      const isPaused = untilMs > ms && state !== "DISABLED";
      view[key] = { state, routable, sinceMs, reason, ...(isPaused && { retryAtMs: untilMs }) };
    }
    return view;
  }

  outage(): Outage | undefined {
    if (this.#breaker.kind === "closed") return undefined;
    const { sinceMs, reason, nextProbeMs: retryAtMs } = this.#breaker;
    return { sinceMs, reason, retryAtMs };
  }

  admit(model: ModelKey, source: EvidenceSource): Permit | undefined {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined || !allowsAttempt(this.#breaker, ms)) return undefined;
    this.#apply(model, entry, { kind: "time_passed" }, ms);
    const { health } = entry;
    if (health.state === "DISABLED") return undefined;
    if (pausedUntil(health) > ms || isProbed(health, ms)) {
      if (this.#earlyMs(model, ms) > ms) return undefined;
      this.#lastEarlyMs = ms;
    }
    const probe = !isServing(health);
    if (probe) this.#apply(model, entry, { kind: "wanted" }, ms);
    const outage = this.#breaker.kind === "open" ? this.#breaker.sinceMs : undefined;
    this.#setBreaker(withProbe(this.#breaker, ms), ms);
    const attempt = { model, entry, source, epoch: entry.health.epoch };
    let reported = false;
    return {
      model,
      probe,
      answering: () => {
        if (reported || this.#entries.get(model) !== entry) return;
        this.#setBreaker(afterAnswer(this.#breaker, outage), this.now());
        this.#apply(model, entry, { kind: "lease_returned", epoch: attempt.epoch }, this.now());
      },
      report: (verdict) => {
        if (!reported) this.#ended(attempt, outage, verdict);
        reported = true;
      },
    };
  }

  /** `outage`: the aggregator's that the attempt was a probe of. */
  #ended(attempt: Attempt, outage: number | undefined, verdict: Verdict): void {
    const { model, entry, epoch } = attempt;
    const ms = this.now();
    if (verdict.kind === "aggregator_failure") {
      // Where a single model can be called, it alone must be able to open the breaker.
      const states = this.#options.rules().senior_fallback_chain.map((key) => this.#entries.get(key)?.health.state);
      const callable = states.filter((state) => state !== undefined && !outStates.has(state)).length;
      this.#setBreaker(afterFailure(this.#breaker, { model, reason: verdict.reason, callable, ms }), ms);
    } else if (verdict.kind !== "ignored" && (verdict.kind !== "failure" || outage !== undefined)) {
      // A failure (a time-out, perhaps) does not show that the aggregator is well: it ends an outage, but no run.
      this.#setBreaker(afterAnswer(this.#breaker, outage), ms);
    }
    // A model that a reload removed and brought back is another one.
    if (this.#entries.get(model) !== entry) return;
    this.#refresh(ms);
    const event = this.#eventOf(verdict, attempt, ms);
    // While the breaker is open no model's counters move, but for pauses and money.
    const isFrozen = this.#breaker.kind === "open" && (event?.kind === "succeeded" || event?.kind === "failed");
    this.#apply(model, entry, event === undefined || isFrozen ? { kind: "lease_returned", epoch } : event, ms);
  }

  /** What a verdict means for the model; undefined for nothing. */
  #eventOf(verdict: Verdict, { model, entry, source, epoch }: Attempt, ms: number): HealthEvent | undefined {
    const { sources, firstTokens } = entry;
    switch (verdict.kind) {
      case "success": {
        sources.succeeded(source);
        if (entry.health.state === "HALF_OPEN") this.#endPauses(ms);
        const slow = verdict.firstTokenMs > Math.max(3 * (firstTokens.p95(ms) ?? 0), slowFloorMs);
        firstTokens.add(verdict.firstTokenMs);
        return { kind: "succeeded", epoch, slow };
      }
      case "failure":
        if (verdict.retryAfterMs !== undefined) entry.pauseIsStated = true;
        return { ...verdict, kind: "failed", epoch, as: "failure", run: sources.failed(source, ms) };
      case "garbage": {
        const run = sources.unusable(source, ms);
        return run === 0 ? undefined : { kind: "failed", epoch, as: "garbage", reason: verdict.reason, run };
      }
      case "delisted":
        // Their own `provider` may leave no host for a model that the aggregator knows.
        if (source.conversation === undefined) return undefined;
        return { kind: "failed", epoch, as: "not_found", reason: "404" };
      case "limited":
        // The pause holds for everybody; the lease of a probe is given back only by the probe itself.
        this.#apply(model, entry, { kind: "lease_returned", epoch }, ms);
        entry.pauseIsStated = verdict.retryAfterMs !== undefined;
        return { kind: "limited", untilMs: ms + (verdict.retryAfterMs ?? limitedDefaultMs) };
      case "price_breach":
        return sources.breached(source, ms) >= breachesToQuarantine ? { kind: "price_breached", epoch } : undefined;
      default:
        return undefined;
    }
  }

  shed(model: ModelKey): boolean {
    const entry = this.#entries.get(model);
    if (entry?.health.state !== "DEGRADED") return false;
    return this.#options.random() < shedShare(entry.health, this.now());
  }

  /** What the operator says about a model. `enable` lifts the operator's `disable`, never the file's `enabled: false`. */
  override(model: ModelKey, action: OverrideAction): "done" | "unknown_model" {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined) return "unknown_model";
    if (action === "reset") {
      entry.sources = new EvidenceSources();
      this.#apply(model, entry, { kind: "reset" }, ms);
    } else {
      entry.disabledByOperator = action === "disable";
      this.#settleDisabled(model, entry, ms);
    }
    return "done";
  }

  /** Every model's whole health, to be stored. */
  health(): ReadonlyMap<ModelKey, Health> {
    this.view();
    return new Map([...this.#entries].map(([model, { health }]) => [model, health]));
  }

  /** Takes over what was kept before a restart. */
  restore(model: ModelKey, stored: StoredModelHealth): void {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined) return;
    this.#replace(model, entry, restoredHealth(stored, entry.health, ms));
    this.#settleDisabled(model, entry, ms);
  }
}
