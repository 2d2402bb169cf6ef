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
import { isRoutable, isServing, mayAdopt, nextChange, ownRetryAt, reasonOf } from "./routability.ts";
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

/** A class: two closures for each request would be more objects than what they hold. */
class AttemptPermit implements Permit {
  readonly model: ModelKey;
  readonly entry: Entry;
  readonly epoch: number;
  readonly probe: boolean;
  /** The aggregator's outage that the attempt is a probe of, if it is one. */
  readonly outage: number | undefined;
  readonly #registry: ProcessHealthRegistry;
  #reported = false;

  constructor(
    registry: ProcessHealthRegistry,
    model: ModelKey,
    entry: Entry,
    probe: boolean,
    outage: number | undefined,
  ) {
    this.#registry = registry;
    this.model = model;
    this.entry = entry;
    this.epoch = entry.health.epoch;
    this.probe = probe;
    this.outage = outage;
  }

  answering(): void {
    if (!this.#reported) this.#registry.answering(this);
  }

  report(verdict: Verdict): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#registry.ended(this, verdict);
  }
}

/** Model health in this process: applies the table to what the pipeline reports, and keeps the cheap view it reads. */
export class ProcessHealthRegistry implements HealthRegistry {
  readonly #options: HealthRegistryOptions;
  readonly #entries = new Map<ModelKey, Entry>();
  #known: ModelRegistry | undefined;
  #knownRules: HealthRules | undefined;
  #enabledModels = 0;
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
    this.#enabledModels = 0;
    for (const key of this.#entries.keys()) if (!registry.models.has(key)) this.#entries.delete(key);
    for (const model of registry.models.values()) {
      if (model.enabled) this.#enabledModels += 1;
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
    const { state: to, reason, epoch, sinceMs: atMs } = after;
    this.#options.onChange?.({ kind: "model", model, from: before.state, to, reason, epoch, atMs });
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

  /** Whose turn an early probe is: the most senior model of the chain that is out, once no model of the chain can serve. */
  #urgentModel(ms: number): ModelKey | undefined {
    const chain = this.#options.rules().senior_fallback_chain.flatMap((key) => this.#known?.models.get(key) ?? []);
    const enabled = chain.filter(({ enabled }) => enabled);
    const seniorFirst = enabled.toSorted((a, b) => Number(b.role === "senior") - Number(a.role === "senior"));
    let candidate: ModelKey | undefined;
    for (const { key } of seniorFirst) {
      const health = this.#entries.get(key)?.health;
      if (health === undefined) continue;
      if (isRoutable(health, ms)) return undefined;
      const out = health.state === "UNHEALTHY" || (health.state === "QUARANTINE" && health.cause !== "price_breach");
      if (out && health.limitedUntilMs <= ms) candidate ??= key;
    }
    return candidate;
  }

  /**
   * After a 429 without `Retry-After` the length of the pause is a guess. A guess is no reason to refuse requests when no other
   * model of the senior fallback chain is routable: then the model serves in spite of its pause.
   */
  #servesWithoutAlternative(entry: Entry, ms: number): boolean {
    const { health, pauseIsStated } = entry;
    if (pauseIsStated || !isServing(health) || health.limitedUntilMs <= ms) return false;
    return !this.#options.rules().senior_fallback_chain.some((key) => {
      const other = this.#entries.get(key);
      return other !== undefined && isRoutable(other.health, ms);
    });
  }

  #build(ms: number): HealthView {
    const rules = this.#options.rules();
    const open = allowsAttempt(this.#breaker, ms);
    const urgent = open ? this.#urgentModel(ms) : undefined;
    const urgentAtMs = this.#lastUrgentMs + rules.urgent_probe_every_ms;
    const view: { [key: ModelKey]: ModelHealth } = {};
    const openAtMs = this.#breaker.kind === "closed" ? 0 : this.#breaker.untilMs;
    let untilMs = open ? Number.POSITIVE_INFINITY : openAtMs;
    for (const [key, entry] of this.#entries) {
      const { health } = entry;
      const turn = key === urgent;
      const routable =
        open && (isRoutable(health, ms) || this.#servesWithoutAlternative(entry, ms) || (turn && urgentAtMs <= ms));
      const own = ownRetryAt(health, ms);
      let retryAtMs = turn && own !== undefined ? Math.min(own, urgentAtMs) : own;
      if (!open && health.state !== "DISABLED") retryAtMs = Math.max(retryAtMs ?? 0, openAtMs);
      untilMs = Math.min(untilMs, nextChange(health, ms, rules), turn && urgentAtMs > ms ? urgentAtMs : untilMs);
      view[key] = {
        state: health.state,
        routable,
        sinceMs: health.sinceMs,
        reason: reasonOf(health, this.#breaker, ms),
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
    if (before.limitedUntilMs > ms && !this.#servesWithoutAlternative(entry, ms)) return undefined;
    const serving = isServing(before);
    if (!serving) {
      const urgent =
        !isRoutable(before, ms) &&
        this.#lastUrgentMs + this.#options.rules().urgent_probe_every_ms <= ms &&
        this.#urgentModel(ms) === model;
      // An early probe: the rest of the pause is remitted.
      const from = urgent ? ({ ...before, retryAtMs: ms } as Health) : before;
      const wanted = next(from, { kind: "wanted" }, this.#moment(ms));
      if (wanted.state !== "HALF_OPEN" || wanted.epoch === before.epoch) return undefined;
      if (urgent) this.#lastUrgentMs = ms;
      this.#replace(model, entry, wanted);
    }
    this.#setBreaker(withProbe(this.#breaker, ms), ms);
    const outage = this.#breaker.kind === "closed" ? undefined : this.#breaker.outage;
    return new AttemptPermit(this, model, entry, !serving, outage);
  }

  /** From a permit: its answer has begun. */
  answering({ model, entry, epoch, outage }: AttemptPermit): void {
    if (this.#entries.get(model) !== entry) return;
    const ms = this.now();
    this.#setBreaker(afterAnswer(this.#breaker, outage), ms);
    this.#apply(model, entry, { kind: "lease_returned", epoch }, ms);
  }

  /** From a permit: how its attempt has ended. */
  ended(permit: AttemptPermit, verdict: Verdict): void {
    const { model, entry, outage } = permit;
    const ms = this.now();
    // A model that a reload removed and brought back is another one.
    if (this.#entries.get(model) !== entry) {
      this.#setBreaker(afterNeutral(this.#breaker, outage), ms);
      return;
    }
    this.#refresh(ms);
    this.#apply(model, entry, this.#eventOf(verdict, permit, ms), ms);
  }

  /** What a verdict means for the model; the breaker and the model's statistics have it afterwards. */
  #eventOf(verdict: Verdict, { model, entry, epoch, outage }: AttemptPermit, ms: number): HealthEvent {
    const leaseReturned: HealthEvent = { kind: "lease_returned", epoch };
    if (verdict.kind === "aggregator_failure") {
      const rules = this.#options.rules();
      const failure = { model, outage, reason: verdict.reason, enabledModels: this.#enabledModels, ms };
      const after = afterFailure(this.#breaker, failure, rules);
      this.#setBreaker(after.breaker, ms);
      return after.blame
        ? { kind: "unreachable_alone", epoch, reason: "the aggregator cannot be reached for this model" }
        : leaseReturned;
    }
    if (verdict.kind === "ignored") {
      this.#setBreaker(afterNeutral(this.#breaker, outage), ms);
      return leaseReturned;
    }
    // A failure (a time-out, perhaps) does not show that the aggregator is well: it ends no run, but it ends the probe.
    if (verdict.kind !== "failure" || outage !== undefined) this.#setBreaker(afterAnswer(this.#breaker, outage), ms);
    const frozen = this.#breaker.kind !== "closed";
    switch (verdict.kind) {
      case "success": {
        const { slow_floor_ms } = this.#options.rules();
        const slow = verdict.firstTokenMs > Math.max(3 * (entry.firstTokens.p95(ms) ?? 0), slow_floor_ms);
        entry.firstTokens.add(verdict.firstTokenMs);
        return frozen ? leaseReturned : { kind: "succeeded", epoch, slow };
      }
      case "failure": {
        const { reason, retryAfterMs } = verdict;
        return frozen ? leaseReturned : { kind: "failed", epoch, as: "failure", reason, retryAfterMs };
      }
      case "garbage":
        return frozen ? leaseReturned : { kind: "failed", epoch, as: "garbage", reason: verdict.reason };
      case "delisted":
        return frozen ? leaseReturned : { kind: "failed", epoch, as: "not_found", reason: "404" };
      case "limited":
        // The pause holds for everybody; the lease of a probe is given back only by the probe itself.
        this.#apply(model, entry, leaseReturned, ms);
        entry.pauseIsStated = verdict.retryAfterMs !== undefined;
        return {
          kind: "limited",
          untilMs: ms + (verdict.retryAfterMs ?? this.#options.rules().limited_default_ms),
        };
      case "price_breach":
        // Money: counts whatever else is the matter. One overrun can be the request's own doing; several are a price.
        return this.#isRepeatedBreach(entry, ms) ? { kind: "price_breached", epoch } : leaseReturned;
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
    const takeOver = when === "restart" || (mayAdopt(before, stored.state) && before.state !== "DISABLED");
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
