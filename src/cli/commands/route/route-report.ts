import type { Config } from "#config/load-config.ts";
import { formatUsd } from "#domain/money/money.ts";
import type { RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { contributionsOf, evidenceOf, expectedCostOf } from "#pipeline/dry-run.ts";

/** One decision with what it was made from. */
export interface Routed {
  readonly decision: RoutingDecision;
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly size: RequestSize;
  /** Credentials that the privacy gate replaced; absent for a stated task. */
  readonly redactions?: number;
}

const dimensions = ["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"] as const;

/** The decision with its reasons, for a reader. */
export function reportOf(routed: Routed, config: Config): string {
  const { decision, task, runtime } = routed;
  const { flash_below, pro_from } = config.policy.routing;
  const lines = [
    `${decision.action}${targetOf(decision, config)}`,
    `  cause       ${decision.cause}${decision.hard_rule ? " (hard rule)" : ""}`,
    `  score       ${decision.score} of 100 (${firstOf(decision, "score_scale")} scale), from ${firstOf(decision, "points")} points; flash below ${flash_below}, pro from ${pro_from}`,
    `  confidence  ${decision.confidence}`,
    `  task        ${task.kind}, risk ${task.risk_level}, blast radius ${task.blast_radius}, ${task.sensitive ? "sensitive" : "not sensitive"}${task.repo_context_present ? ", repository context" : ""}`,
  ];
  if ((routed.redactions ?? 0) > 0) lines.push(`  privacy     ${routed.redactions} credentials would be replaced`);
  if (decision.sensitive_block_applied) lines.push("  privacy     the gate forced a downgrade or denial");
  lines.push("  points");
  for (const dimension of dimensions) {
    lines.push(`    ${dimension.padEnd(24)} ${task[dimension].toFixed(3)}  ${pointsFor(decision, dimension)}`);
  }
  for (const feature of ["risk_level", "blast_radius", "tool_depth", "runtime_trouble", "kind_bias"]) {
    const points = pointsFor(decision, feature);
    if (points !== "+0") lines.push(`    ${feature.padEnd(24)}        ${points}`);
  }
  const learned = firstOf(decision, "learned");
  if (learned !== "") {
    lines.push(`    ${"learned".padEnd(24)}        ${learned} on the score of ${firstOf(decision, "score_shipped")}`);
  }
  const rules = evidenceOf(decision, "hard_rule");
  lines.push(`  hard rules  ${rules.length === 0 ? "none fires" : rules.join(", ")}`);
  const run = ["same_error", "calls_without_progress"].flatMap((key) =>
    evidenceOf(decision, key).map((value) => `${key}=${value}`),
  );
  const counts = Object.entries(runtime).filter(([, value]) => value !== 0 && value !== null && value !== "NONE");
  if (run.length + counts.length > 0) {
    lines.push(`  run         ${[...counts.map(([key, value]) => `${key}=${value}`), ...run].join(", ")}`);
  }
  const affinity = ["affinity", "switch_cost_usd", "switch_saves_usd", "horizon_turns"].flatMap((key) =>
    evidenceOf(decision, key).map((value) => `${key}=${value}`),
  );
  if (affinity.length > 0) lines.push(`  affinity    ${affinity.join(", ")}`);
  const cost = costOf(routed, config);
  if (cost !== undefined) {
    lines.push(
      `  cost        $${cost.estimate_usd} at the estimate, $${cost.hold_usd} held; the same on ${cost.other_model} $${cost.other_estimate_usd}`,
    );
  }
  return [...lines, "  evidence", ...decision.evidence.map((entry) => `    ${entry}`)].join("\n");
}

/** One line for one request of a transcript. */
export function lineOf(routed: Routed, turn: number, config: Config): string {
  const { decision, runtime } = routed;
  const rules = evidenceOf(decision, "hard_rule");
  const notes = [
    ...rules,
    ...evidenceOf(decision, "housekeeping").map((kind) => `housekeeping ${kind}`),
    ...(runtime.same_error_count > 0 ? [`same_error_count ${runtime.same_error_count}`] : []),
    ...(runtime.tool_depth > 0 ? [`tool_depth ${runtime.tool_depth}`] : []),
  ];
  const cost = costOf(routed, config);
  const price = cost === undefined ? "" : `$${Number(cost.estimate_usd).toFixed(6)}`;
  return inColumns([
    String(turn),
    decision.model ?? decision.action,
    decision.cause,
    decision.score.toFixed(2),
    price,
    notes.join(", "),
  ]);
}

/** What stands in the columns of these lines. */
export const linesHeading = inColumns(["turn", "model", "cause", "score", "cost", "signals"]);

function inColumns([turn = "", model = "", cause = "", score = "", cost = "", notes = ""]: readonly string[]): string {
  const columns = [
    turn.padStart(4),
    model.padEnd(18),
    cause.padEnd(18),
    score.padStart(6),
    cost.padStart(11),
    ` ${notes}`,
  ];
  return columns.join("  ").trimEnd();
}

/** Everything as data. */
export function detailsOf(routed: Routed, config: Config) {
  const { decision, task, runtime, redactions } = routed;
  const contributions = Object.fromEntries(contributionsOf(decision));
  const learned = firstOf(decision, "learned");
  const { instruction: _, ...shown } = task;
  return {
    decision,
    task: shown,
    runtime,
    contributions,
    ...(learned === "" ? {} : { learned: Number(learned) }),
    hard_rules: evidenceOf(decision, "hard_rule"),
    ...(redactions === undefined ? {} : { redactions }),
    cost: costOf(routed, config) ?? null,
  };
}

/** The expected cost in US dollars, as text. */
function costOf({ decision, size }: Routed, { registry }: Config) {
  const cost = expectedCostOf(decision, size, registry);
  if (cost === undefined) return undefined;
  return {
    model: cost.model,
    input_tokens_estimate: cost.inputTokensEstimate,
    estimate_usd: formatUsd(cost.estimate),
    hold_usd: formatUsd(cost.hold),
    other_model: cost.otherModel,
    other_estimate_usd: formatUsd(cost.otherEstimate),
  };
}

function targetOf({ model }: RoutingDecision, { registry }: Config): string {
  if (model === null) return "";
  const upstreamId = registry.models.get(model)?.upstreamId;
  return ` → ${model}${upstreamId === undefined ? "" : ` (${upstreamId})`}`;
}

function pointsFor(decision: RoutingDecision, feature: string): string {
  const value = firstOf(decision, `points_${feature}`) || "0";
  return value.startsWith("-") ? value : `+${value}`;
}

function firstOf(decision: RoutingDecision, key: string): string {
  return evidenceOf(decision, key)[0] ?? "";
}
