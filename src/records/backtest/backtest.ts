import { capsOf, type Policy } from "#config/policy.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { DecisionInputs, DecisionRecord } from "#records/decision-record.ts";
import { type DecisionConfiguration, readConfiguration } from "#records/replay/configuration.ts";
import { decideAgain, decideInputOf } from "#records/replay/replay.ts";
import { BacktestReport, type BacktestResult } from "./backtest-report.ts";
import { Conversations, costUnder } from "./cost-under.ts";

export type { BacktestResult } from "./backtest-report.ts";

export interface BacktestOptions {
  /** The oldest first. */
  readonly records: AsyncIterable<readonly DecisionRecord[]>;
  /** The policy to try. Its caps count; an operator's own cap for a goal or a day still beats them. */
  readonly policy: Policy;
  /** Models and prices for records whose own are not kept any more. */
  readonly registry: ModelRegistry;
  /** The learned weights that the policy names. */
  readonly learned?: LearnedWeights | undefined;
  /** The configuration that a record names, as JSON. */
  readonly configuration: (hash: string) => Promise<string | undefined>;
  /** Called after each batch with the number of records seen so far. */
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Decides recorded requests again under another policy. What a decision depends on is followed: money that was spent or saved
 * changes the spend that later requests meet, and a conversation that goes to another model has its context cached there. Costs
 * are those of the recorded tokens at the prices of the day. What depends on the text (kind, dimensions, redactions) stays as it
 * was recorded. Under the policy that the records were made by nothing changes.
 */
export async function backtest(options: BacktestOptions): Promise<BacktestResult> {
  const { records, policy, registry, learned, configuration } = options;
  const simulation = new Simulation();
  const configurations = new Map<string, DecisionConfiguration>();
  let done = 0;
  for await (const batch of records) {
    options.signal?.throwIfAborted();
    for (const hash of new Set(batch.map(({ policy_hash }) => policy_hash))) {
      if (hash === null || configurations.has(hash)) continue;
      const recorded = readConfiguration(await configuration(hash));
      const models = recorded?.registry ?? registry;
      configurations.set(hash, { policy, registry: models, caps: capsOf(policy), learned });
    }
    for (const record of batch) simulation.add(record, configurations.get(record.policy_hash ?? ""));
    done += batch.length;
    options.onProgress?.(done);
  }
  return simulation.report.result();
}

class Simulation {
  readonly report = new BacktestReport();
  readonly #conversations = new Conversations();
  /** Of the recorded answers, for requests that were refused. */
  readonly #typical = { answers: 0, tokens: 0 };
  /** By account, what more was spent than recorded (less, where negative). */
  readonly #more = new Map<string, number>();

  add(record: DecisionRecord, configuration: DecisionConfiguration | undefined): void {
    const { inputs, tokens, outcome, goal, label } = record;
    if (inputs === null || record.cause === null || configuration === undefined) {
      this.report.skip(record);
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
    const seen = { ...inputs, spend, ledger_spend, affinity: this.#conversations.affinityUnder(record) };
    const endedAtScout = record.action === "SCOUT" && inputs.verdict === null;
    const input = decideInputOf({ ...record, inputs: seen }, configuration);
    const decision = decideAgain(input, seen.ledger_spend, endedAtScout);

    const { registry } = configuration;
    const typicalAnswer = Math.round(this.#typical.tokens / Math.max(1, this.#typical.answers));
    const cost = costUnder(record, decision, registry, this.#conversations.get(record), typicalAnswer);
    this.#conversations.recordModel(record, decision.model);
    const delta = cost.nanoUsd - record.cost_nano_usd;
    for (const account of Object.values(accounts)) {
      if (delta !== 0) this.#more.set(account, (this.#more.get(account) ?? 0) + delta);
    }
    this.report.add({ record, decision, registry, cost });
  }
}
