import { type ModelRegistry, tierOfRole } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { utcDayOf } from "#platform/time.ts";
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
    /** Requests whose cost under the other policy is an estimate, because they had no answer when they were recorded. */
    estimated: 0,
    /** Of the answers of flash whose outcome a caller has reported: those that failed, and those that solved the task. */
    hard: 0,
    easy: 0,
    /** The two errors under the other policy: failed ones that it sends to flash again, solved ones that it sends to pro. */
    hard_to_flash: 0,
    easy_to_pro: 0,
  };
  readonly #before = newSide();
  readonly #after = newSide();
  readonly #days = new Map<string, ReturnType<typeof newDay>>();
  readonly #changes = new Map<string, ReturnType<typeof newChange>>();

  skip({ repeated }: DecisionRecord): void {
    this.#sums.skipped += repeated;
  }

  add({ record, decision, registry, cost }: Replayed): void {
    const { model, cause, recorded_ms, cost_nano_usd, reported } = record;
    const sums = this.#sums;
    const tierOf = (key: string | null) => {
      const role = registry.models.get(key ?? "")?.role;
      return role === undefined ? null : tierOfRole[role];
    };
    sums.requests += 1;
    sums.from_ms ??= recorded_ms;
    sums.to_ms = recorded_ms;
    if (cost.estimated) sums.estimated += 1;
    for (const [side, to, nanoUsd] of [
      [this.#before, model, cost_nano_usd],
      [this.#after, decision.model, cost.nanoUsd],
    ] as const) {
      side.cost += nanoUsd;
      if (to === null) side.refused += 1;
      else side.tiers.set(tierOf(to), (side.tiers.get(tierOf(to)) ?? 0) + 1);
    }
    const day = this.#days.get(utcDayOf(recorded_ms)) ?? newDay(utcDayOf(recorded_ms));
    this.#days.set(day.day, day);
    day.before_nano_usd += cost_nano_usd;
    day.after_nano_usd += cost.nanoUsd;
    if (capCauses.has(cause)) day.cap_hits_before += 1;
    if (capCauses.has(decision.cause)) day.cap_hits_after += 1;
    // Only what flash has answered tells what it could do.
    if (reported !== null && tierOf(model) === "flash") {
      const isHard = reported.outcome === "failed";
      sums[isHard ? "hard" : "easy"] += 1;
      if (isHard && tierOf(decision.model) === "flash") sums.hard_to_flash += 1;
      if (!isHard && tierOf(decision.model) === "pro") sums.easy_to_pro += 1;
    }
    if (model === decision.model && cause === decision.cause) return;
    sums[model === decision.model ? "relabelled" : "changed"] += 1;
    const key = [model, cause, decision.model, decision.cause].join(" ");
    const change = this.#changes.get(key) ?? newChange(record, decision);
    this.#changes.set(key, change);
    change.requests += 1;
    change.delta_nano_usd += cost.nanoUsd - cost_nano_usd;
  }

  result() {
    const routed = ({ tiers, refused, cost: cost_nano_usd }: ReturnType<typeof newSide>) => ({
      by_tier: [...tiers].map(([tier, requests]) => ({ tier, requests })).toSorted((a, b) => b.requests - a.requests),
      refused,
      cost_nano_usd,
    });
    return {
      ...this.#sums,
      before: routed(this.#before),
      after: routed(this.#after),
      days: [...this.#days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)),
      /** Kinds of change, the most frequent first. */
      changes: [...this.#changes.values()].toSorted((a, b) => b.requests - a.requests).slice(0, maxChanges),
    };
  }
}

/** What was routed where; what was refused is in no tier. */
function newSide() {
  return { tiers: new Map<Tier | null, number>(), refused: 0, cost: 0 };
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
