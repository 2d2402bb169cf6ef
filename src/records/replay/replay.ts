import { capsOf, keptPolicy, type Policy } from "#config/policy.ts";
import { type ModelRegistry, modelRegistry } from "#domain/model.ts";
import { type Caps, lowerCap, nanoUsd } from "#domain/money/money.ts";
import type { RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { HealthState, HealthView, ModelHealth } from "#health/health.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { deniedByHardCap, withinHardCaps } from "#pipeline/decide/select/budget.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { DecisionInputs, DecisionRecord } from "#records/decision-record.ts";

/** What decisions are made by. */
export interface DecisionConfiguration {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
}

/** Names the configurations that decisions are made by, once each, and passes each new one on to be kept, as JSON. */
export function configurationNames(keep: (hash: string, config: string) => void) {
  let named: readonly unknown[] = [];
  let hash = "";
  return (policy: Policy, registry: ModelRegistry): string => {
    const parts = [policy, registry];
    if (parts.every((part, at) => part === named[at])) return hash;
    // Privacy rules are left out: they do not decide the model, and they may describe an operator's secrets.
    const { privacy: _, $schema: __, ...kept } = policy;
    const models = [...registry.models.values()];
    const price_version = registry.priceVersion ?? null;
    const config = JSON.stringify({ policy: kept, models, price_version });
    const before = hash;
    [named, hash] = [parts, new Bun.CryptoHasher("sha256").update(config).digest("hex").slice(0, 16)];
    if (hash !== before) keep(hash, config);
    return hash;
  };
}

/** A configuration as it was kept with the records; undefined when there is none, or this release cannot read it any more. */
export function readConfiguration(json: string | undefined): DecisionConfiguration | undefined {
  try {
    const { policy: written, models } = JSON.parse(json ?? "");
    const policy = keptPolicy({ ...written, privacy: {} });
    // This program wrote the models from a valid registry, so they are not checked.
    return { policy, registry: modelRegistry(models) };
  } catch {
    return undefined;
  }
}

type Replayable = DecisionRecord & { readonly inputs: DecisionInputs };

/** Everything that `decide` is given. */
export interface DecideInput {
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly snapshot: Snapshot;
}

/** The input of a recorded decision, under a configuration: the one it was made by, or another. */
export function decideInputOf(record: Replayable, configuration: DecisionConfiguration): DecideInput {
  const { inputs } = record;
  const size = Object.entries(inputs.size).map(([name, value]) => [camelCase(name), value]);
  return {
    task: taskOf(record),
    runtime: { ...inputs.runtime, error_signature: null },
    snapshot: {
      policy: configuration.policy,
      registry: configuration.registry,
      health: healthOf(record),
      size: Object.fromEntries(size) as RequestSize, // as it was renamed
      spend: spendOf(inputs.spend),
      caps: capsFor(inputs, configuration),
      scale: inputs.scale,
      ...(inputs.run_evidence.length === 0 ? {} : { runEvidence: inputs.run_evidence }),
      ...(inputs.prose === 0 ? {} : { prose: inputs.prose }),
      ...(inputs.affinity === null ? {} : { affinity: inputs.affinity }),
      ...(inputs.verdict === null ? {} : { verdict: inputs.verdict }),
    },
  };
}

/**
 * Decides again. A scout cannot be asked now: where one would be asked, its verdict is `none`, unless the request ended
 * while the scout was asked (`endedAtScout`). A hold that the ledger refused is refused again if it does not fit the
 * same spend.
 */
export function decideAgain(
  { task, runtime, snapshot }: DecideInput,
  ledgerSpend: DecisionInputs["ledger_spend"],
  endedAtScout = false,
): RoutingDecision {
  let decision = decide(task, runtime, snapshot);
  if (decision.action === "SCOUT" && !endedAtScout) {
    decision = decide(task, runtime, { ...snapshot, verdict: "none" });
  }
  const model = snapshot.registry.models.get(decision.model ?? "");
  if (ledgerSpend === null || model === undefined || decision.action === "SCOUT") return decision;
  if (withinHardCaps(model, { ...snapshot, spend: spendOf(ledgerSpend) })) return decision;
  return deniedByHardCap(decision);
}

function taskOf({ kind, inputs }: Replayable): RoutingTask {
  const { hint, scout, pro, ...task } = inputs.task;
  const metadata: RoutingTask["metadata"] = {};
  if (hint !== "auto") metadata["routing"] = hint;
  if (scout) metadata["scout"] = true;
  if (pro) metadata["pro"] = true;
  return { task_id: "replay", goal_id: "replay", instruction: "", kind: kind ?? "OTHER", ...task, metadata };
}

function healthOf({ inputs, health }: Replayable): HealthView {
  const view: { [model: string]: ModelHealth } = {};
  for (const model of new Set([...Object.keys(health), ...inputs.unroutable])) {
    const state = (health[model] ?? "HEALTHY") as HealthState; // as recorded
    view[model] = { state, routable: !inputs.unroutable.includes(model), sinceMs: 0, reason: "" };
  }
  return view;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Rounding in a simulated spend may end slightly below 0. */
function spendOf({ goal, day, key }: DecisionInputs["spend"]): SpendView {
  const amount = (value: number) => nanoUsd(Math.max(0, value));
  const account = ({ spent, held }: typeof goal) => ({ spent: amount(spent), held: amount(held) });
  const owned = key === undefined ? {} : { key: { ...account(key), hard: nanoUsd(key.hard) } };
  return { goal: account(goal), day: account(day), ...owned };
}

/** The caps of the configuration, replaced by the operator's own caps where those are set. */
function capsFor({ own_caps }: DecisionInputs, { policy }: DecisionConfiguration): Caps {
  const caps = capsOf(policy);
  const goalHard = own_caps.goal_hard === undefined ? caps.goalHard : nanoUsd(own_caps.goal_hard);
  const dayHard = own_caps.day_hard === undefined ? caps.dayHard : nanoUsd(own_caps.day_hard);
  return { goalHard, dayHard, goalSoft: lowerCap(caps.goalSoft, goalHard), daySoft: lowerCap(caps.daySoft, dayHard) };
}
