import { tierOfRole } from "#domain/model.ts";
import { formatUsd, nanoUsd } from "#domain/money/money.ts";
import { levels, type RoutingDecision } from "#domain/routing.ts";
import { estimateOf, holdOf } from "#pipeline/decide/select/budget.ts";
import type { Counterfactual, DecisionInputs } from "#records/decision-record.ts";
import { type DecideInput, decideAgain } from "#records/replay/replay.ts";
import { causeTexts, fact } from "./sentences.ts";

/** A change to try, of something that the caller says or does. */
interface Change {
  readonly input: string;
  readonly from: string;
  readonly to: string;
  readonly changed: DecideInput;
  /** A step away: worth saying even where something else has decided. */
  readonly near?: boolean;
  /** How it is said, where not `With name to instead of from`. */
  readonly said?: string;
}

interface Decided extends Pick<RoutingDecision, "model" | "cause" | "evidence"> {
  readonly score: number | null;
  readonly rule: string | null;
  readonly hasRedactions: boolean;
}

const most = 5;

/**
 * What would have changed the decision: changes of one thing that lead to another tier or to a refusal, each tried with
 * `decide`. Only of what has decided, and of what is a step away: the distance to the next threshold, the money that is
 * missing, the model that was skipped. What leads elsewhere from everywhere (asking for high reasoning) says nothing
 * about this request.
 */
export function findCounterfactuals(
  input: DecideInput,
  decision: Decided,
  ledgerSpend: DecisionInputs["ledger_spend"],
): Counterfactual[] {
  const here = destination(decision, input);
  const changes = [
    ...healthChanges(input, decision),
    ...moneyChanges(input, decision),
    ...counterChanges(input),
    ...statementChanges(input, decision.hasRedactions),
  ];
  const decided = changes.filter(({ input }) => hasDecided(input, decision));
  const near = changes.filter((change) => change.near === true && !decided.includes(change));
  const found: Counterfactual[] = [];
  for (const { input: name, from, to, changed, said } of [...decided, ...near]) {
    // The ledger's refusal stays for every change but that of money.
    const then = decideAgain(changed, name.startsWith("budget") ? null : ledgerSpend, true);
    const leadsTo = destination(then, changed);
    // Only the nearest change of an input with the same result is listed.
    if (leadsTo === here || found.some((nearer) => nearer.input === name && nearer.leads_to === leadsTo)) continue;
    const sentence = `With ${said ?? `${name} ${to} instead of ${from}`}: ${leadsTo} (${then.cause}).`;
    found.push({ input: name, from, to, leads_to: leadsTo, cause: then.cause, sentence });
  }
  return [...scoreDistances(input, decision), ...found].slice(0, most);
}

/** How far the score is from the thresholds beside it, where the score has decided. */
function scoreDistances({ snapshot }: DecideInput, { cause, score }: Decided): Counterfactual[] {
  if (score === null || causeTexts[cause].stage !== "score") return [];
  const { flash_below: low, pro_from: high } = snapshot.policy.routing;
  const distance = (to: number, leads_to: string, cause: Counterfactual["cause"]) => {
    const points = Math.round(Math.abs(to - score) * 100) / 100;
    const sentence = `With a score ${points} ${to > score ? "higher" : "lower"} (${score}; ${leads_to} ${to > score ? "from" : "below"} ${to}): ${leads_to}.`;
    return { input: "score", from: String(score), to: String(to), leads_to, cause, sentence };
  };
  if (score < low)
    return [low < high ? distance(low, "gray zone", "gray_zone_scout") : distance(high, "pro", "score_pro")];
  if (score >= high)
    return [low < high ? distance(high, "gray zone", "gray_zone_scout") : distance(low, "flash", "score_flash")];
  return [distance(low, "flash", "score_flash"), distance(high, "pro", "score_pro")];
}

/** The model that was chosen and could not serve, as if it could. */
function healthChanges(input: DecideInput, { evidence }: Decided): readonly Change[] {
  const { registry, health } = input.snapshot;
  const skipped = [...registry.models.keys()].filter((key) => health[key]?.routable === false);
  const replaced = fact(evidence, "replaced");
  return skipped.flatMap((key): Change[] => {
    const { state = "UNHEALTHY" } = health[key] ?? {};
    if (replaced !== undefined && key !== replaced) return [];
    const healthy = { state: "HEALTHY" as const, routable: true, sinceMs: 0, reason: "" };
    const changed = { ...input, snapshot: { ...input.snapshot, health: { ...health, [key]: healthy } } };
    return [
      { input: "health", from: state, to: "HEALTHY", changed, near: true, said: `${key} in service (it was ${state})` },
    ];
  });
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
  const state = (name: string, from: string, to: string, given: Partial<typeof task>, near = false) =>
    changes.push({ input: name, from, to, near, changed: { ...input, task: { ...task, ...given } } });
  if (task.explicit_route !== "AUTO")
    state("explicit_route", task.explicit_route, "AUTO", { explicit_route: "AUTO" }, true);
  const reasoning = task.reasoning === "HIGH" ? "AUTO" : "HIGH";
  state("reasoning", task.reasoning, reasoning, { reasoning });
  for (const key of Object.keys(task.metadata)) {
    const { [key]: value, ...metadata } = task.metadata;
    state(key === "routing" ? "hint" : key, String(value), "absent", { metadata });
  }
  if (!task.sensitive) state("sensitive", "false", "true", { sensitive: true });
  // With a redaction the task is sensitive, whatever its caller states.
  else if (!hasRedactions) state("sensitive", "true", "false", { sensitive: false }, true);
  if (task.repo_context_present && !task.repo_free_opt_in) {
    state("repo_free_opt_in", "false", "true", { repo_free_opt_in: true });
  }
  for (const name of ["risk_level", "blast_radius"] as const) {
    for (const step of [-1, 1, -2, 2, 3]) {
      const to = levels[levels.indexOf(task[name]) + step];
      if (to !== undefined) state(name, task[name], to, { [name]: to }, Math.abs(step) === 1);
    }
  }
  const { failure_class } = runtime;
  if (failure_class !== "NONE") {
    const changed = { ...input, runtime: { ...runtime, failure_class: "NONE" as const } };
    changes.push({ input: "failure_class", from: failure_class, to: "NONE", changed });
  }
  return changes;
}

/** Each counter of the run that is at its limit, to just below it, and one that is a step below, to it. */
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
    const to = value >= limit ? limit - 1 : limit;
    if (value < limit - 1 || to < 0 || (value === 0 && to > value)) return [];
    const changed = { ...input, runtime: { ...runtime, [name]: to } };
    return [{ input: name, from: String(value), to: String(to), changed, near: to > value }];
  });
}

/** The money that is missing under the cap that decided. */
function moneyChanges(input: DecideInput, { cause, evidence }: Decided): readonly Change[] {
  const { spend, caps, registry, size } = input.snapshot;
  const [account, kind] = fact(evidence, "budget_cap")?.split("_") ?? [];
  const isSoft = cause === "budget_soft_cap" && kind === "soft";
  if (!isSoft && cause !== "budget_hard_cap_exceeded") return [];
  if (account !== "goal" && account !== "day") return [];
  const cap = `${account}${isSoft ? "Soft" : "Hard"}` as const;
  const name = `budget.per_${account}_${isSoft ? "soft" : "hard"}_usd`;
  const { spent, held } = spend[account];
  return [registry.byRole.senior, registry.byRole.worker].flatMap((model): Change[] => {
    const after = model === undefined ? 0 : spent + held + (isSoft ? estimateOf(model, size) : holdOf(model, size));
    if (after <= caps[cap] || !Number.isSafeInteger(after)) return [];
    const raised = { ...caps, [cap]: nanoUsd(after), ...(isSoft ? {} : { [`${account}Soft`]: nanoUsd(after) }) };
    const changed = { ...input, snapshot: { ...input.snapshot, caps: raised } };
    const said = `${formatUsd(after - caps[cap])} USD more of the ${account}'s ${isSoft ? "soft" : "hard"} cap`;
    return [{ input: name, from: formatUsd(caps[cap]), to: formatUsd(after), changed, said }];
  });
}
