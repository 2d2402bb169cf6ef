import { type ModelRegistry, tierOfRole } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { DecisionRecord, Tier } from "#records/decision-record.ts";
import type { CostUnder } from "./cost-under.ts";

export interface BacktestSide {
  /** `null` where nothing was routed. */
  readonly by_tier: readonly { readonly tier: Tier | null; readonly requests: number }[];
  readonly refused: number;
  readonly cost_nano_usd: number;
}

export interface BacktestResult {
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  /** Records that were replayed. */
  readonly requests: number;
  /** Records that cannot be replayed: refusals before a decision, and records without inputs. */
  readonly skipped: number;
  /** Requests that would have gone to another model, would have been refused, or would not have been refused any more. */
  readonly changed: number;
  /** Requests that would have gone to the same model for another cause. */
  readonly relabelled: number;
  /**
   * Change of the cost of requests that stay on their model, because earlier requests of their conversation would have gone to
   * another one: the context would then be cached there, not here. Negative: they would cost less.
   */
  readonly cache_delta_nano_usd: number;
  /** Requests whose cost under the other policy is an estimate, because they had no answer when they were recorded. */
  readonly estimated: number;
  /** Of the answers of flash whose outcome a caller has reported: those that failed, and those that solved the task. */
  readonly hard: number;
  readonly easy: number;
  /** The two errors under the other policy: failed ones that it sends to flash again, solved ones that it sends to pro. */
  readonly hard_to_flash: number;
  readonly easy_to_pro: number;
  readonly before: BacktestSide;
  readonly after: BacktestSide;
  /** Per UTC day; a cap hit is a request that a soft cap moved or a hard cap refused. */
  readonly days: readonly BacktestDay[];
  /** Kinds of change, the most frequent first. */
  readonly changes: readonly BacktestChange[];
}

interface BacktestDay {
  readonly day: string;
  readonly before_nano_usd: number;
  readonly after_nano_usd: number;
  readonly cap_hits_before: number;
  readonly cap_hits_after: number;
}

export interface BacktestChange {
  readonly from_model: string | null;
  readonly from_cause: string;
  readonly to_model: string | null;
  readonly to_cause: string;
  readonly requests: number;
  readonly delta_nano_usd: number;
  readonly example_decision_id: string;
}

interface Replayed {
  readonly record: DecisionRecord;
  readonly decision: RoutingDecision;
  readonly registry: ModelRegistry;
  readonly cost: CostUnder;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const capCauses: ReadonlySet<string | null> = new Set(["budget_soft_cap", "budget_hard_cap_exceeded"]);
const maxChanges = 100;

/** Sums up replayed requests. */
export class BacktestReport {
  readonly #sums: Mutable<Omit<BacktestResult, "before" | "after" | "days" | "changes">> = {
    from_ms: null,
    to_ms: null,
    requests: 0,
    skipped: 0,
    changed: 0,
    relabelled: 0,
    cache_delta_nano_usd: 0,
    estimated: 0,
    hard: 0,
    easy: 0,
    hard_to_flash: 0,
    easy_to_pro: 0,
  };
  readonly #before = new Side();
  readonly #after = new Side();
  readonly #days = new Map<string, Mutable<BacktestDay>>();
  readonly #changes = new Map<string, Mutable<BacktestChange>>();

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
    const change = this.#changes.get(key) ?? {
      from_model: record.model,
      from_cause: record.cause ?? "",
      to_model: decision.model,
      to_cause: decision.cause,
      requests: 0,
      delta_nano_usd: 0,
      example_decision_id: record.decision_id,
    };
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
    const none = { before_nano_usd: 0, after_nano_usd: 0, cap_hits_before: 0, cap_hits_after: 0 };
    const day = this.#days.get(name) ?? { day: name, ...none };
    this.#days.set(name, day);
    day.before_nano_usd += record.cost_nano_usd;
    day.after_nano_usd += cost.nanoUsd;
    if (capCauses.has(record.cause)) day.cap_hits_before += 1;
    if (capCauses.has(decision.cause)) day.cap_hits_after += 1;
  }

  result(): BacktestResult {
    return {
      ...this.#sums,
      before: this.#before.result(),
      after: this.#after.result(),
      days: [...this.#days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)),
      changes: [...this.#changes.values()].toSorted((a, b) => b.requests - a.requests).slice(0, maxChanges),
    };
  }
}

function tierOf(model: string | null, { models }: ModelRegistry): Tier | null {
  const role = models.get(model ?? "")?.role;
  return role === undefined ? null : tierOfRole[role];
}

class Side {
  readonly #tiers = new Map<Tier | null, number>();
  #refused = 0;
  #cost = 0;

  add(model: string | null, registry: ModelRegistry, cost: number): void {
    const tier = tierOf(model, registry);
    this.#tiers.set(tier, (this.#tiers.get(tier) ?? 0) + 1);
    if (model === null) this.#refused += 1;
    this.#cost += cost;
  }

  result(): BacktestSide {
    const tiers = [...this.#tiers].map(([tier, requests]) => ({ tier, requests }));
    return {
      by_tier: tiers.toSorted((a, b) => b.requests - a.requests),
      refused: this.#refused,
      cost_nano_usd: this.#cost,
    };
  }
}
