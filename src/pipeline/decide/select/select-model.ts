import type { Model, ModelKey, Role } from "#domain/model.ts";
import type { HealthState } from "#health/health.ts";
import type { DecisionRefusal, Evidence } from "#pipeline/decide/choice.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { addHardCapEvidence, withinHardCaps } from "./budget.ts";

/** Whether a model may be sent traffic now. One that health has not met yet starts healthy. */
export function routable(model: Model, { health }: Snapshot): boolean {
  return model.enabled && (!Object.hasOwn(health, model.key) || health[model.key]?.routable === true);
}

/** Whether the request can be in the model's context window at all, by the estimate (the bound would be too strict). */
function fitsContext(model: Model, { size }: Snapshot): boolean {
  return size.inputTokensEstimate <= model.contextTokens;
}

/**
 * The fallbacks of a model, in the order of the senior fallback chain: in the registry, routable, never free, and for a
 * hard-rule request only senior or emergency models. Models whose context window is too small come in only when it is
 * too small in all of them. None for a free model that may see the request, where the policy says so. Whether the
 * budget allows them is checked apart, because "over budget" is another refusal than "none".
 */
function fallbackModels(
  instead: ModelKey | undefined,
  hardRule: boolean,
  snapshot: Snapshot,
  freeAllowed = true,
): readonly Model[] {
  const able: Model[] = [];
  const isFree = instead !== undefined && snapshot.registry.models.get(instead)?.free === true;
  if (isFree && freeAllowed && snapshot.policy.health.free_fallback === "none") return able;
  for (const key of snapshot.policy.health.senior_fallback_chain) {
    const model = snapshot.registry.models.get(key);
    if (model === undefined || key === instead || model.free || !routable(model, snapshot)) continue;
    if (hardRule && model.role !== "senior" && model.role !== "emergency") continue;
    if (!able.includes(model)) able.push(model);
  }
  const fitting = able.filter((model) => fitsContext(model, snapshot));
  return fitting.length > 0 ? fitting : able;
}

/** The models that an execution tries when its model fails before the first byte, within the hard caps, in order. */
export function fallbacksFor(model: ModelKey, hardRule: boolean, snapshot: Snapshot): readonly ModelKey[] {
  return fallbackModels(model, hardRule, snapshot)
    .filter((candidate) => withinHardCaps(candidate, snapshot))
    .map((candidate) => candidate.key);
}

/**
 * Stage 5, with the hard caps: the model that answers for a role. The role's own model if the budget allows it and it
 * can serve, else the first fallback for which both hold.
 */
export function selectModel(
  role: Role,
  hardRule: boolean,
  freeAllowed: boolean,
  snapshot: Snapshot,
  evidence: Evidence,
): Model | DecisionRefusal {
  const first = snapshot.registry.byRole[role];
  const freeDenied = first?.free === true && !freeAllowed;
  if (first !== undefined && !freeDenied) {
    if (!withinHardCaps(first, snapshot)) return denyOverBudget(first, snapshot, evidence);
    if (routable(first, snapshot))
      return fitsContext(first, snapshot) ? first : withLargerContext(first, hardRule, snapshot, evidence);
  }
  if (first === undefined) evidence.push(`role_without_model=${role}`);
  else
    evidence.push(`replaced=${first.key}`, `replaced_because=${freeDenied ? "free_model" : stateOf(first, snapshot)}`);

  const candidates = fallbackModels(first?.key, hardRule, snapshot, freeAllowed);
  for (const model of candidates) if (withinHardCaps(model, snapshot)) return model;
  if (candidates[0] !== undefined) return denyOverBudget(candidates[0], snapshot, evidence);
  for (const key of snapshot.policy.health.senior_fallback_chain) {
    const model = snapshot.registry.models.get(key);
    if (model !== undefined && model !== first) evidence.push(`health_${key}=${stateOf(model, snapshot)}`);
  }
  return { kind: "refuse", action: "STOP_FOR_HUMAN", cause: "all_models_unhealthy" };
}

/** A fallback whose context window fits; where there is none, the model itself, and the upstream decides. */
function withLargerContext(first: Model, hardRule: boolean, snapshot: Snapshot, evidence: Evidence): Model {
  const model = fallbackModels(first.key, hardRule, snapshot).find(
    (it) => fitsContext(it, snapshot) && withinHardCaps(it, snapshot),
  );
  evidence.push(
    `input_tokens_estimate=${Math.ceil(snapshot.size.inputTokensEstimate)}`,
    `context_tokens=${first.contextTokens}`,
  );
  if (model === undefined) return first;
  evidence.push(`replaced=${first.key}`, "replaced_because=context_window");
  return model;
}

function denyOverBudget(model: Model, snapshot: Snapshot, evidence: Evidence): DecisionRefusal {
  evidence.push(`over_budget=${model.key}`);
  addHardCapEvidence(model, snapshot, evidence);
  return { kind: "refuse", action: "DENY", cause: "budget_hard_cap_exceeded" };
}

/**
 * The health state of a model, as evidence; `paused` where its state would serve but it may not be called now: the
 * upstream has limited its rate, or the aggregator cannot be reached.
 */
export function stateOf(model: Model, { health }: Snapshot): string {
  if (!model.enabled) return "DISABLED";
  const own = Object.hasOwn(health, model.key) ? health[model.key] : undefined;
  if (own === undefined) return "HEALTHY";
  return !own.routable && servingStates.has(own.state) ? "paused" : own.state;
}

const servingStates: ReadonlySet<HealthState> = new Set(["HEALTHY", "DEGRADED", "STALE"]);
