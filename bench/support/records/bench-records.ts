import type { ModelKey } from "#domain/model.ts";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { AskFeatures } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aPolicy, aRegistry, aRuntime, aSnapshot, aTask } from "#pipeline/decide/fixtures.ts";
import { buildRecord } from "#records/build-record.ts";
import { ConfigNames } from "#records/config-names.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RequestRecord } from "#records/record.ts";
import type { StoredConfig } from "#records/records.ts";
import type { RecordStore } from "#records/store/record-store.ts";

const dayMs = 86_400_000;
/** The size of the gateway's batches under load. */
const batch = 128;
const spanMs = 30 * dayMs;

/** Records as a gateway writes them, evenly over the 30 days before `endMs`. The same in each run except for the ids. */
export class BenchRecords {
  readonly startMs: number;
  readonly policy = aPolicy();
  readonly registry = aRegistry();
  readonly #count: number;
  readonly #hash: string;
  readonly #configs: StoredConfig[] = [];
  readonly #task = aTask();

  constructor(count: number, endMs: number) {
    this.#count = count;
    this.startMs = endMs - spanMs;
    const names = new ConfigNames(
      (config) => this.#configs.push(config),
      () => this.startMs,
    );
    this.#hash = names.nameOf(this.policy, this.registry);
  }

  /** Writes the records from `from` up to `to`. */
  async write(store: RecordStore, from: number, to: number): Promise<void> {
    for (const config of this.#configs.splice(0)) await store.saveConfig(config);
    for (let index = from; index < to; index += batch) {
      await store.append(Array.from({ length: Math.min(batch, to - index) }, (_, at) => this.#entry(index + at)));
    }
  }

  #entry(index: number): DecisionRecord {
    const atMs = Math.floor(this.startMs + (index * spanMs) / this.#count);
    const request = this.#request(index, atMs);
    const { goal_id } = request.routed?.task ?? this.#task;
    const session = goal_id === "adhoc" ? undefined : goal_id.split("/")[0];
    const record = buildRecord(request, { policyHash: this.#hash, session });
    record.conversation = `c${Math.floor(index / 12)}`;
    record.seq = record.recorded_ms * 1_024 + (index % 1_024);
    return record;
  }

  /** Numbers that vary as in real records, a few goals at a time and others each day, rare causes, decided by the shipped policy. */
  #request(index: number, atMs: number): RequestRecord {
    // A simple sequence without a visible pattern.
    const chance = (salt: number) =>
      ((Math.imul(index + 1, 2_654_435_761) ^ Math.imul(salt + 1, 40_503)) >>> 0) / 2 ** 32;
    const share = (salt: number) => Math.round(chance(salt) * 1_000) / 1_000;
    const prompt = Math.floor(chance(5) ** 3 * 60_000);
    const completion = Math.floor(chance(6) ** 2 * 2_000);
    const goal = Math.floor(chance(8) * 60) + 40 * Math.floor((30 * index) / this.#count);
    const task = {
      ...this.#task,
      goal_id: chance(7) < 0.3 ? "adhoc" : `team-${goal % 7}/goal-${goal}`,
      kind: "CODING" as const,
      reasoning_requirement: share(12),
      ambiguity: share(13),
      dependency_depth: share(14),
      verification_difficulty: share(15),
      sensitive: true,
    };
    const pro = chance(1) < 0.2;
    const runtime = aRuntime(pro ? { same_error_count: 3, tool_depth: 9, attempts: 2 } : {});
    const spent = chance(2) < 0.03 ? 1e13 : Math.floor(chance(18) * 1e8);
    const own = { spent: nanoUsd(spent), held: nanoUsd(0) };
    const snapshot = aSnapshot({
      policy: this.policy,
      registry: this.registry,
      scale: "agent",
      size: { inputTokensBound: prompt * 4 + 100, inputTokensEstimate: prompt + 25 },
      spend: { goal: own, day: { spent: nanoUsd(Math.floor(chance(17) * 1e9)), held: nanoUsd(0) } },
    });
    const decision = decide(task, runtime, snapshot);
    const refused = decision.model === null;
    const failed = !refused && chance(3) < 0.01;
    const price = decision.model === "vendor_v4_pro" ? [435, 870] : [140, 280];
    const cost = nanoUsd(refused || failed ? 0 : prompt * (price[0] ?? 0) + completion * (price[1] ?? 0));
    const totalMs = chance(40) * 9_000;
    return {
      requestId: crypto.randomUUID(),
      decisionId: Bun.randomUUIDv7("hex", atMs),
      atMs: atMs - Math.round(totalMs),
      begunMs: 0,
      alias: chance(9) < 0.01 ? "smart-router-pro" : "smart-router",
      stream: chance(10) < 0.5,
      decision,
      status: refused ? 403 : failed ? 502 : 200,
      outcome: refused ? "refused" : failed ? "failed" : "answered",
      answeredBy: refused || failed ? null : decision.model,
      costNanoUsd: cost,
      redactions: [],
      timings: {
        gateMs: chance(41),
        decisionMs: chance(42),
        ...(refused ? {} : { firstTokenMs: chance(44) * totalMs }),
        totalMs,
      },
      attempts:
        decision.model === null
          ? []
          : [attemptOf(decision.model, { chance, failed, prompt, completion, cost, totalMs })],
      routed: {
        decision,
        task,
        runtime,
        snapshot,
        features: featuresOf(chance),
        housekeeping: undefined,
        conversationKey: `c${Math.floor(index / 12)}`,
        continuation: index % 12 > 0,
        reportedFailure: false,
        sessionId: undefined,
        namesTask: false,
        learned: undefined,
      },
    };
  }
}

interface Attempted {
  readonly chance: (salt: number) => number;
  readonly failed: boolean;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: NanoUsd;
  readonly totalMs: number;
}

function attemptOf(
  model: ModelKey,
  { chance, failed, prompt, completion, cost, totalMs }: Attempted,
): RequestRecord["attempts"][number] {
  const cachedInput = Math.floor(prompt * chance(19));
  return {
    id: "1.2",
    model,
    purpose: "EXECUTE",
    outcome: failed ? "server_error" : "answered",
    startedMs: chance(42),
    ledgerMs: chance(43) * 3,
    firstTokenMs: chance(44) * totalMs,
    durationMs: totalMs,
    holdNanoUsd: nanoUsd(cost + 9_000_000),
    costNanoUsd: cost,
    costSource: failed ? "released" : "usage",
    ...(failed ? {} : { usage: { input: prompt, cachedInput, cacheWrite: 0, output: completion, reasoning: 0 } }),
  };
}

function featuresOf(chance: (salt: number) => number): AskFeatures {
  const count = (salt: number) => Math.floor(chance(salt) * 900);
  return {
    characters: count(20),
    words: count(21),
    distinct_words: count(22),
    code_lines: count(23),
    trace_lines: 0,
    list_items: 0,
    options: 0,
    numbers: count(24),
    commas: count(25),
    math_signs: 0,
    identifiers: count(26),
  };
}
