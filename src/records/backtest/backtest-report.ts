import { type ModelRegistry, tierOfRole } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { DecisionRecord, Tier } from "#records/decision-record.ts";

export type BacktestResult = ReturnType<BacktestReport["result"]>;

export interface CostUnder {
  readonly nanoUsd: number;
  /** The request was refused, so its tokens are not recorded: the size of its prompt and a typical answer are used. */
  readonly estimated: boolean;
}

interface Replayed {
  readonly record: DecisionRecord;
  readonly decision: RoutingDecision;
  readonly registry: ModelRegistry;
  readonly cost: CostUnder;
}

const capCauses: ReadonlySet<string | null> = new Set(["budget_soft_cap", "budget_hard_cap_exceeded"]);
const maxChanges = 100;

/** Sums up replayed requests. */
export class BacktestReport {
  readonly #sums = {
    from_ms: null as number | null,
    to_ms: null as number | null,
    /** Records that were replayed. */
    requests: 0,
    /** Records that cannot be replayed: refusals before a decision, and records without inputs. */
    skipped: 0,
    /** Requests that would have gone to another model, would have been refused, or would not have been refused any more. */
    changed: 0,
    /** Requests that would have gone to the same model for another cause. */
    relabelled: 0,
    /**
     * Change of the cost of requests that stay on their model, because earlier requests of their conversation would have gone to
     * another one: the context would then be cached there, not here. Negative: they would cost less.
     */
    cache_delta_nano_usd: 0,
    /** Requests whose cost under the other policy is an estimate, because they had no answer when they were recorded. */
    estimated: 0,
    /** Of the answers of flash whose outcome a caller has reported: those that failed, and those that solved the task. */
    hard: 0,
    easy: 0,
    /** The two errors under the other policy: failed ones that it sends to flash again, solved ones that it sends to pro. */
    hard_to_flash: 0,
    easy_to_pro: 0,
  };
  readonly #before = new Side();
  readonly #after = new Side();
  readonly #days = new Map<string, ReturnType<typeof newDay>>();
  readonly #changes = new Map<string, ReturnType<typeof newChange>>();

  skip({ repeated }: DecisionRecord): void {
    this.#sums.skipped += repeated;
  }

  add({ record, decision, registry, cost }: Replayed): void {
    const sums = this.#sums;
    const delta = cost.nanoUsd - record.cost_nano_usd;
    sums.requests += 1;
    sums.from_ms ??= record.recorded_ms;
    sums.to_ms = record.recorded_ms;
    if (cost.estimated) sums.estimated += 1;
    this.#before.add(record.model, registry, record.cost_nano_usd);
    this.#after.add(decision.model, registry, cost.nanoUsd);
    this.#addToDay(record, decision, cost);
    this.#addOutcome(record, decision, registry);
    if (record.model !== decision.model) sums.changed += 1;
    else if (record.cause !== decision.cause) sums.relabelled += 1;
    else {
      sums.cache_delta_nano_usd += delta;
      return;
    }
    const key = [record.model, record.cause, decision.model, decision.cause].join(" ");
    const change = this.#changes.get(key) ?? newChange(record, decision);
    this.#changes.set(key, change);
    change.requests += 1;
    change.delta_nano_usd += delta;
  }

  /** Only what flash has answered tells what it could do. */
  #addOutcome({ reported, model }: DecisionRecord, decision: RoutingDecision, registry: ModelRegistry): void {
    if (reported === null || tierOf(model, registry) !== "flash") return;
    const tier = tierOf(decision.model, registry);
    if (reported.outcome === "failed") {
      this.#sums.hard += 1;
      if (tier === "flash") this.#sums.hard_to_flash += 1;
    } else {
      this.#sums.easy += 1;
      if (tier === "pro") this.#sums.easy_to_pro += 1;
    }
  }

  #addToDay(record: DecisionRecord, decision: RoutingDecision, cost: CostUnder): void {
    const name = new Date(record.recorded_ms).toISOString().slice(0, 10);
    const day = this.#days.get(name) ?? newDay(name);
    this.#days.set(name, day);
    day.before_nano_usd += record.cost_nano_usd;
    day.after_nano_usd += cost.nanoUsd;
    if (capCauses.has(record.cause)) day.cap_hits_before += 1;
    if (capCauses.has(decision.cause)) day.cap_hits_after += 1;
  }

  result() {
    return {
      ...this.#sums,
      before: this.#before.result(),
      after: this.#after.result(),
      days: [...this.#days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)),
      /** Kinds of change, the most frequent first. */
      changes: [...this.#changes.values()].toSorted((a, b) => b.requests - a.requests).slice(0, maxChanges),
    };
  }
}

/** A UTC day; a cap hit is a request that a soft cap moved or a hard cap refused. */
function newDay(day: string) {
  return { day, before_nano_usd: 0, after_nano_usd: 0, cap_hits_before: 0, cap_hits_after: 0 };
}

function newChange(record: DecisionRecord, { model, cause }: RoutingDecision) {
  return {
    from_model: record.model,
    from_cause: record.cause ?? "",
    to_model: model,
    to_cause: cause,
    requests: 0,
    delta_nano_usd: 0,
    example_decision_id: record.decision_id,
  };
}

function tierOf(model: string | null, { models }: ModelRegistry): Tier | null {
  const role = models.get(model ?? "")?.role;
  return role === undefined ? null : tierOfRole[role];
}

/** What was routed where; what was refused is in no tier. */
class Side {
  readonly #tiers = new Map<Tier | null, number>();
  #refused = 0;
  #cost = 0;

  add(model: string | null, registry: ModelRegistry, cost: number): void {
    this.#cost += cost;
    const tier = tierOf(model, registry);
    if (model === null) this.#refused += 1;
    else this.#tiers.set(tier, (this.#tiers.get(tier) ?? 0) + 1);
  }

  result() {
    const tiers = [...this.#tiers].map(([tier, requests]) => ({ tier, requests }));
    const by_tier = tiers.toSorted((a, b) => b.requests - a.requests);
    return { by_tier, refused: this.#refused, cost_nano_usd: this.#cost };
  }
}
