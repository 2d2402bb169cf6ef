import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import type { Clock, Random } from "#platform/time.ts";
import { FirstTokenTimes } from "./first-token-times.ts";
import type { HealthRegistry, HealthState, HealthView, ModelHealth, Permit, Verdict } from "./health.ts";
import {
  afterAnswer,
  afterFailure,
  afterNeutral,
  allowsAttempt,
  type Breaker,
  closedBreaker,
  withProbe,
} from "./state-machine/aggregator-breaker.ts";
import {
  type Health,
  type HealthEvent,
  type HealthRules,
  initialHealth,
  next,
  shedShare,
  type TransitionContext,
  windowTally,
} from "./state-machine/transitions.ts";
import type { OverrideAction, StoredModelHealth } from "./store/health-store.ts";
import { restoredHealth } from "./store/restore-health.ts";

export interface HealthRegistryOptions {
  /** The model registry in force; another object after a reload. */
  readonly models: () => ModelRegistry;
  readonly rules: () => HealthRules;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after each change of state, for the log, the metrics and the record. Must not throw. */
  readonly onChange?: (change: HealthChange) => void;
}

/** A change of state, announced once. */
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

/** The registry beyond what the pipeline needs: for the operator, the metrics and whoever keeps it over restarts. */
export interface OperatedHealthRegistry extends HealthRegistry {
  /** What the operator says about a model. `enable` lifts the operator's `disable`, never the file's `enabled: false`. */
  override(model: ModelKey, action: OverrideAction): "done" | "unknown_model";
  status(): { readonly models: readonly ModelHealthStatus[]; readonly aggregator: AggregatorStatus };
  /** Every model's whole health, for whoever keeps it. */
  health(): ReadonlyMap<ModelKey, Health>;
  /**
   * Takes over what was kept: as it was before a `restart`, or as another node has it now (`running`): then a model that
   * serves here keeps its own evidence, one that is out there is out here, and one that serves there again serves here.
   */
  restore(model: ModelKey, kept: StoredModelHealth, when: "restart" | "running"): void;
  /** Sets the end of an UNHEALTHY model's pause: this node alone thinks so. */
  pauseUntil(model: ModelKey, retryAtMs: number): void;
}

interface Entry {
  health: Health;
  readonly firstTokens: FirstTokenTimes;
  disabledByOperator: boolean;
  /** Whether the pause it is under was told to us (Retry-After), or is our own guess after a bare 429. */
  pauseIsStated: boolean;
  /** The latest answers that cost more than their holds; as many as a quarantine takes. */
  priceBreachesAtMs: readonly number[];
}

/** Model health in this process: applies the table to what the pipeline reports, and keeps the cheap view it reads. */
export function healthRegistry(options: HealthRegistryOptions): OperatedHealthRegistry {
  const { clock, random, onChange } = options;
  const entries = new Map<ModelKey, Entry>();
  let known: ModelRegistry | undefined;
  let knownRules: HealthRules | undefined;
  let enabledModels = 0;
  let breaker: Breaker = closedBreaker;
  let probes = 0;
  let lastUrgentMs = Number.NEGATIVE_INFINITY;
  let nowMs = Number.NEGATIVE_INFINITY;
  let lastMonotonic = clock.monotonic();
  let cached: HealthView | undefined;
  let cachedUntilMs = Number.NEGATIVE_INFINITY;

  /** Wall-clock time that never goes back: a clock set back by an hour must not keep a model out for an hour. */
  function now(): number {
    const monotonic = clock.monotonic();
    nowMs = Math.max(clock.now(), nowMs + Math.max(0, monotonic - lastMonotonic));
    lastMonotonic = monotonic;
    return nowMs;
  }

  function moment(ms: number): TransitionContext {
    return { ms, jitter: random(), rules: options.rules() };
  }

  /** Takes over a reloaded model registry: new models start HEALTHY, removed ones are forgotten. */
  function refresh(ms: number): void {
    const registry = options.models();
    const rules = options.rules();
    if (rules !== knownRules) cached = undefined;
    knownRules = rules;
    if (registry === known) return;
    known = registry;
    cached = undefined;
    enabledModels = 0;
    for (const key of entries.keys()) if (!registry.models.has(key)) entries.delete(key);
    for (const model of registry.models.values()) {
      if (model.enabled) enabledModels += 1;
      if (!entries.has(model.key)) {
        entries.set(model.key, {
          health: initialHealth(ms),
          firstTokens: new FirstTokenTimes(),
          disabledByOperator: false,
          pauseIsStated: true,
          priceBreachesAtMs: [],
        });
      }
    }
    for (const [key, entry] of entries) settleDisabled(key, entry, ms);
  }

  function settleDisabled(key: ModelKey, entry: Entry, ms: number): void {
    const inFile = known?.models.get(key)?.enabled ?? false;
    if (!inFile) apply(key, entry, { kind: "disabled", reason: "disabled in the model registry" }, ms);
    else if (entry.disabledByOperator) apply(key, entry, { kind: "disabled", reason: "disabled by the operator" }, ms);
    else apply(key, entry, { kind: "enabled" }, ms);
  }

  function apply(model: ModelKey, entry: Entry, event: HealthEvent, ms: number): void {
    replace(model, entry, next(entry.health, event, moment(ms)));
  }

  function replace(model: ModelKey, entry: Entry, after: Health): void {
    const before = entry.health;
    if (after === before) return;
    entry.health = after;
    if (
      after.epoch !== before.epoch ||
      after.limitedUntilMs !== before.limitedUntilMs ||
      isLeased(after) !== isLeased(before)
    ) {
      cached = undefined;
    }
    // The view's end depends on the last verdict only through the silence that makes a model STALE, and that moves later.
    if (after.state === before.state) return;
    onChange?.({
      kind: "model",
      model,
      from: before.state,
      to: after.state,
      reason: after.reason,
      epoch: after.epoch,
      atMs: after.sinceMs,
    });
  }

  function setBreaker(after: Breaker, ms: number): void {
    const before = breaker;
    if (after === before) return;
    breaker = after;
    if (after.kind === "closed" && before.kind === "closed") return;
    cached = undefined;
    if (after.kind === before.kind) return;
    const reason = after.kind === "closed" ? "the aggregator answers again" : after.reason;
    onChange?.({ kind: "aggregator", from: before.kind, to: after.kind, reason, atMs: ms });
  }

  /** Whose turn an early probe is: the most senior model of the chain that is out, once no model of the chain can serve. */
  function urgentModel(ms: number): ModelKey | undefined {
    const rules = options.rules();
    const chain = rules.senior_fallback_chain.filter((key) => known?.models.get(key)?.enabled === true);
    const seniorFirst = [
      ...chain.filter((key) => known?.models.get(key)?.role === "senior"),
      ...chain.filter((key) => known?.models.get(key)?.role !== "senior"),
    ];
    let candidate: ModelKey | undefined;
    for (const key of seniorFirst) {
      const health = entries.get(key)?.health;
      if (health === undefined) continue;
      if (isRoutable(health, ms)) return undefined;
      const out = health.state === "UNHEALTHY" || (health.state === "QUARANTINE" && health.cause !== "price_breach");
      if (out && health.limitedUntilMs <= ms) candidate ??= key;
    }
    return candidate;
  }

  /**
   * A bare 429 makes us leave the model alone for a while. That is our guess, and no reason to refuse everybody when there is
   * no other model: then those that only a guess keeps out are asked after all.
   */
  function servesInNeed(entry: Entry, ms: number): boolean {
    const { health, pauseIsStated } = entry;
    if (pauseIsStated || !isServing(health) || health.limitedUntilMs <= ms) return false;
    return !options.rules().senior_fallback_chain.some((key) => {
      const other = entries.get(key);
      return other !== undefined && isRoutable(other.health, ms);
    });
  }

  function build(ms: number): HealthView {
    const rules = options.rules();
    const open = allowsAttempt(breaker, ms);
    const urgent = open ? urgentModel(ms) : undefined;
    const urgentAtMs = lastUrgentMs + rules.urgent_probe_every_ms;
    const view: { [key: ModelKey]: ModelHealth } = {};
    let untilMs = open ? Number.POSITIVE_INFINITY : (breakerRetryAt(breaker) ?? ms);
    for (const [key, entry] of entries) {
      const { health } = entry;
      const turn = key === urgent;
      const routable = open && (isRoutable(health, ms) || servesInNeed(entry, ms) || (turn && urgentAtMs <= ms));
      const own = ownRetryAt(health, ms);
      let retryAtMs = turn && own !== undefined ? Math.min(own, urgentAtMs) : own;
      if (!open && health.state !== "DISABLED") retryAtMs = Math.max(retryAtMs ?? 0, breakerRetryAt(breaker) ?? ms);
      untilMs = Math.min(untilMs, nextChange(health, ms, rules), turn && urgentAtMs > ms ? urgentAtMs : untilMs);
      view[key] = {
        state: health.state,
        routable,
        sinceMs: health.sinceMs,
        reason: reasonOf(health, open ? undefined : breaker, ms),
        ...(routable || retryAtMs === undefined ? {} : { retryAtMs }),
      };
    }
    cachedUntilMs = untilMs;
    return view;
  }

  function view(): HealthView {
    const ms = now();
    refresh(ms);
    if (cached === undefined || ms >= cachedUntilMs) {
      for (const [key, entry] of entries) apply(key, entry, { kind: "time_passed" }, ms);
      cached = build(ms);
    }
    return cached;
  }

  function admit(model: ModelKey): Permit | undefined {
    const ms = now();
    refresh(ms);
    const entry = entries.get(model);
    if (entry === undefined || !allowsAttempt(breaker, ms)) return undefined;
    apply(model, entry, { kind: "time_passed" }, ms);
    const before = entry.health;
    if (before.limitedUntilMs > ms && !servesInNeed(entry, ms)) return undefined;
    const serving = isServing(before);
    if (!serving) {
      const urgent =
        !isRoutable(before, ms) &&
        lastUrgentMs + options.rules().urgent_probe_every_ms <= ms &&
        urgentModel(ms) === model;
      const wanted = next(before, { kind: "wanted", urgent }, moment(ms));
      if (wanted.state !== "HALF_OPEN" || wanted.epoch === before.epoch) return undefined;
      if (wanted.urgentRetryAtMs !== null && before.state !== "HALF_OPEN") lastUrgentMs = ms;
      replace(model, entry, wanted);
    }
    const probe = breaker.kind === "closed" ? undefined : ++probes;
    if (probe !== undefined) setBreaker(withProbe(breaker, probe, ms), ms);
    return permit(model, entry, !serving, probe);
  }

  function permit(model: ModelKey, entry: Entry, probe: boolean, breakerProbe: number | undefined): Permit {
    const { epoch } = entry.health;
    let reported = false;
    return {
      model,
      epoch,
      probe,
      answering() {
        if (reported || entries.get(model) !== entry) return;
        const ms = now();
        setBreaker(afterAnswer(breaker, breakerProbe), ms);
        apply(model, entry, { kind: "lease_returned", epoch }, ms);
      },
      report(verdict) {
        if (reported) return;
        reported = true;
        // A model that a reload removed and brought back is another one.
        if (entries.get(model) === entry) judge(model, entry, epoch, breakerProbe, verdict);
        else setBreaker(afterNeutral(breaker, breakerProbe), now());
      },
    };
  }

  function judge(
    model: ModelKey,
    entry: Entry,
    epoch: number,
    breakerProbe: number | undefined,
    verdict: Verdict,
  ): void {
    const ms = now();
    refresh(ms);
    const say = (event: HealthEvent) => apply(model, entry, event, ms);
    if (verdict.kind === "aggregator_failure") {
      const rules = options.rules();
      const failure = { model, probe: breakerProbe, reason: verdict.reason, enabledModels, ms };
      const after = afterFailure(breaker, failure, rules);
      setBreaker(after.breaker, ms);
      say(
        after.blame
          ? { kind: "unreachable_alone", epoch, reason: "the aggregator cannot be reached for this model" }
          : { kind: "lease_returned", epoch },
      );
      return;
    }
    if (verdict.kind === "ignored") {
      setBreaker(afterNeutral(breaker, breakerProbe), ms);
      say({ kind: "lease_returned", epoch });
      return;
    }
    // A failure (a time-out, perhaps) does not show that the aggregator is well: it ends no run, but it ends the probe.
    if (verdict.kind !== "failure" || breakerProbe !== undefined) setBreaker(afterAnswer(breaker, breakerProbe), ms);
    const frozen = breaker.kind !== "closed";
    switch (verdict.kind) {
      case "success": {
        const { slow_floor_ms } = options.rules();
        const slow = verdict.firstTokenMs > Math.max(3 * (entry.firstTokens.p95(ms) ?? 0), slow_floor_ms);
        entry.firstTokens.add(verdict.firstTokenMs);
        say(frozen ? { kind: "lease_returned", epoch } : { kind: "succeeded", epoch, slow });
        break;
      }
      case "failure": {
        const { reason, retryAfterMs } = verdict;
        say(frozen ? { kind: "lease_returned", epoch } : { kind: "failed", epoch, reason, retryAfterMs });
        break;
      }
      case "garbage":
        say(frozen ? { kind: "lease_returned", epoch } : { kind: "garbled", epoch, reason: verdict.reason });
        break;
      case "delisted":
        say(frozen ? { kind: "lease_returned", epoch } : { kind: "not_found", epoch });
        break;
      case "limited": {
        // The pause holds for everybody; the lease of a probe is given back only by the probe itself.
        say({ kind: "lease_returned", epoch });
        entry.pauseIsStated = verdict.retryAfterMs !== undefined;
        say({ kind: "limited", untilMs: ms + (verdict.retryAfterMs ?? options.rules().limited_default_ms) });
        break;
      }
      case "price_breach": {
        // Money: counts whatever else is the matter. One overrun can be the request's own doing; several are a price.
        const { price_breaches_to_quarantine, price_breach_window_ms } = options.rules();
        entry.priceBreachesAtMs = [...entry.priceBreachesAtMs, ms]
          .filter((atMs) => ms - atMs < price_breach_window_ms)
          .slice(-price_breaches_to_quarantine);
        const repeated = entry.priceBreachesAtMs.length >= price_breaches_to_quarantine;
        say(repeated ? { kind: "price_breached", epoch } : { kind: "lease_returned", epoch });
        break;
      }
    }
  }

  refresh(now());
  return {
    view,
    admit,
    shed(model) {
      const ms = now();
      const entry = entries.get(model);
      if (entry?.health.state !== "DEGRADED") return false;
      return random() < shedShare(entry.health, ms, options.rules());
    },
    override(model, action) {
      const ms = now();
      refresh(ms);
      const entry = entries.get(model);
      if (entry === undefined) return "unknown_model";
      if (action === "reset") {
        entry.priceBreachesAtMs = [];
        apply(model, entry, { kind: "reset" }, ms);
        cached = undefined;
      } else {
        entry.disabledByOperator = action === "disable";
        settleDisabled(model, entry, ms);
      }
      return "done";
    },
    health() {
      view();
      return new Map([...entries].map(([model, { health }]) => [model, health]));
    },
    restore(model, kept, when) {
      const ms = now();
      refresh(ms);
      const entry = entries.get(model);
      if (entry === undefined) return;
      const before = entry.health;
      const limited = { ...before, limitedUntilMs: Math.max(before.limitedUntilMs, kept.detail.limitedUntilMs) };
      const takeOver = when === "restart" || (adoptable(before, kept.state) && before.state !== "DISABLED");
      replace(model, entry, takeOver ? restoredHealth(kept, limited, ms, when) : limited);
      cached = undefined;
      // Whether a model is disabled is for this node's own files and the operator to say.
      settleDisabled(model, entry, ms);
    },
    pauseUntil(model, retryAtMs) {
      const entry = entries.get(model);
      if (entry?.health.state !== "UNHEALTHY") return;
      replace(model, entry, { ...entry.health, retryAtMs });
      cached = undefined;
    },
    status() {
      const current = view();
      const ms = nowMs;
      const rules = options.rules();
      const models = [...entries].map(([model, { health, firstTokens }]): ModelHealthStatus => {
        const seen = windowTally(health, ms, rules);
        return {
          ...(current[model] as ModelHealth), // the view holds every entry
          model,
          trips: health.trips,
          limitedUntilMs: health.limitedUntilMs,
          answers: seen.ok + seen.failed,
          failures: seen.failed,
          slow: seen.slow,
          shedShare: shedShare(health, ms, rules),
          firstTokenP95Ms: firstTokens.p95(ms),
        };
      });
      const aggregator: AggregatorStatus = {
        state: breaker.kind,
        sinceMs: breaker.kind === "closed" ? undefined : breaker.sinceMs,
        reason: breaker.kind === "closed" ? undefined : breaker.reason,
        retryAtMs: breakerRetryAt(breaker),
      };
      return { models, aggregator };
    },
  };
}

/** Whether a model in this state is sent whatever comes. */
export function isServing({ state }: { readonly state: HealthState }): boolean {
  return state === "HEALTHY" || state === "DEGRADED" || state === "STALE";
}

function adoptable(own: Health, state: HealthState): boolean {
  return state !== "DISABLED" && !(isServing(own) && isServing({ state }));
}

function isLeased(health: Health): boolean {
  return health.state === "HALF_OPEN" && health.leaseUntilMs !== null;
}

/** May be sent traffic now, as far as this model is concerned. */
function isRoutable(health: Health, ms: number): boolean {
  if (health.limitedUntilMs > ms) return false;
  switch (health.state) {
    case "HEALTHY":
    case "DEGRADED":
    case "STALE":
      return true;
    case "UNHEALTHY":
    case "QUARANTINE":
      return health.retryAtMs <= ms;
    case "HALF_OPEN":
      return health.leaseUntilMs === null || health.leaseUntilMs <= ms;
    case "DISABLED":
      return false;
  }
}

function ownRetryAt(health: Health, ms: number): number | undefined {
  if (health.state === "DISABLED") return undefined;
  const outUntilMs = health.state === "UNHEALTHY" || health.state === "QUARANTINE" ? health.retryAtMs : 0;
  const untilMs = Math.max(outUntilMs, health.limitedUntilMs);
  return untilMs > ms ? untilMs : undefined;
}

/** When the view of a model would change by time alone. */
function nextChange(health: Health, ms: number, rules: HealthRules): number {
  const times = [health.limitedUntilMs];
  if (health.state === "UNHEALTHY" || health.state === "QUARANTINE") times.push(health.retryAtMs);
  if (health.state === "HALF_OPEN" && health.leaseUntilMs !== null) times.push(health.leaseUntilMs);
  if (health.state === "HEALTHY" || health.state === "DEGRADED")
    times.push(health.lastVerdictMs + rules.stale_after_ms);
  return Math.min(...times.filter((time) => time > ms));
}

function reasonOf(health: Health, breaker: Breaker | undefined, ms: number): string {
  if (health.state === "DISABLED") return health.reason;
  if (breaker !== undefined && breaker.kind !== "closed") return breaker.reason;
  return health.limitedUntilMs > ms ? "rate limited by the upstream" : health.reason;
}

function breakerRetryAt(breaker: Breaker): number | undefined {
  if (breaker.kind === "open") return breaker.untilMs;
  return breaker.kind === "half_open" && breaker.leaseUntilMs !== null ? breaker.leaseUntilMs : undefined;
}
