import { tierOfRole } from "#domain/model.ts";
import { formatUsd, nanoUsd } from "#domain/money/money.ts";
import { type Cause, levels, type RoutingDecision } from "#domain/routing.ts";
import { estimateOf, holdOf } from "#pipeline/decide/select/budget.ts";
import { stateOf } from "#pipeline/decide/select/select-model.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { Counterfactual, DecisionInputs } from "#records/decision-record.ts";
import { type DecideInput, decideAgain } from "#records/replay/replay.ts";
import { causeTexts } from "./sentences.ts";

/** A change to try. `distance` is 0 for no change and 1 for the whole range of the input. */
interface Change {
  readonly input: string;
  readonly from: string;
  readonly to: string;
  readonly distance: number;
  readonly changed: DecideInput;
}

const most = 6;

/**
 * What would have changed the decision: changes of one input that lead to another tier or to a refusal, each tried with
 * `decide`. Changes of the input that decided come first, then the nearest.
 */
export function findCounterfactuals(
  input: DecideInput,
  decision: Pick<RoutingDecision, "model" | "cause" | "score"> & { readonly rule: string | null },
  ledgerSpend: DecisionInputs["ledger_spend"],
  hasRedactions: boolean,
): Counterfactual[] {
  const here = destination(decision, input);
  const changes = [
    ...scoreChanges(input, decision.score),
    ...counterChanges(input),
    ...statementChanges(input, hasRedactions),
    ...budgetChanges(input),
    ...healthChanges(input),
  ]
    .map((change) => ({ ...change, rank: change.distance / (hasDecided(change.input, decision) ? 10 : 1) }))
    .toSorted((a, b) => a.rank - b.rank);
  const found: Counterfactual[] = [];
  for (const { input: name, from, to, changed } of changes) {
    if (found.length === most) break;
    // The ledger's refusal stays for every change but those of the budget.
    const then = decideAgain(changed, name.startsWith("budget") ? null : ledgerSpend, true);
    const leadsTo = destination(then, changed);
    // Only the nearest change of an input with the same result is listed.
    if (leadsTo === here || found.some((nearer) => nearer.input === name && nearer.leads_to === leadsTo)) continue;
    const sentence = `With ${name} ${to} instead of ${from}: ${leadsTo} (${then.cause}).`;
    found.push({ input: name, from, to, leads_to: leadsTo, cause: then.cause, sentence });
  }
  return found;
}

/** The inputs of hard rules that do not have their names. */
const inputsOfRules: Readonly<Record<string, string>> = {
  guarded_kind: "risk_level",
  critical_risk: "risk_level",
  critical_blast_radius: "blast_radius",
  structural_failure: "failure_class",
};

function hasDecided(input: string, { cause, rule }: { readonly cause: Cause; readonly rule: string | null }): boolean {
  if (cause !== "hard_pro_rule") return causeTexts[cause].inputs.some((name) => input.startsWith(name));
  return rule?.split(", ").some((name) => (inputsOfRules[name] ?? name) === input) === true;
}

/** A tier, `refused`, or `scout`: it is asked first, and nobody knows what it would say. */
function destination({ model, cause }: Pick<RoutingDecision, "model" | "cause">, { snapshot }: DecideInput): string {
  if (model === null) return "refused";
  const asksScout = cause === "gray_zone_scout" || cause === "scout_requested";
  if (asksScout && model === snapshot.registry.byRole.scout?.key) return "scout";
  const role = snapshot.registry.models.get(model)?.role;
  return role === undefined ? model : tierOfRole[role];
}

/** Far below the hundredth to which scores are rounded. */
const margin = 1e-6;

/** Moving both thresholds by a difference has the same effect as another score. */
function scoreChanges(input: DecideInput, score: number): readonly Change[] {
  const { policy } = input.snapshot;
  const { flash_below, pro_from } = policy.routing;
  const targets = [flash_below - 0.01, flash_below, (flash_below + pro_from) / 2, pro_from];
  return targets
    .filter((target) => target >= 0 && target !== score)
    .map((target) => {
      // A score that equals a threshold has reached it. Without the margin the sum's last binary digit would decide.
      const by = target - score + margin;
      const routing = { ...policy.routing, flash_below: flash_below - by, pro_from: pro_from - by };
      const changed = withSnapshot(input, { policy: { ...policy, routing } });
      return {
        ...{ input: "score", from: String(score), to: String(Math.round(target * 100) / 100) },
        ...{ distance: Math.abs(target - score) / 100, changed },
      };
    });
}

/** Each counter of the run, to its limit or to just below it. */
function counterChanges(input: DecideInput): readonly Change[] {
  const { hard_rules, limits } = input.snapshot.policy;
  const { runtime, task } = input;
  const toolDepth = Math.max(0, hard_rules.tool_depth - task.estimated_tool_depth);
  const counters = [
    ["same_error_count", hard_rules.same_error_count],
    ["flash_attempts", hard_rules.flash_attempts],
    ["files_touched", hard_rules.files_touched],
    ["tool_depth", toolDepth],
    ["attempts", limits.max_attempts],
  ] as const;
  return counters.flatMap(([name, limit]): Change[] => {
    const value = runtime[name];
    const to = value >= limit ? limit - 1 : limit;
    if (to < 0) return [];
    const changed = { ...input, runtime: { ...runtime, [name]: to } };
    const distance = Math.abs(to - value) / Math.max(1, limit);
    return [{ input: name, from: String(value), to: String(to), distance, changed }];
  });
}

/** Inputs whose values are names: what the caller stated is left out or inverted, a level moves by one or two steps. */
function statementChanges(input: DecideInput, hasRedactions: boolean): readonly Change[] {
  const { task, runtime, snapshot } = input;
  const { affinity, verdict } = snapshot;
  const changes: Change[] = [];
  const add = (name: string, from: string, to: string, changed: DecideInput, distance = 0.5) =>
    changes.push({ input: name, from, to, distance, changed });
  const state = (name: string, from: string, to: string, given: Partial<typeof task>, distance?: number) =>
    add(name, from, to, { ...input, task: { ...task, ...given } }, distance);
  if (task.explicit_route !== "AUTO") state("explicit_route", task.explicit_route, "AUTO", { explicit_route: "AUTO" });
  if (task.reasoning === "HIGH") state("reasoning", "HIGH", "AUTO", { reasoning: "AUTO" });
  for (const key of Object.keys(task.metadata)) {
    const { [key]: value, ...metadata } = task.metadata;
    state(key === "routing" ? "hint" : key, String(value), "absent", { metadata });
  }
  if (!task.sensitive) state("sensitive", "false", "true", { sensitive: true });
  // With a redaction the task is sensitive, whatever its caller states.
  else if (!hasRedactions) state("sensitive", "true", "false", { sensitive: false });
  if (task.repo_context_present && !task.repo_free_opt_in) {
    state("repo_free_opt_in", "false", "true", { repo_free_opt_in: true });
  }
  for (const name of ["risk_level", "blast_radius"] as const) {
    for (const step of [-1, 1, -2, 2]) {
      const to = levels[levels.indexOf(task[name]) + step];
      if (to !== undefined) state(name, task[name], to, { [name]: to }, Math.abs(step) / levels.length);
    }
  }
  if (runtime.failure_class !== "NONE") {
    add("failure_class", runtime.failure_class, "NONE", { ...input, runtime: { ...runtime, failure_class: "NONE" } });
  }
  if (affinity !== undefined) {
    const { affinity: _, ...without } = snapshot;
    add("affinity", affinity.model, "none", { ...input, snapshot: without });
  }
  if (verdict !== undefined) {
    const to = verdict === "pro" ? "flash" : "pro";
    add("scout_verdict", verdict, to, withSnapshot(input, { verdict: to }));
  }
  return changes;
}

/** The money that is missing to a cap, or that is left under it. */
function budgetChanges(input: DecideInput): readonly Change[] {
  const { spend, caps, registry, size } = input.snapshot;
  const tries = [registry.byRole.senior, registry.byRole.worker].flatMap((model) =>
    (["goal", "day"] as const).flatMap((account) => {
      if (model === undefined) return [];
      const hard = { account, level: "Hard", amount: holdOf(model, size) } as const;
      // Above a soft cap only the senior model's requests step down, and by their estimate.
      if (model.role !== "senior") return [hard];
      return [hard, { account, level: "Soft", amount: estimateOf(model, size) } as const];
    }),
  );
  return tries.flatMap(({ account, level, amount }): Change[] => {
    const name = `${account}${level}` as const;
    const { spent, held } = spend[account];
    const after = spent + held + amount;
    const missing = after - caps[name];
    const distance = Math.min(1, Math.abs(missing) / Math.max(1, caps[name]));
    if (missing <= 0) {
      const more = nanoUsd(spent - missing + 1);
      const changed = withSnapshot(input, { spend: { ...spend, [account]: { spent: more, held } } });
      return [{ input: `${account}'s spend (USD)`, from: formatUsd(spent), to: formatUsd(more), distance, changed }];
    }
    if (!Number.isSafeInteger(after)) return [];
    const cap = nanoUsd(after);
    // A raised soft cap stays below its hard cap; a raised hard cap leaves the soft one.
    const changed = withSnapshot(input, { caps: { ...caps, [name]: cap } });
    const setting = `budget.per_${account}_${level.toLowerCase()}_usd`;
    return [{ input: setting, from: formatUsd(caps[name]), to: formatUsd(cap), distance, changed }];
  });
}

/** In the order of the registry, which a recorded decision is explained in too. */
function healthChanges(input: DecideInput): readonly Change[] {
  const { health, registry } = input.snapshot;
  return [...registry.models.values()].flatMap((model): Change[] => {
    const known = health[model.key];
    if (known === undefined || known.routable) return [];
    const healthy = { ...known, state: "HEALTHY" as const, routable: true };
    const changed = withSnapshot(input, { health: { ...health, [model.key]: healthy } });
    const from = stateOf(model, input.snapshot);
    return [{ input: `health of ${model.key}`, from, to: "HEALTHY", distance: 0.5, changed }];
  });
}

function withSnapshot(input: DecideInput, given: Partial<Snapshot>): DecideInput {
  return { ...input, snapshot: { ...input.snapshot, ...given } };
}
