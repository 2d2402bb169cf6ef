import type { Policy } from "#config/policy.ts";
import { levels, type RoutingTask, type RuntimeState, type TaskKind } from "#domain/routing.ts";
import type { Evidence } from "#pipeline/decide/choice.ts";

type Limits = Policy["hard_rules"];

/** A fact that sends a task to the senior model: `sees` gives the value of `key` for the evidence, if it does. */
interface HardRule {
  readonly name: string;
  readonly key: string;
  readonly sees: (task: RoutingTask, runtime: RuntimeState, limits: Limits) => string | number | undefined;
}

const atLeast = (value: number, limit: number) => (value >= limit ? value : undefined);
const only = (value: string, wanted: string) => (value === wanted ? value : undefined);

/** Kinds of which a task with high risk is for the senior model. */
const highRiskKinds: ReadonlySet<TaskKind> = new Set(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"]);

/** Any one that fires sends the task to the senior model, whatever its score; all that fire are shown. */
export const hardRules: readonly HardRule[] = [
  {
    name: "guarded_kind",
    key: "kind",
    sees: ({ kind, risk_level }) =>
      highRiskKinds.has(kind) && levels.indexOf(risk_level) >= levels.indexOf("HIGH") ? kind : undefined,
  },
  { name: "critical_risk", key: "risk_level", sees: (task) => only(task.risk_level, "CRITICAL") },
  { name: "critical_blast_radius", key: "blast_radius", sees: (task) => only(task.blast_radius, "CRITICAL") },
  { name: "structural_failure", key: "failure_class", sees: (_, run) => only(run.failure_class, "STRUCTURAL") },
  ...(["same_error_count", "flash_attempts", "files_touched"] as const).map(
    (name): HardRule => ({ name, key: name, sees: (_, run, limits) => atLeast(run[name], limits[name]) }),
  ),
  {
    name: "tool_depth",
    key: "tool_depth",
    sees: (task, run, limits) => atLeast(run.tool_depth + task.estimated_tool_depth, limits.tool_depth),
  },
];

/** Stage 3: whether any hard rule fires; adds what each of them saw. */
export function hardRuleFires(task: RoutingTask, runtime: RuntimeState, policy: Policy, evidence: Evidence): boolean {
  let fires = false;
  for (const rule of hardRules) {
    const value = rule.sees(task, runtime, policy.hard_rules);
    if (value === undefined) continue;
    fires = true;
    const seen = `${rule.key}=${value}`;
    evidence.push(`hard_rule=${rule.name}`);
    if (!evidence.includes(seen)) evidence.push(seen);
  }
  return fires;
}
