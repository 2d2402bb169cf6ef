import { Policy } from "#config/policy.ts";
import { type Model, type ModelKey, type ModelRegistry, modelRegistry, type Role } from "#domain/model.ts";
import { lowerCap, type NanoUsd, type NanoUsdPerMTok, usdToNano, zeroUsd } from "#domain/money/money.ts";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { HealthState, HealthView, ModelHealth } from "#health/health.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { Snapshot, SpendView } from "./snapshot.ts";

/** Tasks, runtimes, registries and snapshots for tests and benches: everything by default, what matters by name. */

export function aTask(given: Partial<RoutingTask> = {}): RoutingTask {
  return RoutingTask.parse({ task_id: "t-1", instruction: "Rename a variable.", ...given });
}

/** All four complexity dimensions at one value. */
export function dimensions(value: number) {
  return { reasoning_requirement: value, ambiguity: value, dependency_depth: value, verification_difficulty: value };
}

export function aRuntime(given: Partial<RuntimeState> = {}): RuntimeState {
  return RuntimeState.parse(given);
}

/** The shipped policy; sections given are laid over it, key by key. */
export function aPolicy(given: { [S in keyof Policy]?: object } = {}): Policy {
  return Policy.parse({ ...nothing, ...given });
}

const nothing = Object.fromEntries(Object.keys(Policy.shape).flatMap((key) => (key === "$schema" ? [] : [[key, {}]])));

export function aModel(given: Partial<Model> & { readonly key: ModelKey; readonly role: Role }): Model {
  return {
    upstreamId: `vendor/${given.key}`,
    price: aPrice(0.14, 0.28),
    contextTokens: 131_072,
    maxOutputTokens: 65_536,
    defaultOutputTokens: 32_768,
    free: false,
    enabled: true,
    reasoning: false,
    timeoutsMs: {},
    ...given,
  };
}

/** Prices in USD per million tokens. */
export function aPrice(input: number, output: number): Model["price"] {
  const perMTok = (usd: number) => dollars(usd) as number as NanoUsdPerMTok; // the same number in another unit
  return { input: perMTok(input), cachedInput: perMTok(input), output: perMTok(output) };
}

export const scoutModel = aModel({ key: "vendor_free_scout", role: "scout", free: true, price: aPrice(0, 0) });
export const workerModel = aModel({ key: "vendor_v4_flash", role: "worker", price: aPrice(0.14, 0.28) });
export const seniorModel = aModel({ key: "vendor_v4_pro", role: "senior", price: aPrice(0.435, 0.87) });
export const emergencyModel = aModel({ key: "vendor_emergency", role: "emergency", price: aPrice(0.3, 1.2) });

/** The shipped four models, or those given. */
export function aRegistry(
  models: readonly Model[] = [scoutModel, workerModel, seniorModel, emergencyModel],
): ModelRegistry {
  return modelRegistry(models);
}

const servingStates: readonly HealthState[] = ["HEALTHY", "DEGRADED", "STALE"];

/** Health of the models named; the others are as a model starts, healthy. */
export function aHealth(states: { readonly [key: ModelKey]: HealthState } = {}): HealthView {
  const entries = Object.entries(states).map(([key, state]): [ModelKey, ModelHealth] => [
    key,
    { state, routable: servingStates.includes(state), sinceMs: 0, reason: "as the test says" },
  ]);
  return Object.fromEntries(entries);
}

/** Money in USD, for tests that speak of dollars. */
export function dollars(usd: number): NanoUsd {
  const amount = usdToNano(usd);
  if (amount === undefined) throw new RangeError(`not an amount in USD: ${usd}`);
  return amount;
}

const nothingSpent: SpendView = {
  goal: { spent: zeroUsd, held: zeroUsd },
  day: { spent: zeroUsd, held: zeroUsd },
};

const smallRequest: RequestSize = {
  inputTokensBound: 400,
  inputTokensEstimate: 100,
  requestedOutputTokens: null,
  choices: 1,
};

export function aSnapshot(
  given: Partial<Omit<Snapshot, "size" | "spend">> & { size?: Partial<RequestSize>; spend?: Partial<SpendView> } = {},
): Snapshot {
  const policy = given.policy ?? aPolicy();
  const goalHard = dollars(policy.budget.per_goal_hard_usd);
  const dayHard = dollars(policy.budget.per_day_hard_usd);
  return {
    registry: aRegistry(),
    health: {},
    caps: {
      goalSoft: lowerCap(dollars(policy.budget.per_goal_soft_usd), goalHard),
      goalHard,
      daySoft: lowerCap(dollars(policy.budget.per_day_soft_usd), dayHard),
      dayHard,
    },
    ...given,
    policy,
    size: { ...smallRequest, ...given.size },
    spend: { ...nothingSpent, ...given.spend },
  };
}
