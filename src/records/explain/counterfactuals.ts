import { tierOfRole } from "#domain/model.ts";
import { formatUsd, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { type Cause, levels, type RoutingDecision } from "#domain/routing.ts";
import { estimateOf, holdOf } from "#pipeline/decide/select/budget.ts";
import { stateOf } from "#pipeline/decide/select/select-model.ts";
import type { Counterfactual, DecisionInputs } from "#records/decision-record.ts";
import { type DecideInput, decideAgain } from "#records/replay/replay.ts";

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
export function counterfactualsOf(
  input: DecideInput,
  decision: Pick<RoutingDecision, "model" | "cause" | "score"> & { readonly rule: string | null },
  ledgerSpend: DecisionInputs["ledger_spend"],
  hasRedactions: boolean,
): readonly Counterfactual[] {
  const here = destinationOf(decision, input);
  const changes = [
    ...scoreChanges(input, decision.score),
    ...counterChanges(input),
    ...wordChanges(input, hasRedactions),
    ...budgetChanges(input),
    ...healthChanges(input),
  ]
    .map((change) => ({ ...change, rank: decidedBy(change.input, decision) ? change.distance / 10 : change.distance }))
    .toSorted((a, b) => a.rank - b.rank);
  const found: Counterfactual[] = [];
  for (const { input: name, from, to, changed } of changes) {
    if (found.length === most) break;
    // The ledger's refusal stays for every change but those of the budget.
    const then = decideAgain(changed, name.startsWith("budget") ? null : ledgerSpend, true);
    const leadsTo = destinationOf(then, changed);
    // Only the nearest change of an input with the same result is listed.
    if (leadsTo === here || found.some((nearer) => nearer.input === name && nearer.leads_to === leadsTo)) continue;
    const sentence = `With ${name} ${to} instead of ${from}: ${leadsTo} (${then.cause}).`;
    found.push({ input: name, from, to, leads_to: leadsTo, cause: then.cause, sentence });
  }
  return found;
}

/** The inputs that each cause depends on, by the beginning of their names. Hard rules have the names of their inputs. */
const inputsOfCause: { readonly [C in Cause]: readonly string[] } = {
  privacy_free_denied: ["sensitive", "repo_free_opt_in"],
  privacy_scout_denied: ["sensitive", "repo_free_opt_in"],
  attempts_exhausted: ["attempts"],
  hard_pro_rule: [],
  explicit_pro: ["explicit_route", "pro"],
  reasoning_high: ["reasoning"],
  explicit_free: ["explicit_route"],
  explicit_flash: ["explicit_route"],
  scout_requested: ["scout"],
  hint_pro: ["hint"],
  hint_flash: ["hint"],
  hint_free: ["hint"],
  score_flash: ["score"],
  score_pro: ["score"],
  gray_zone_scout: ["score", "scout"],
  gray_zone_flash: ["score"],
  gray_zone_pro: ["score"],
  affinity: ["affinity"],
  exploration: ["score"],
  budget_soft_cap: ["budget"],
  budget_hard_cap_exceeded: ["budget"],
  all_models_unhealthy: ["health"],
};
const inputsOfRule: Readonly<Record<string, string>> = {
  guarded_kind: "risk_level",
  critical_risk: "risk_level",
  critical_blast_radius: "blast_radius",
  structural_failure: "failure_class",
};

function decidedBy(input: string, { cause, rule }: { readonly cause: Cause; readonly rule: string | null }): boolean {
  if (cause !== "hard_pro_rule") return inputsOfCause[cause].some((name) => input.startsWith(name));
  return rule?.split(", ").some((name) => (inputsOfRule[name] ?? name) === input) === true;
}

/** A tier, `refused`, or `scout`: it is asked first, and nobody knows what it would say. */
function destinationOf({ model, cause }: Pick<RoutingDecision, "model" | "cause">, { snapshot }: DecideInput): string {
  if (model === null) return "refused";
  if (asksScout.has(cause) && model === snapshot.registry.byRole.scout?.key) return "scout";
  const role = snapshot.registry.models.get(model)?.role;
  return role === undefined ? model : tierOfRole[role];
}

const asksScout: ReadonlySet<Cause> = new Set(["gray_zone_scout", "scout_requested"]);

/** Moving both thresholds by a difference has the same effect as another score. */
function scoreChanges(input: DecideInput, score: number): readonly Change[] {
  const { flash_below, pro_from } = input.snapshot.policy.routing;
  const middle = (flash_below + pro_from) / 2;
  const targets = [flash_below - 0.01, flash_below, middle, pro_from];
  return targets
    .filter((target) => target >= 0 && target !== score)
    .map((target) => {
      // A score that equals a threshold has reached it. Without the margin the sum's last binary digit would decide.
      const by = target - score + margin;
      const routing = { ...input.snapshot.policy.routing, flash_below: flash_below - by, pro_from: pro_from - by };
      return {
        input: "score",
        from: String(score),
        to: String(Math.round(target * 100) / 100),
        distance: Math.abs(target - score) / 100,
        changed: withPolicy(input, { routing }),
      };
    });
}

/** Far below the hundredth to which scores are rounded. */
const margin = 1e-6;

/** Each counter of the run, to its limit or to just below it. */
function counterChanges(input: DecideInput): readonly Change[] {
  const { hard_rules, limits } = input.snapshot.policy;
  const { runtime, task } = input;
  const counters = [
    ["same_error_count", runtime.same_error_count, hard_rules.same_error_count],
    ["flash_attempts", runtime.flash_attempts, hard_rules.flash_attempts],
    ["files_touched", runtime.files_touched, hard_rules.files_touched],
    ["tool_depth", runtime.tool_depth, Math.max(0, hard_rules.tool_depth - task.estimated_tool_depth)],
    ["attempts", runtime.attempts, limits.max_attempts],
  ] as const;
  return counters.flatMap(([name, value, limit]) => {
    const to = value >= limit ? limit - 1 : limit;
    if (to < 0) return [];
    return [
      {
        input: name,
        from: String(value),
        to: String(to),
        distance: Math.abs(to - value) / Math.max(1, limit),
        changed: { ...input, runtime: { ...runtime, [name]: to } },
      },
    ];
  });
}

/** Inputs whose values are names: what the caller stated is left out or inverted, a level moves by one or two steps. */
function wordChanges(input: DecideInput, hasRedactions: boolean): readonly Change[] {
  const { task, runtime, snapshot } = input;
  const changes: Change[] = [];
  const add = (name: string, from: string, to: string, changed: DecideInput, distance = 0.5) =>
    changes.push({ input: name, from, to, distance, changed });
  const stated = (name: string, from: string, given: Partial<typeof task>, to = "absent") =>
    add(name, from, to, { ...input, task: { ...task, ...given } });
  if (task.explicit_route !== "AUTO") stated("explicit_route", task.explicit_route, { explicit_route: "AUTO" }, "AUTO");
  if (task.reasoning === "HIGH") stated("reasoning", "HIGH", { reasoning: "AUTO" }, "AUTO");
  for (const key of Object.keys(task.metadata)) {
    const { [key]: value, ...metadata } = task.metadata;
    stated(key === "routing" ? "hint" : key, String(value), { metadata });
  }
  // With a redaction the task is sensitive, whatever its caller states.
  if (task.sensitive && !hasRedactions) stated("sensitive", "true", { sensitive: false }, "false");
  if (!task.sensitive) stated("sensitive", "false", { sensitive: true }, "true");
  if (task.repo_context_present && !task.repo_free_opt_in) {
    stated("repo_free_opt_in", "false", { repo_free_opt_in: true }, "true");
  }
  for (const name of ["risk_level", "blast_radius"] as const) {
    const at = levels.indexOf(task[name]);
    for (const step of [-1, 1, -2, 2]) {
      const to = levels[at + step];
      if (to === undefined) continue;
      add(name, task[name], to, { ...input, task: { ...task, [name]: to } }, Math.abs(step) / levels.length);
    }
  }
  if (runtime.failure_class !== "NONE") {
    add("failure_class", runtime.failure_class, "NONE", { ...input, runtime: { ...runtime, failure_class: "NONE" } });
  }
  const { affinity, verdict } = snapshot;
  if (affinity !== undefined) {
    const { affinity: _, ...without } = snapshot;
    add("affinity", affinity.model, "none", { ...input, snapshot: without });
  }
  if (verdict !== undefined) {
    const to = verdict === "pro" ? "flash" : "pro";
    add("scout_verdict", verdict, to, { ...input, snapshot: { ...snapshot, verdict: to } });
  }
  return changes;
}

/** The money that is missing to a cap, or that is left under it. */
function budgetChanges(input: DecideInput): readonly Change[] {
  const { snapshot } = input;
  const { spend, caps, registry, size } = snapshot;
  const changes: Change[] = [];
  for (const model of [registry.byRole.senior, registry.byRole.worker]) {
    if (model === undefined) continue;
    for (const account of ["goal", "day"] as const) {
      // Above a soft cap only the senior model's requests step down, and by their estimate.
      for (const level of model.role === "senior" ? (["Hard", "Soft"] as const) : (["Hard"] as const)) {
        const name = `${account}${level}` as const;
        const amount = level === "Hard" ? holdOf(model, size) : estimateOf(model, size);
        const after = spend[account].spent + spend[account].held + amount;
        const missing = after - caps[name];
        const cap = Math.max(1, caps[name]);
        if (missing > 0 && Number.isSafeInteger(after)) {
          changes.push({
            input: `budget.per_${account}_${level.toLowerCase()}_usd`,
            from: formatUsd(caps[name]),
            to: formatUsd(nanoUsd(after)),
            distance: Math.min(1, missing / cap),
            changed: withCaps(input, name, nanoUsd(after)),
          });
        } else if (missing <= 0) {
          const spent = nanoUsd(spend[account].spent - missing + 1);
          changes.push({
            input: `${account}'s spend (USD)`,
            from: formatUsd(spend[account].spent),
            to: formatUsd(spent),
            distance: Math.min(1, -missing / cap),
            changed: {
              ...input,
              snapshot: { ...snapshot, spend: { ...spend, [account]: { ...spend[account], spent } } },
            },
          });
        }
      }
    }
  }
  return changes;
}

/** In the order of the registry, which a recorded decision is explained in too. */
function healthChanges(input: DecideInput): readonly Change[] {
  const { snapshot } = input;
  return [...snapshot.registry.models.values()].flatMap((model) => {
    const health = snapshot.health[model.key];
    if (health === undefined || health.routable) return [];
    const healthy = { ...health, state: "HEALTHY" as const, routable: true };
    return [
      {
        input: `health of ${model.key}`,
        from: stateOf(model, snapshot),
        to: "HEALTHY",
        distance: 0.5,
        changed: { ...input, snapshot: { ...snapshot, health: { ...snapshot.health, [model.key]: healthy } } },
      },
    ];
  });
}

function withPolicy(input: DecideInput, given: Partial<DecideInput["snapshot"]["policy"]>): DecideInput {
  return { ...input, snapshot: { ...input.snapshot, policy: { ...input.snapshot.policy, ...given } } };
}

/** A raised soft cap stays below its hard cap; a raised hard cap leaves the soft one. */
function withCaps(input: DecideInput, name: keyof DecideInput["snapshot"]["caps"], cap: NanoUsd): DecideInput {
  return { ...input, snapshot: { ...input.snapshot, caps: { ...input.snapshot.caps, [name]: cap } } };
}
