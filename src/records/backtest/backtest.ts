import type { Policy } from "#config/policy.ts";
import { type Model, type ModelRegistry, tierOfRole } from "#domain/model.ts";
import { costOf } from "#domain/money/tokens.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { LruMap } from "#platform/lru-map.ts";
import { utcDayOf } from "#platform/time.ts";
import type { DecisionInputs, DecisionRecord, Tier } from "#records/decision-record.ts";
import { type DecisionConfiguration, decideAgain, decideInputOf, readConfiguration } from "#records/replay/replay.ts";

export interface BacktestOptions {
  /** The oldest first. */
  readonly records: AsyncIterable<readonly DecisionRecord[]>;
  /** The policy to try. Its caps count; an operator's own cap for a goal or a day still beats them. */
  readonly policy: Policy;
  /** Models and prices for records whose own are not kept any more. */
  readonly registry: ModelRegistry;
  /** The configuration that a record names, as JSON. */
  readonly configuration: (hash: string) => Promise<string | undefined>;
  /** Called after each batch with the number of records seen so far. */
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Decides recorded requests again under another policy. What a decision depends on is followed: money that was spent or saved
 * changes the spend that later requests meet, and a conversation that goes to another model stays there as the policy says. Costs
 * are those of the recorded tokens, with the same share read from the cache, at the prices of the day. What depends on the text (kind, dimensions, redactions) stays as it
 * was recorded. Under the policy that the records were made by nothing changes.
 */
export async function backtest(options: BacktestOptions): Promise<BacktestResult> {
  const { records, policy, registry, configuration } = options;
  const simulation = new Simulation();
  const configurations = new Map<string, DecisionConfiguration>();
  let done = 0;
  for await (const batch of records) {
    options.signal?.throwIfAborted();
    for (const hash of new Set(batch.map(({ policy_hash }) => policy_hash))) {
      if (hash === null || configurations.has(hash)) continue;
      const recorded = readConfiguration(await configuration(hash));
      const models = recorded?.registry ?? registry;
      configurations.set(hash, { policy, registry: models });
    }
    for (const record of batch) simulation.add(record, configurations.get(record.policy_hash ?? ""));
    done += batch.length;
    options.onProgress?.(done);
  }
  return simulation.report.result();
}

/** Conversations are short; those longest without a request are forgotten. */
const maxConversations = 50_000;

class Simulation {
  readonly report = new BacktestReport();
  /** The model that each conversation's last request was routed to: as recorded, and as the backtest would have it. */
  readonly #conversations = new LruMap<string, { readonly recorded: string | null; readonly model: string | null }>(
    maxConversations,
  );
  /** Of the recorded answers, for requests that were refused. */
  readonly #typical = { answers: 0, tokens: 0 };
  /** By account, what more was spent than recorded (less, where negative). */
  readonly #more = new Map<string, number>();

  add(record: DecisionRecord, configuration: DecisionConfiguration | undefined): void {
    const { inputs, tokens, outcome, goal, label } = record;
    if (inputs === null || record.cause === null || configuration === undefined) {
      this.report.sums.skipped += record.repeated;
      return;
    }
    if (tokens !== null && outcome === "answered") {
      this.#typical.answers += 1;
      this.#typical.tokens += tokens.completion;
    }
    const day = Math.floor(record.recorded_ms / 86_400_000);
    const key = label === null ? "" : `key ${label} ${day}`;
    const accounts = { goal: goal === "adhoc" ? `adhoc ${day}` : `goal ${goal}`, day: `day ${day}`, key };
    const spentMore = <T extends { readonly spent: number }>(recorded: T, account: string): T => {
      return { ...recorded, spent: recorded.spent + (this.#more.get(account) ?? 0) };
    };
    const moved = (recorded: DecisionInputs["spend"]) => ({
      goal: spentMore(recorded.goal, accounts.goal),
      day: spentMore(recorded.day, accounts.day),
      ...(recorded.key === undefined ? {} : { key: spentMore(recorded.key, accounts.key) }),
    });
    const spend = moved(inputs.spend);
    const ledger_spend = inputs.ledger_spend === null ? null : moved(inputs.ledger_spend);
    const affinity = this.#affinityUnder(record, inputs);
    const input = decideInputOf({ ...record, inputs: { ...inputs, spend, ledger_spend, affinity } }, configuration);
    const decision = decideAgain(input, ledger_spend, record.action === "SCOUT" && inputs.verdict === null);
    this.#recordModel(record, decision.model);

    const { registry } = configuration;
    const typicalAnswer = Math.round(this.#typical.tokens / Math.max(1, this.#typical.answers));
    const cost = costUnder(record, registry.models.get(decision.model ?? ""), typicalAnswer);
    const delta = cost.nanoUsd - record.cost_nano_usd;
    for (const account of Object.values(accounts)) {
      if (delta !== 0) this.#more.set(account, (this.#more.get(account) ?? 0) + delta);
    }
    this.report.add(record, decision, registry, cost);
  }

  /** The affinity that the request would have met: the recorded one, unless its conversation has gone elsewhere. */
  #affinityUnder({ conversation }: DecisionRecord, { affinity }: DecisionInputs): DecisionInputs["affinity"] {
    const last = this.#conversations.get(conversation ?? "");
    if (affinity === null || last === undefined || last.model === last.recorded) return affinity;
    return last.model === null ? null : { ...affinity, model: last.model };
  }

  /** Refusals and housekeeping change nothing, and what was not answered leaves nothing in a cache. */
  #recordModel({ conversation, housekeeping, served_by, model: recorded }: DecisionRecord, model: string | null): void {
    if (conversation === null || housekeeping !== null || (served_by === null && recorded !== null)) return;
    const last = this.#conversations.get(conversation) ?? { recorded: null, model: null };
    this.#conversations.set(conversation, { recorded: recorded ?? last.recorded, model: model ?? last.model });
  }
}

/**
 * What a request would have cost on another model: the same tokens, with the same share read from the cache. `typicalAnswer`: tokens of an
 * answer that is not recorded.
 */
function costUnder(record: DecisionRecord, model: Model | undefined, typicalAnswer: number): CostUnder {
  if (model === undefined) return { nanoUsd: 0, estimated: false };
  const { tokens, inputs } = record;
  const isSame = model.key === record.model;
  // Without an answer (the upstream failed or the caller left) another model is taken to have the same cost.
  if (isSame || (tokens === null && record.model !== null))
    return { nanoUsd: record.cost_nano_usd, estimated: !isSame };
  const prompt = Math.ceil(inputs?.size.input_tokens_estimate ?? 0);
  const used = tokens ?? { prompt, cached: 0, cache_write: 0, completion: typicalAnswer, reasoning: 0 };
  const cache = { cachedInput: used.cached, cacheWrite: used.cache_write };
  const usage = { input: used.prompt, ...cache, output: used.completion, reasoning: used.reasoning };
  const during = { fromMs: record.at_ms, toMs: record.at_ms + record.timings.total_ms };
  return { nanoUsd: costOf(usage, model.price, during), estimated: tokens === null };
}

export type BacktestResult = ReturnType<BacktestReport["result"]>;

interface CostUnder {
  readonly nanoUsd: number;
  /** The request was refused, so its tokens are not recorded: the size of its prompt and a typical answer are used. */
  readonly estimated: boolean;
}

const capCauses: ReadonlySet<string | null> = new Set(["budget_soft_cap", "budget_hard_cap_exceeded"]);
const maxChanges = 100;

/** Sums up replayed requests. */
class BacktestReport {
  readonly sums = {
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

  add(record: DecisionRecord, decision: RoutingDecision, registry: ModelRegistry, cost: CostUnder): void {
    const { model, cause, recorded_ms, cost_nano_usd, reported } = record;
    const { sums } = this;
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
      ...this.sums,
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
