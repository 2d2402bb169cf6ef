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
  readonly before: BacktestSide;
  readonly after: BacktestSide;
  /** Per UTC day; a cap hit is a request that a soft cap moved or a hard cap refused. */
  readonly days: readonly {
    readonly day: string;
    readonly before_nano_usd: number;
    readonly after_nano_usd: number;
    readonly cap_hits_before: number;
    readonly cap_hits_after: number;
  }[];
  /** Kinds of change, the most frequent first. */
  readonly changes: readonly BacktestChange[];
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

const capCauses: ReadonlySet<string | null> = new Set(["budget_soft_cap", "budget_hard_cap_exceeded"]);
const maxChanges = 100;

/** Sums up replayed requests. */
export class BacktestReport {
  #fromMs: number | null = null;
  #toMs: number | null = null;
  #requests = 0;
  #skipped = 0;
  #changed = 0;
  #relabelled = 0;
  #estimated = 0;
  #cacheDelta = 0;
  readonly #before = new Side();
  readonly #after = new Side();
  readonly #days = new Map<string, { before: number; after: number; hitsBefore: number; hitsAfter: number }>();
  readonly #changes = new Map<string, { -readonly [K in keyof BacktestChange]: BacktestChange[K] }>();

  skip({ repeated }: DecisionRecord): void {
    this.#skipped += repeated;
  }

  add({ record, decision, registry, cost }: Replayed): void {
    this.#requests += 1;
    this.#fromMs ??= record.recorded_ms;
    this.#toMs = record.recorded_ms;
    if (cost.estimated) this.#estimated += 1;
    this.#before.add(tierOf(record.model, registry), record.model === null, record.cost_nano_usd);
    this.#after.add(tierOf(decision.model, registry), decision.model === null, cost.nanoUsd);

    const name = new Date(record.recorded_ms).toISOString().slice(0, 10);
    const day = this.#days.get(name) ?? { before: 0, after: 0, hitsBefore: 0, hitsAfter: 0 };
    this.#days.set(name, day);
    day.before += record.cost_nano_usd;
    day.after += cost.nanoUsd;
    if (capCauses.has(record.cause)) day.hitsBefore += 1;
    if (capCauses.has(decision.cause)) day.hitsAfter += 1;

    if (record.model === decision.model && record.cause === decision.cause) {
      this.#cacheDelta += cost.nanoUsd - record.cost_nano_usd;
      return;
    }
    if (record.model === decision.model) this.#relabelled += 1;
    else this.#changed += 1;
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
    change.delta_nano_usd += cost.nanoUsd - record.cost_nano_usd;
  }

  result(): BacktestResult {
    return {
      from_ms: this.#fromMs,
      to_ms: this.#toMs,
      requests: this.#requests,
      skipped: this.#skipped,
      changed: this.#changed,
      relabelled: this.#relabelled,
      cache_delta_nano_usd: this.#cacheDelta,
      estimated: this.#estimated,
      before: this.#before.result(),
      after: this.#after.result(),
      days: [...this.#days]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([day, { before, after, hitsBefore, hitsAfter }]) => ({
          day,
          before_nano_usd: before,
          after_nano_usd: after,
          cap_hits_before: hitsBefore,
          cap_hits_after: hitsAfter,
        })),
      changes: [...this.#changes.values()].toSorted((a, b) => b.requests - a.requests).slice(0, maxChanges),
    };
  }
}

class Side {
  readonly #tiers = new Map<Tier | null, number>();
  #refused = 0;
  #cost = 0;

  add(tier: Tier | null, refused: boolean, cost: number): void {
    this.#tiers.set(tier, (this.#tiers.get(tier) ?? 0) + 1);
    if (refused) this.#refused += 1;
    this.#cost += cost;
  }

  result(): BacktestSide {
    return {
      by_tier: [...this.#tiers]
        .map(([tier, requests]) => ({ tier, requests }))
        .toSorted((a, b) => b.requests - a.requests),
      refused: this.#refused,
      cost_nano_usd: this.#cost,
    };
  }
}

function tierOf(model: string | null, { models }: ModelRegistry): Tier | null {
  const role = models.get(model ?? "")?.role;
  return role === undefined ? null : tierOfRole[role];
}
