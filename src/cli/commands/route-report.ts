import { textRecord } from "#cli/output.ts";
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
const otherFeatures = ["risk_level", "blast_radius", "tool_depth", "runtime_trouble", "kind_bias"];

/** The decision with its reasons, for a reader. */
export function reportText(routed: Routed, config: Config): string {
  const { decision, task, runtime } = routed;
  const { flash_below, pro_from } = config.policy.routing;
  const upstreamId = config.registry.models.get(decision.model ?? "")?.upstreamId;
  const target =
    decision.model === null ? "" : ` → ${decision.model}${upstreamId === undefined ? "" : ` (${upstreamId})`}`;
  const points = [
    ...dimensions.map((name) => `${name.padEnd(24)} ${task[name].toFixed(3)}  ${pointsFor(decision, name)}`),
    ...otherFeatures
      .filter((name) => pointsFor(decision, name) !== "+0")
      .map((name) => `${name.padEnd(24)}        ${pointsFor(decision, name)}`),
    ...evidenceOf(decision, "learned").map(
      (value) => `${"learned".padEnd(24)}        ${value} on the score of ${first(decision, "score_shipped")}`,
    ),
  ];
  const counts = Object.entries(runtime).filter(([, value]) => value !== 0 && value !== null && value !== "NONE");
  const cost = expectedCost(routed, config);
  const lines = textRecord({
    cause: `${decision.cause}${decision.hard_rule ? " (hard rule)" : ""}`,
    score: `${decision.score} of 100 (${first(decision, "score_scale")} scale), from ${first(decision, "points")} points; flash below ${flash_below}, pro from ${pro_from}`,
    confidence: decision.confidence,
    task: `${task.kind}, risk ${task.risk_level}, blast radius ${task.blast_radius}, ${task.sensitive ? "sensitive" : "not sensitive"}${task.repo_context_present ? ", repository context" : ""}`,
    privacy: joined("; ", [
      ...((routed.redactions ?? 0) > 0 ? [`${routed.redactions} credentials would be replaced`] : []),
      ...(decision.sensitive_block_applied ? ["the gate forced a downgrade or denial"] : []),
    ]),
    points: points.join("\n"),
    hard_rules: joined(", ", evidenceOf(decision, "hard_rule")) ?? "none fires",
    run: joined(", ", [
      ...counts.map(([key, value]) => `${key}=${value}`),
      ...entriesFor(decision, "same_error", "calls_without_progress"),
    ]),
    affinity: joined(", ", entriesFor(decision, "affinity", "switch_cost_usd", "switch_saves_usd", "horizon_turns")),
    cost:
      cost &&
      `$${cost.estimate_usd} at the estimate, $${cost.hold_usd} held; the same on ${cost.other_model} $${cost.other_estimate_usd}`,
    evidence: decision.evidence.join("\n"),
  });
  return `${decision.action}${target}\n${lines.replace(/^/gm, "  ")}`;
}

/** One row for one request of a transcript. */
export function turnRow(routed: Routed, turn: number, config: Config) {
  const { decision, runtime } = routed;
  const cost = expectedCost(routed, config);
  return {
    turn,
    model: decision.model ?? decision.action,
    cause: decision.cause,
    score: decision.score.toFixed(2),
    cost: cost === undefined ? "" : `$${Number(cost.estimate_usd).toFixed(6)}`,
    signals: [
      ...evidenceOf(decision, "hard_rule"),
      ...evidenceOf(decision, "housekeeping").map((kind) => `housekeeping ${kind}`),
      ...(runtime.same_error_count > 0 ? [`same_error_count ${runtime.same_error_count}`] : []),
      ...(runtime.tool_depth > 0 ? [`tool_depth ${runtime.tool_depth}`] : []),
    ].join(", "),
  };
}

/** Everything as data. */
export function details(routed: Routed, config: Config) {
  const { decision, task, runtime, redactions } = routed;
  const [learned] = evidenceOf(decision, "learned");
  const { instruction: _, ...shown } = task;
  return {
    decision,
    task: shown,
    runtime,
    contributions: Object.fromEntries(contributionsOf(decision)),
    ...(learned === undefined ? {} : { learned: Number(learned) }),
    hard_rules: evidenceOf(decision, "hard_rule"),
    ...(redactions === undefined ? {} : { redactions }),
    cost: expectedCost(routed, config) ?? null,
  };
}

/** The expected cost in US dollars, as text. */
function expectedCost({ decision, size }: Routed, { registry }: Config) {
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

function pointsFor(decision: RoutingDecision, feature: string): string {
  const value = first(decision, `points_${feature}`) || "0";
  return value.startsWith("-") ? value : `+${value}`;
}

function first(decision: RoutingDecision, key: string): string {
  return evidenceOf(decision, key)[0] ?? "";
}

function entriesFor(decision: RoutingDecision, ...keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => evidenceOf(decision, key).map((value) => `${key}=${value}`));
}

function joined(separator: string, parts: readonly string[]): string | undefined {
  return parts.length === 0 ? undefined : parts.join(separator);
}
