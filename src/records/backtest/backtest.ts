import { capsOf, type Policy } from "#config/policy.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { DecisionInputs, DecisionRecord } from "#records/decision-record.ts";
import { type DecisionConfiguration, decideAgain, decideInputOf, readConfiguration } from "#records/replay/replay.ts";
import { BacktestReport, type BacktestResult } from "./backtest-report.ts";
import { Conversations, costUnder, TypicalOutput } from "./cost-under.ts";

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
  const simulation = new Simulation(options);
  let done = 0;
  for await (const batch of options.records) {
    options.signal?.throwIfAborted();
    for (const hash of new Set(batch.map(({ policy_hash }) => policy_hash))) {
      if (hash !== null) await simulation.prepare(hash);
    }
    for (const record of batch) simulation.add(record);
    done += batch.length;
    options.onProgress?.(done);
  }
  return simulation.report.result();
}

class Simulation {
  readonly report = new BacktestReport();
  readonly #options: BacktestOptions;
  readonly #configurations = new Map<string, DecisionConfiguration>();
  readonly #conversations = new Conversations();
  readonly #typical = new TypicalOutput();
  /** By account, what more was spent than recorded (less, where negative). */
  readonly #more = new Map<string, number>();

  constructor(options: BacktestOptions) {
    this.#options = options;
  }

  /** Reads the configuration that records name. */
  async prepare(hash: string): Promise<void> {
    if (this.#configurations.has(hash)) return;
    const { policy, registry, learned, configuration } = this.#options;
    const json = await configuration(hash);
    const recorded = json === undefined ? undefined : readConfiguration(json);
    this.#configurations.set(hash, { policy, registry: recorded?.registry ?? registry, caps: capsOf(policy), learned });
  }

  add(record: DecisionRecord): void {
    const { inputs } = record;
    const configuration = this.#configurations.get(record.policy_hash ?? "");
    if (inputs === null || record.cause === null || configuration === undefined) {
      this.report.skip(record);
      return;
    }
    this.#typical.learn(record);

    const day = Math.floor(record.recorded_ms / 86_400_000);
    const accounts = { goal: record.goal === "adhoc" ? `adhoc ${day}` : `goal ${record.goal}`, day: `day ${day}` };
    const seen = {
      ...inputs,
      ...this.#spendUnder(inputs, accounts),
      affinity: this.#conversations.affinityUnder(record),
    };
    const endedAtScout = record.action === "SCOUT" && inputs.verdict === null;
    const input = decideInputOf({ ...record, inputs: seen }, configuration);
    const decision = decideAgain(input, seen.ledger_spend, endedAtScout);

    const before = this.#conversations.of(record);
    const cost = costUnder(record, decision, configuration.registry, before, this.#typical);
    this.#conversations.recordModel(record, decision.model);
    const delta = cost.nanoUsd - record.cost_nano_usd;
    if (delta !== 0) for (const account of Object.values(accounts)) this.#add(account, delta);
    this.report.add({ record, decision, registry: configuration.registry, cost });
  }

  /** The recorded spend, with what the other policy would have changed until then. */
  #spendUnder(
    { spend, ledger_spend }: DecisionInputs,
    accounts: { readonly goal: string; readonly day: string },
  ): Pick<DecisionInputs, "spend" | "ledger_spend"> {
    const goal = this.#more.get(accounts.goal) ?? 0;
    const day = this.#more.get(accounts.day) ?? 0;
    if (goal === 0 && day === 0) return { spend, ledger_spend };
    const moved = <T extends NonNullable<DecisionInputs["ledger_spend"]>>(of: T): T => ({
      ...of,
      goal_spent_nano_usd: Math.max(0, of.goal_spent_nano_usd + goal),
      day_spent_nano_usd: Math.max(0, of.day_spent_nano_usd + day),
    });
    return { spend: moved(spend), ledger_spend: ledger_spend === null ? null : moved(ledger_spend) };
  }

  #add(account: string, delta: number): void {
    this.#more.set(account, (this.#more.get(account) ?? 0) + delta);
  }
}
