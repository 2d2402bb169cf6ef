import type { Policy } from "#config/policy.ts";
import { levels, type RoutingTask, type RuntimeState } from "#domain/routing.ts";
import type { Evidence } from "#pipeline/decide/choice.ts";

type Limits = Policy["hard_rules"];

/** A fact about one task that sends it to the senior model; what it saw, as `key=value`, or undefined. */
type HardRule = {
  readonly name: string;
  readonly sees: (task: RoutingTask, runtime: RuntimeState, limits: Limits) => string | undefined;
};

/** Any one that fires sends the task to the senior model, whatever its score; all that fire are shown. */
export const hardRules: readonly HardRule[] = [
  {
    name: "guarded_kind",
    sees: ({ kind, risk_level }, _, limits) =>
      limits.guarded_kinds.includes(kind) &&
      levels.indexOf(risk_level) >= levels.indexOf(limits.guarded_kinds_from_risk)
        ? `kind=${kind}`
        : undefined,
  },
  { name: "critical_risk", sees: ({ risk_level }) => (risk_level === "CRITICAL" ? "risk_level=CRITICAL" : undefined) },
  {
    name: "critical_blast_radius",
    sees: ({ blast_radius }) => (blast_radius === "CRITICAL" ? "blast_radius=CRITICAL" : undefined),
  },
  {
    name: "structural_failure",
    sees: (_, { failure_class }) => (failure_class === "STRUCTURAL" ? "failure_class=STRUCTURAL" : undefined),
  },
  {
    name: "same_error_count",
    sees: (_, { same_error_count }, limits) =>
      same_error_count >= limits.same_error_count ? `same_error_count=${same_error_count}` : undefined,
  },
  {
    name: "flash_attempts",
    sees: (_, { flash_attempts }, limits) =>
      flash_attempts >= limits.flash_attempts ? `flash_attempts=${flash_attempts}` : undefined,
  },
  {
    name: "files_touched",
    sees: (_, { files_touched }, limits) =>
      files_touched >= limits.files_touched ? `files_touched=${files_touched}` : undefined,
  },
  {
    name: "tool_depth",
    sees: ({ estimated_tool_depth }, { tool_depth }, limits) =>
      tool_depth + estimated_tool_depth >= limits.tool_depth
        ? `tool_depth=${tool_depth + estimated_tool_depth}`
        : undefined,
  },
];

/** Stage 3: whether any hard rule fires; adds what each of them saw. */
export function hardRuleFires(task: RoutingTask, runtime: RuntimeState, policy: Policy, evidence: Evidence): boolean {
  let fires = false;
  for (const rule of hardRules) {
    const seen = rule.sees(task, runtime, policy.hard_rules);
    if (seen === undefined) continue;
    fires = true;
    evidence.push(`hard_rule=${rule.name}`);
    if (!evidence.includes(seen)) evidence.push(seen);
  }
  return fires;
}
