import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import { RecentTimes } from "#platform/recent-times.ts";
import type { Clock, Random } from "#platform/time.ts";
import type {
  AggregatorStatus,
  HealthChange,
  HealthRegistry,
  HealthView,
  ModelHealth,
  ModelHealthStatus,
  Permit,
  Verdict,
} from "./health.ts";
import { isRoutable, mayProbeEarly, nextChange, ownRetryAt, reasonOf } from "./routability.ts";
import {
  afterAnswer,
  afterFailure,
  afterNeutral,
  allowsAttempt,
  type Breaker,
  closedBreaker,
  withProbe,
} from "./state-machine/aggregator-breaker.ts";
import { shedShare, windowTally } from "./state-machine/evidence.ts";
import {
  type Health,
  type HealthEvent,
  type HealthRules,
  initialHealth,
  isServing,
  type TransitionContext,
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
  readonly firstTokens: RecentTimes;
  disabledByOperator: boolean;
  /** Whether the upstream stated the pause (Retry-After); false: our own guess after a bare 429. */
  pauseIsStated: boolean;
  /** The latest answers that cost more than their holds; as many as a quarantine takes. */
  priceBreachesAtMs: readonly number[];
}

/** The percentile of first tokens holds this long, so that a model that turns slow is measured against what it used to be. */
const tokensHoldMs = 600_000;
const rememberedTokens = 500;
/** A failure that comes sooner has cost its caller little. */
const quickMs = 1_000;

/** One call to a model, from its admission to its verdict. */
interface Attempt {
  readonly model: ModelKey;
  readonly entry: Entry;
  readonly epoch: number;
  readonly startedMs: number;
  /** The aggregator's outage that the attempt is a probe of, if it is one. */
  readonly outage: number | undefined;
}

/** Model health in this process: applies the table to what the pipeline reports, and keeps the cheap view it reads. */
export class ProcessHealthRegistry implements HealthRegistry {
  readonly #options: HealthRegistryOptions;
  readonly #entries = new Map<ModelKey, Entry>();
  #known: ModelRegistry | undefined;
  #knownRules: HealthRules | undefined;
  #breaker: Breaker = closedBreaker;
  #lastUrgentMs = Number.NEGATIVE_INFINITY;
  #nowMs = Number.NEGATIVE_INFINITY;
  #lastMonotonic: number;
  #cached: HealthView | undefined;
  #cachedUntilMs = Number.NEGATIVE_INFINITY;

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

  #moment(ms: number): TransitionContext {
    return { ms, jitter: this.#options.random(), rules: this.#options.rules() };
  }

  /** Takes over a reloaded model registry: new models start HEALTHY, removed ones are forgotten. */
  #refresh(ms: number): void {
    const registry = this.#options.models();
    const rules = this.#options.rules();
    if (rules !== this.#knownRules) this.#cached = undefined;
    this.#knownRules = rules;
    if (registry === this.#known) return;
    this.#known = registry;
    this.#cached = undefined;
    for (const key of this.#entries.keys()) if (!registry.models.has(key)) this.#entries.delete(key);
    for (const model of registry.models.values()) {
      if (!this.#entries.has(model.key)) {
        this.#entries.set(model.key, {
          health: initialHealth(ms),
          firstTokens: new RecentTimes(rememberedTokens, tokensHoldMs),
          disabledByOperator: false,
          pauseIsStated: true,
          priceBreachesAtMs: [],
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
    this.#replace(model, entry, next(entry.health, event, this.#moment(ms)));
  }

  #replace(model: ModelKey, entry: Entry, after: Health): void {
    const before = entry.health;
    if (after === before) return;
    entry.health = after;
    // The view of a healthy model depends on its verdicts only through the silence that makes it STALE, which moves later.
    const isSteady = before.state === "HEALTHY" && after.state === "HEALTHY";
    if (!isSteady || after.limitedUntilMs !== before.limitedUntilMs) this.#cached = undefined;
    if (after.state === before.state) return;
    const { state: to, reason, sinceMs: atMs } = after;
    this.#options.onChange?.({ kind: "model", model, from: before.state, to, reason, atMs });
  }

  #setBreaker(after: Breaker, ms: number): void {
    const before = this.#breaker;
    if (after === before) return;
    this.#breaker = after;
    if (after.kind !== "closed" || before.kind !== "closed") this.#cached = undefined;
    if (after.kind === before.kind) return;
    const reason = after.kind === "closed" ? "the aggregator answers again" : after.reason;
    this.#options.onChange?.({ kind: "aggregator", from: before.kind, to: after.kind, reason, atMs: ms });
  }

  /**
   * A model's health with the pauses that count. While no model of the senior fallback chain is routable, a pause after a 429
   * without `Retry-After` is ignored, because its length is a guess; and the most senior model that is out is probed early.
   */
  #effective(model: ModelKey, { health, pauseIsStated }: Entry, ms: number): Health {
    if (isRoutable(health, ms)) return health;
    const { senior_fallback_chain, urgent_probe_every_ms } = this.#options.rules();
    const is = (fits: typeof isRoutable) => (key: ModelKey) => {
      const own = this.#entries.get(key)?.health;
      return own !== undefined && fits(own, ms);
    };
    if (senior_fallback_chain.some(is(isRoutable))) return health;
    if (isServing(health)) return pauseIsStated ? health : { ...health, limitedUntilMs: 0 };
    const out = senior_fallback_chain.filter(is(mayProbeEarly));
    const urgent = out.find((key) => this.#known?.models.get(key)?.role === "senior") ?? out[0];
    if (model !== urgent || !("retryAtMs" in health)) return health;
    return { ...health, retryAtMs: Math.min(health.retryAtMs, this.#lastUrgentMs + urgent_probe_every_ms) };
  }

  #build(ms: number): HealthView {
    const rules = this.#options.rules();
    const open = allowsAttempt(this.#breaker, ms);
    const view: { [key: ModelKey]: ModelHealth } = {};
    const openAtMs = this.#breaker.kind === "closed" ? 0 : this.#breaker.untilMs;
    let untilMs = open ? Number.POSITIVE_INFINITY : openAtMs;
    for (const [key, entry] of this.#entries) {
      const health = open ? this.#effective(key, entry, ms) : entry.health;
      const routable = open && isRoutable(health, ms);
      const own = ownRetryAt(health, ms);
      const retryAtMs = open || health.state === "DISABLED" ? own : Math.max(own ?? 0, openAtMs);
      untilMs = Math.min(untilMs, nextChange(entry.health, ms, rules), nextChange(health, ms, rules));
      view[key] = {
        state: health.state,
        routable,
        sinceMs: health.sinceMs,
        reason: reasonOf(entry.health, this.#breaker, ms),
        ...(routable || retryAtMs === undefined ? {} : { retryAtMs }),
      };
    }
    this.#cachedUntilMs = untilMs;
    return view;
  }

  view(): HealthView {
    const ms = this.now();
    this.#refresh(ms);
    if (this.#cached === undefined || ms >= this.#cachedUntilMs) {
      for (const [key, entry] of this.#entries) this.#apply(key, entry, { kind: "time_passed" }, ms);
      this.#cached = this.#build(ms);
    }
    return this.#cached;
  }

  admit(model: ModelKey): Permit | undefined {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined || !allowsAttempt(this.#breaker, ms)) return undefined;
    this.#apply(model, entry, { kind: "time_passed" }, ms);
    const before = entry.health;
    const health = this.#effective(model, entry, ms);
    if (health.limitedUntilMs > ms) return undefined;
    const serving = isServing(before);
    if (!serving) {
      const wanted = next(health, { kind: "wanted" }, this.#moment(ms));
      if (wanted.state !== "HALF_OPEN" || wanted.epoch === before.epoch) return undefined;
      if (!isRoutable(before, ms)) this.#lastUrgentMs = ms;
      this.#replace(model, entry, wanted);
    }
    this.#setBreaker(withProbe(this.#breaker, ms), ms);
    const { epoch } = entry.health;
    const outage = this.#breaker.kind === "closed" ? undefined : this.#breaker.outage;
    const attempt = { model, entry, epoch, startedMs: ms, outage };
    let reported = false;
    return {
      model,
      probe: !serving,
      answering: () => {
        if (!reported) this.#answering(attempt);
      },
      report: (verdict) => {
        if (!reported) this.#ended(attempt, verdict);
        reported = true;
      },
    };
  }

  #answering({ model, entry, epoch, outage }: Attempt): void {
    if (this.#entries.get(model) !== entry) return;
    const ms = this.now();
    this.#setBreaker(afterAnswer(this.#breaker, outage), ms);
    this.#apply(model, entry, { kind: "lease_returned", epoch }, ms);
  }

  #ended(attempt: Attempt, verdict: Verdict): void {
    const { model, entry, outage } = attempt;
    const ms = this.now();
    // A model that a reload removed and brought back is another one.
    if (this.#entries.get(model) !== entry) {
      this.#setBreaker(afterNeutral(this.#breaker, outage), ms);
      return;
    }
    this.#refresh(ms);
    const event = this.#eventOf(verdict, attempt, ms);
    // While the breaker is open no model's counters move, but for pauses and money.
    const isFrozen = this.#breaker.kind !== "closed" && (event?.kind === "succeeded" || event?.kind === "failed");
    const { epoch } = attempt;
    this.#apply(model, entry, event === undefined || isFrozen ? { kind: "lease_returned", epoch } : event, ms);
  }

  /** What a verdict means for the model, undefined for nothing; the breaker and the statistics have it afterwards. */
  #eventOf(verdict: Verdict, attempt: Attempt, ms: number): HealthEvent | undefined {
    const { model, entry, epoch, outage } = attempt;
    const rules = this.#options.rules();
    const quick = ms - attempt.startedMs < quickMs;
    if (verdict.kind === "aggregator_failure") {
      const enabledModels = [...this.#entries.values()].filter(({ health }) => health.state !== "DISABLED").length;
      const failure = { model, outage, reason: verdict.reason, enabledModels, ms };
      const after = afterFailure(this.#breaker, failure, rules);
      this.#setBreaker(after.breaker, ms);
      const reason = "the aggregator cannot be reached for this model";
      return after.blame ? { kind: "unreachable_alone", epoch, reason, quick } : undefined;
    }
    if (verdict.kind === "ignored") {
      this.#setBreaker(afterNeutral(this.#breaker, outage), ms);
      return undefined;
    }
    // A failure (a time-out, perhaps) does not show that the aggregator is well: it ends no run, but it ends the probe.
    if (verdict.kind !== "failure" || outage !== undefined) this.#setBreaker(afterAnswer(this.#breaker, outage), ms);
    switch (verdict.kind) {
      case "success": {
        const slow = verdict.firstTokenMs > Math.max(3 * (entry.firstTokens.p95(ms) ?? 0), rules.slow_floor_ms);
        entry.firstTokens.add(verdict.firstTokenMs);
        return { kind: "succeeded", epoch, slow };
      }
      case "failure":
        return { ...verdict, kind: "failed", epoch, as: "failure", quick };
      case "garbage":
        return { kind: "failed", epoch, as: "garbage", reason: verdict.reason };
      case "delisted":
        return { kind: "failed", epoch, as: "not_found", reason: "404" };
      case "limited":
        // The pause holds for everybody; the lease of a probe is given back only by the probe itself.
        this.#apply(model, entry, { kind: "lease_returned", epoch }, ms);
        entry.pauseIsStated = verdict.retryAfterMs !== undefined;
        return { kind: "limited", untilMs: ms + (verdict.retryAfterMs ?? rules.limited_default_ms) };
      case "price_breach":
        // Money: counts whatever else is the matter. One overrun can be the request's own doing; several are a price.
        return this.#isRepeatedBreach(entry, ms) ? { kind: "price_breached", epoch } : undefined;
    }
  }

  #isRepeatedBreach(entry: Entry, ms: number): boolean {
    const { price_breaches_to_quarantine, price_breach_window_ms } = this.#options.rules();
    entry.priceBreachesAtMs = [...entry.priceBreachesAtMs, ms]
      .filter((atMs) => ms - atMs < price_breach_window_ms)
      .slice(-price_breaches_to_quarantine);
    return entry.priceBreachesAtMs.length >= price_breaches_to_quarantine;
  }

  shed(model: ModelKey): boolean {
    const entry = this.#entries.get(model);
    if (entry?.health.state !== "DEGRADED") return false;
    return this.#options.random() < shedShare(entry.health, this.now(), this.#options.rules());
  }

  /** What the operator says about a model. `enable` lifts the operator's `disable`, never the file's `enabled: false`. */
  override(model: ModelKey, action: OverrideAction): "done" | "unknown_model" {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined) return "unknown_model";
    if (action === "reset") {
      entry.priceBreachesAtMs = [];
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

  /**
   * Takes over what was kept: as it was before a `restart`, or as another node has it now (`running`): then a model that
   * serves here keeps its own evidence, one that is out there is out here, and one that serves there again serves here.
   */
  restore(model: ModelKey, stored: StoredModelHealth, when: "restart" | "running"): void {
    const ms = this.now();
    this.#refresh(ms);
    const entry = this.#entries.get(model);
    if (entry === undefined) return;
    const before = entry.health;
    const limited = { ...before, limitedUntilMs: Math.max(before.limitedUntilMs, stored.detail.limitedUntilMs) };
    const bothServe = isServing(before) && isServing(stored);
    const takeOver = when === "restart" || !(bothServe || before.state === "DISABLED" || stored.state === "DISABLED");
    this.#replace(model, entry, takeOver ? restoredHealth(stored, limited, ms, when) : limited);
    this.#settleDisabled(model, entry, ms);
  }

  /** Sets the end of an UNHEALTHY model's pause: this node alone thinks so. */
  pauseUntil(model: ModelKey, retryAtMs: number): void {
    const entry = this.#entries.get(model);
    if (entry?.health.state !== "UNHEALTHY") return;
    this.#replace(model, entry, { ...entry.health, retryAtMs });
  }

  /** For the operator: what the view leaves out. */
  status(): { readonly models: readonly ModelHealthStatus[]; readonly aggregator: AggregatorStatus } {
    const current = this.view();
    const ms = this.#nowMs;
    const rules = this.#options.rules();
    const models = [...this.#entries].map(([model, { health, firstTokens }]): ModelHealthStatus => {
      const seen = windowTally(health, ms, rules);
      return {
        ...(current[model] as ModelHealth), // the view holds every entry
        model,
        trips: health.tripsAtMs.length,
        answers: seen.ok + seen.failed,
        failures: seen.failed,
        slow: seen.slow,
        shedShare: shedShare(health, ms, rules),
        firstTokenP95Ms: firstTokens.p95(ms),
      };
    });
    const breaker = this.#breaker;
    if (breaker.kind === "closed") return { models, aggregator: { state: "closed" } };
    const { kind: state, sinceMs, reason, untilMs } = breaker;
    return { models, aggregator: { state, sinceMs, reason, ...(untilMs > 0 && { retryAtMs: untilMs }) } };
  }
}
