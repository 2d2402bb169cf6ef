import { dollarText } from "#domain/money/dollar-text.ts";
import type { Cause, RoutingDecision } from "#domain/routing.ts";
import { onScale } from "#pipeline/decide/rules/score-scale.ts";
import type { DecisionExplanation, DecisionRecord, DecisionStage, Tier } from "#records/decision-record.ts";

type Known = Pick<DecisionRecord, "rule" | "score" | "evidence" | "kind"> & { readonly hasRedactions: boolean };

interface CauseTexts {
  /** The stage that decides so. */
  readonly stage: DecisionStage["stage"];
  /** The inputs that it depends on, by the beginning of their names. Hard rules have the names of their inputs. */
  readonly inputs: readonly string[];
  /** The end of "Went to pro because …". */
  readonly because: string | ((record: Known) => string);
}

const scored = { stage: "score", inputs: ["score"] } as const;
const free = { stage: "privacy", inputs: ["sensitive", "repo_free_opt_in"] } as const;
const route = { stage: "rules", inputs: ["explicit_route"] } as const;
const hint = { stage: "rules", inputs: ["hint"] } as const;
const budget = { stage: "budget", inputs: ["budget"] } as const;

/** What there is to say of each cause. */
export const causeTexts: { readonly [C in Cause]: CauseTexts } = {
  privacy_free_denied: { ...free, because: (known) => `a free model was asked for and ${freeModelObstacle(known)}` },
  privacy_scout_denied: { ...free, because: (known) => `a scout was asked for and ${freeModelObstacle(known)}` },
  attempts_exhausted: {
    stage: "rules",
    inputs: ["attempts"],
    because: ({ evidence }) =>
      `the task has failed too often (${fact(evidence, "attempts")} attempts of ${fact(evidence, "max_attempts")})`,
  },
  hard_pro_rule: { stage: "rules", inputs: [], because: ({ rule, evidence }) => ruleReasons(rule, evidence) },
  explicit_pro: { stage: "rules", inputs: ["explicit_route", "pro"], because: "the caller asked for pro" },
  reasoning_high: { stage: "rules", inputs: ["reasoning"], because: "the caller asked for high reasoning" },
  explicit_free: { ...route, because: "the caller asked for the free model" },
  explicit_flash: { ...route, because: "the caller asked for flash" },
  scout_requested: { stage: "rules", inputs: ["scout"], because: "the caller asked for a scout" },
  hint_pro: { ...hint, because: "the caller hinted at pro" },
  hint_flash: { ...hint, because: "the caller hinted at flash" },
  hint_free: { ...hint, because: "the caller hinted at the free model" },
  score_flash: { ...scored, because: ({ evidence }) => difficulty(evidence) },
  score_pro: { ...scored, because: ({ evidence }) => difficulty(evidence) },
  gray_zone_scout: {
    stage: "score",
    inputs: ["score", "scout"],
    because: ({ evidence }) => `${difficulty(evidence)}: between flash and pro, where the scout decides`,
  },
  gray_zone_flash: {
    ...scored,
    because: ({ evidence }) => `${difficulty(evidence)}: between flash and pro, nearer to flash`,
  },
  gray_zone_pro: {
    ...scored,
    because: ({ evidence }) => `${difficulty(evidence)}: between flash and pro, nearer to pro`,
  },
  affinity: { stage: "rules", inputs: ["affinity"], because: "its conversation has its context cached there" },
  exploration: { stage: "rules", inputs: ["score"], because: "it was drawn to learn how the other tier does" },
  budget_soft_cap: {
    ...budget,
    because: ({ evidence }) =>
      `a soft cap is reached (${fact(evidence, "budget_cap")?.replace("_soft", "") ?? "budget"}), and nothing requires pro`,
  },
  budget_hard_cap_exceeded: {
    ...budget,
    because({ evidence }) {
      const account = fact(evidence, "budget_cap")?.split("_")[0] ?? "goal";
      return `it could pass the hard cap of the ${account === "key" ? "caller's key" : account}`;
    },
  },
  all_models_unhealthy: { stage: "health", inputs: ["health"], because: "no model that may answer it can serve" },
};

function reasonOf(cause: Cause, known: Known): string {
  const { because } = causeTexts[cause];
  return typeof because === "string" ? because : because(known);
}

/** How hard the ask is, beside others; a stated task's difficulty has no such share. */
export function difficulty(evidence: readonly string[]): string {
  if (fact(evidence, "run_prose_chars") !== undefined) return "the model of this run writes much prose, as in trouble";
  const scale = fact(evidence, "score_scale");
  if (scale === "declared") return `its stated difficulty is ${fact(evidence, "score")} of 100`;
  const harderThan = Math.round(onScale(Number(fact(evidence, "points") ?? 0), "chat"));
  const share = Math.min(99, Math.max(harderThan, 100 - harderThan));
  return `it is ${harderThan < 50 ? "easier" : "harder"} than ${share} % of asks`;
}

function freeModelObstacle({ evidence, hasRedactions }: Known): string {
  if (hasRedactions) return "the privacy gate found a private value in the request, which makes it sensitive";
  if (fact(evidence, "sensitive") === "false") return "the request holds repository context";
  return "the request is sensitive";
}

const ruleSentences: Readonly<Record<string, (evidence: readonly string[]) => string>> = {
  guarded_kind: (evidence) =>
    `it is ${fact(evidence, "kind")} work of ${fact(evidence, "risk_level")?.toLowerCase()} risk (\`guarded_kind\`)`,
  critical_risk: () => "its risk is critical (`critical_risk`)",
  critical_blast_radius: () => "its blast radius is critical (`critical_blast_radius`)",
  structural_failure: () => "the failure is structural (`structural_failure`)",
  same_error_count: (evidence) =>
    `the same error came back ${fact(evidence, "same_error_count")} times (\`same_error_count\`)`,
  flash_attempts: (evidence) => `flash has failed ${fact(evidence, "flash_attempts")} times (\`flash_attempts\`)`,
  files_touched: (evidence) => `the task touches ${fact(evidence, "files_touched")} files (\`files_touched\`)`,
  tool_depth: (evidence) => `the run is ${fact(evidence, "tool_depth")} tool calls deep (\`tool_depth\`)`,
};

function ruleReasons(rule: string | null, evidence: readonly string[]): string {
  const names = rule === null ? [] : rule.split(", ");
  return names.map((name) => ruleSentences[name]?.(evidence) ?? name).join(", and ") || "a hard rule fired";
}

/** What a decision that nothing was done with would do, and why. */
export function wouldSentenceOf(
  { action, model, cause }: Pick<RoutingDecision, "action" | "model" | "cause">,
  tier: Tier | null,
  known: Known,
): string {
  const why = reasonOf(cause, known);
  if (model === null) return `Would be refused because ${why}.`;
  if (action === "SCOUT") return `Would ask the scout first because ${why}.`;
  return `Would go to ${tier ?? model} ${replacementIn(known.evidence)}because ${why}.`;
}

/** Which model the rule chose, where another one was decided on: the cause is the reason for that choice only. */
function replacementIn(evidence: readonly string[]): string {
  const role = fact(evidence, "role_without_model");
  if (role !== undefined) return `instead of a ${role}, a role that no model has. A ${role} was chosen `;
  const replaced = fact(evidence, "replaced");
  if (replaced === undefined) return "";
  return `instead of ${replaced} (\`${fact(evidence, "replaced_because")}\`), which was chosen `;
}

/** The same where not the decision's model answered, but a fallback. */
function failOverIn({ model, served_by, attempts, health }: DecisionRecord): string {
  if (served_by === null || served_by === model || model === null) return "";
  const failed = attempts.some((attempt) => attempt.model === model);
  const why = health[model] === "DEGRADED" ? ", which is degraded and sheds a share of its requests" : "";
  return `${failed ? `after ${model} failed` : `instead of ${model}${why}`}. ${model} was chosen `;
}

/** What the privacy gate has found, by rule; undefined where that is nothing. */
export function findingsText(redactions: DecisionRecord["redactions"]): string | undefined {
  const count = redactions.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return undefined;
  const rules = redactions.map(({ rule }) => rule.replaceAll("_", " ")).join(", ");
  const [values, them] = count === 1 ? ["value", "it"] : ["values", "them"];
  return `The privacy gate found ${count} private ${values} (${rules}), and replaced ${them} unless in a tool definition.`;
}

const statedInputs = ["risk_level", "blast_radius", "reasoning", "hint", "scout", "pro"] as const;
const runInputs = [
  ...(["attempts", "flash_attempts", "same_error_count", "tests_failed", "files_touched", "tool_depth"] as const),
  "failure_class",
] as const;
const defaults: ReadonlySet<unknown> = new Set(["LOW", "AUTO", "auto", "NONE", "OTHER", 0, false, null, undefined]);

/** What a person can act on: what was asked for, by whom, at which risk, and what the run has done. */
export function givenIn({ alias, goal, kind, inputs }: GivenSource): DecisionExplanation["given"] {
  const named: readonly (readonly [string, unknown])[] = [
    ["model", alias],
    ["goal", goal],
    ["kind", kind],
    ...statedInputs.map((name) => [name, inputs?.task[name]] as const),
    ...runInputs.map((name) => [name, inputs?.runtime[name]] as const),
  ];
  return named.filter(([, value]) => !defaults.has(value)).map(([name, value]) => ({ name, value: String(value) }));
}
type GivenSource = Pick<DecisionRecord, "alias" | "goal" | "kind" | "inputs">;

/** What happened, in few sentences. Without a decision: that there was none, and why. `cost`: whether the cost is said. */
export function sentenceOf(record: DecisionRecord, cost: "with_cost" | "without_cost"): string {
  if (record.cause === null) {
    const times = record.repeated > 1 ? ` ${record.repeated} times` : "";
    return `Refused with ${record.status}${times} before a decision: ${record.error_class ?? "no code"}.`;
  }
  const why = reasonOf(record.cause, { ...record, hasRedactions: record.redactions.length > 0 });
  if (record.model === null) return `Refused because ${why}.`;
  const went = endedAtScout(record) ? "The scout was asked" : `Went to ${record.tier ?? record.model}`;
  const sentence = `${went} ${failOverIn(record)}${replacementIn(record.evidence)}because ${why}.`;
  const money = cost === "with_cost" && record.hold_nano_usd > 0 ? ` ${moneyIn(record)}` : "";
  return `${sentence}${endIn(record)}${money}`;
}

/** The request ended before the scout's verdict. */
function endedAtScout({ action, inputs }: DecisionRecord): boolean {
  return action === "SCOUT" && inputs !== null && inputs.verdict === null;
}

/** How it ended, where no whole answer came. */
function endIn({ outcome, error_class, status }: DecisionRecord): string {
  const error = error_class ?? "unknown";
  const ends = {
    answered: "",
    failed: ` No answer came: ${error} (status ${status}).`,
    broken_stream: ` The stream broke: ${error}.`,
    caller_gone: " The caller left.",
    refused: ` It was refused afterwards: ${error}.`,
  } as const;
  return ends[outcome];
}

function moneyIn({ cost_state, cost_nano_usd, hold_nano_usd }: DecisionRecord): string {
  const held = dollarText(hold_nano_usd);
  return cost_state === "unknown"
    ? `What it cost is not known yet; ${held} was held.`
    : `Cost ${dollarText(cost_nano_usd)} of the ${held} held.`;
}

/** The value of a key of the evidence. */
export function fact(evidence: readonly string[], key: string): string | undefined {
  const entry = evidence.find((each) => each.startsWith(`${key}=`));
  return entry?.slice(key.length + 1);
}
