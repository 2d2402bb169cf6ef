import { tierOfRole } from "#domain/model.ts";
import { formatUsd, nanoUsd } from "#domain/money/money.ts";
import { levels, type RoutingDecision } from "#domain/routing.ts";
import { holdOf } from "#pipeline/decide/select/budget.ts";
import type { Counterfactual, DecisionInputs } from "#records/decision-record.ts";
import { type DecideInput, decideAgain } from "#records/replay/replay.ts";
import { causeTexts, fact } from "./sentences.ts";

/** A change to try, of something that the caller says or does. */
interface Change {
  readonly input: string;
  readonly from: string;
  readonly to: string;
  readonly changed: DecideInput;
}

interface Decided extends Pick<RoutingDecision, "model" | "cause" | "evidence"> {
  readonly rule: string | null;
  readonly hasRedactions: boolean;
}

const most = 6;

/**
 * What would have changed the decision, of what a caller controls: changes of one input that lead to another tier or to a refusal,
 * each tried with `decide`. Changes of the input that decided come first, then what is stated, then the run.
 */
export function findCounterfactuals(
  input: DecideInput,
  decision: Decided,
  ledgerSpend: DecisionInputs["ledger_spend"],
): Counterfactual[] {
  const here = destination(decision, input);
  const changes = [
    ...statementChanges(input, decision.hasRedactions),
    ...counterChanges(input),
    ...goalChanges(input, decision),
  ].toSorted((a, b) => Number(hasDecided(b.input, decision)) - Number(hasDecided(a.input, decision)));
  const found: Counterfactual[] = [];
  for (const { input: name, from, to, changed } of changes) {
    if (found.length === most) break;
    // The ledger's refusal stays for every change but that of the cap.
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

function hasDecided(input: string, { cause, rule }: Decided): boolean {
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

/** What the caller stated is left out or inverted; a level moves by one or two steps. */
function statementChanges(input: DecideInput, hasRedactions: boolean): readonly Change[] {
  const { task, runtime } = input;
  const changes: Change[] = [];
  const state = (name: string, from: string, to: string, given: Partial<typeof task>) =>
    changes.push({ input: name, from, to, changed: { ...input, task: { ...task, ...given } } });
  if (task.explicit_route !== "AUTO") state("explicit_route", task.explicit_route, "AUTO", { explicit_route: "AUTO" });
  const reasoning = task.reasoning === "HIGH" ? "AUTO" : "HIGH";
  state("reasoning", task.reasoning, reasoning, { reasoning });
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
    for (const step of [-1, 1, -2, 2, 3]) {
      const to = levels[levels.indexOf(task[name]) + step];
      if (to !== undefined) state(name, task[name], to, { [name]: to });
    }
  }
  const { failure_class } = runtime;
  if (failure_class !== "NONE") {
    const changed = { ...input, runtime: { ...runtime, failure_class: "NONE" as const } };
    changes.push({ input: "failure_class", from: failure_class, to: "NONE", changed });
  }
  return changes;
}

/** Each counter of the run that is at its limit, to just below it; and that of the same error, which callers report, to its limit. */
function counterChanges(input: DecideInput): readonly Change[] {
  const { hard_rules, limits } = input.snapshot.policy;
  const { runtime, task } = input;
  const counters = [
    ["same_error_count", hard_rules.same_error_count],
    ["flash_attempts", hard_rules.flash_attempts],
    ["files_touched", hard_rules.files_touched],
    ["tool_depth", Math.max(0, hard_rules.tool_depth - task.estimated_tool_depth)],
    ["attempts", limits.max_attempts],
  ] as const;
  return counters.flatMap(([name, limit]): Change[] => {
    const value = runtime[name];
    if (value < limit && name !== "same_error_count") return [];
    const to = value >= limit ? limit - 1 : limit;
    const changed = { ...input, runtime: { ...runtime, [name]: to } };
    return to < 0 ? [] : [{ input: name, from: String(value), to: String(to), changed }];
  });
}

/** The money that is missing under the goal's hard cap, where that cap decided: a goal is the caller's to choose. */
function goalChanges(input: DecideInput, { cause, evidence }: Decided): readonly Change[] {
  const { spend, caps, registry, size } = input.snapshot;
  const isGoal = fact(evidence, "budget_cap")?.startsWith("goal") === true;
  if (!isGoal || cause !== "budget_hard_cap_exceeded") return [];
  return [registry.byRole.senior, registry.byRole.worker].flatMap((model): Change[] => {
    const after = model === undefined ? 0 : spend.goal.spent + spend.goal.held + holdOf(model, size);
    if (after <= caps.goalHard || !Number.isSafeInteger(after)) return [];
    const changed = { ...input, snapshot: { ...input.snapshot, caps: { ...caps, goalHard: nanoUsd(after) } } };
    return [{ input: "budget.per_goal_hard_usd", from: formatUsd(caps.goalHard), to: formatUsd(after), changed }];
  });
}
