import { dollarText } from "#domain/money/money.ts";
import type { Cause, RoutingDecision } from "#domain/routing.ts";
import { onScale } from "#pipeline/decide/rules/score-scale.ts";
import type { DecisionExplanation, DecisionRecord, DecisionStage, Tier } from "#records/decision-record.ts";

type Known = Pick<DecisionRecord, "rule" | "score" | "evidence" | "kind"> & { readonly hasRedactions: boolean };

interface CauseTexts {
  /** The stage that decides so. */
  readonly stage: DecisionStage["stage"];
  /** The inputs that it depends on, by the beginning of their names. Hard rules have the names of their inputs. */
  readonly inputs: readonly string[];
  /** The end of "Went to pro because …"; keys of the evidence stand in braces. */
  readonly because: string | ((known: Known) => string);
}

const scored = { stage: "score", inputs: ["score"] } as const;
const free = { stage: "privacy", inputs: ["sensitive", "repo_free_opt_in"] } as const;
const route = { stage: "rules", inputs: ["explicit_route"] } as const;
const hint = { stage: "rules", inputs: ["hint"] } as const;
const budget = { stage: "budget", inputs: ["budget"] } as const;

const nearer = (tier: string) => (known: Known) =>
  `${difficulty(known.evidence)}: between flash and pro, ${tier === "" ? "where the scout decides" : `nearer to ${tier}`}`;

/** What there is to say of each cause. */
export const causeTexts: { readonly [C in Cause]: CauseTexts } = {
  privacy_free_denied: { ...free, because: (known) => `a free model was asked for and ${freeModelObstacle(known)}` },
  privacy_scout_denied: { ...free, because: (known) => `a scout was asked for and ${freeModelObstacle(known)}` },
  attempts_exhausted: {
    stage: "rules",
    inputs: ["attempts"],
    because: "the task has failed too often ({attempts} attempts of {max_attempts})",
  },
  hard_pro_rule: { stage: "rules", inputs: [], because: ruleReasons },
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
  gray_zone_scout: { stage: "score", inputs: ["score", "scout"], because: nearer("") },
  gray_zone_flash: { ...scored, because: nearer("flash") },
  gray_zone_pro: { ...scored, because: nearer("pro") },
  affinity: { stage: "rules", inputs: ["affinity"], because: "its conversation has its context cached there" },
  budget_soft_cap: { ...budget, because: "a soft cap is reached ({budget_cap}), and nothing requires pro" },
  budget_hard_cap_exceeded: {
    ...budget,
    because({ evidence }) {
      const account = fact(evidence, "budget_cap")?.split("_")[0] ?? "goal";
      return `it could pass the hard cap of the ${account === "key" ? "caller's key" : account}`;
    },
  },
  all_models_unhealthy: { stage: "health", inputs: ["health"], because: "no model that may answer it can serve" },
};

function reason(cause: Cause, known: Known): string {
  const { because } = causeTexts[cause];
  return typeof because === "string" ? withFacts(because, known.evidence) : because(known);
}

/** A text with values of the evidence in place of their keys. */
function withFacts(text: string, evidence: readonly string[]): string {
  return text.replace(/\{(\w+)\}/g, (_, key: string) => fact(evidence, key) ?? "unknown");
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

const ruleTexts: Readonly<Record<string, string>> = {
  guarded_kind: "it is {kind} work of {risk_level} risk",
  critical_risk: "its risk is critical",
  critical_blast_radius: "its blast radius is critical",
  structural_failure: "the failure is structural",
  same_error_count: "the same error came back {same_error_count} times",
  flash_attempts: "flash has failed {flash_attempts} times",
  files_touched: "the task touches {files_touched} files",
  tool_depth: "the run is {tool_depth} tool calls deep",
};

function ruleReasons({ rule, evidence }: Known): string {
  const named = (name: string) => `${withFacts(ruleTexts[name] ?? "a rule fired", evidence)} (\`${name}\`)`;
  return rule === null ? "a hard rule fired" : rule.split(", ").map(named).join(", and ");
}

/** What a decision that nothing was done with would do, and why. */
export function drySentence(
  { action, model, cause }: Pick<RoutingDecision, "action" | "model" | "cause">,
  tier: Tier | null,
  known: Known,
): string {
  const destination = action === "SCOUT" ? "ask the scout first" : `go to ${tier ?? model}`;
  const would = model === null ? "be refused" : `${destination}${replacementIn(known.evidence)}`;
  return `Would ${would} because ${reason(cause, known)}.`;
}

/** Which model the rule chose, where another one was decided on: the cause is the reason for that choice only. */
function replacementIn(evidence: readonly string[]): string {
  const role = fact(evidence, "role_without_model");
  if (role !== undefined) return ` instead of a ${role}, a role that no model has. A ${role} was chosen`;
  if (fact(evidence, "replaced") === undefined) return "";
  return withFacts(" instead of {replaced} (`{replaced_because}`), which was chosen", evidence);
}

/** The same where not the decision's model answered, but a fallback. */
function failOverIn({ model, served_by, attempts, health }: DecisionRecord): string {
  if (served_by === null || served_by === model || model === null) return "";
  const failed = attempts.some((attempt) => attempt.model === model);
  const why = health[model] === "DEGRADED" ? ", which is degraded and sheds a share of its requests" : "";
  return ` ${failed ? `after ${model} failed` : `instead of ${model}${why}`}. ${model} was chosen`;
}

/** What the privacy gate has found, by rule; null where that is nothing. */
export function findingsText(redactions: DecisionRecord["redactions"]): string | null {
  const count = redactions.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return null;
  const rules = redactions.map(({ rule }) => rule.replaceAll("_", " ")).join(", ");
  const [values, them] = count === 1 ? ["value", "it"] : ["values", "them"];
  return `The privacy gate found ${count} private ${values} (${rules}), and replaced ${them} unless in a tool definition.`;
}

const statedInputs = ["risk_level", "blast_radius", "reasoning", "hint", "scout", "pro"] as const;
const defaults: ReadonlySet<unknown> = new Set(["LOW", "AUTO", "auto", "NONE", "OTHER", 0, false, null, undefined]);

/** What a person can act on: what was asked for, by whom, at which risk, and what the run has done. */
export function givenIn({ alias, goal, kind, inputs }: DecisionRecord): DecisionExplanation["given"] {
  const named: readonly (readonly [string, unknown])[] = [
    ["model", alias],
    ["goal", goal],
    ["kind", kind],
    ...statedInputs.map((name) => [name, inputs?.task[name]] as const),
    ...Object.entries(inputs?.runtime ?? {}).filter(([name]) => name !== "last_model"),
  ];
  return named.filter(([, value]) => !defaults.has(value)).map(([name, value]) => ({ name, value: String(value) }));
}

/** What happened, in few sentences. Without a decision: that there was none, and why. */
export function sentences(record: DecisionRecord, withCost: boolean): string {
  if (record.cause === null) {
    const times = record.repeated > 1 ? ` ${record.repeated} times` : "";
    const { error_param: param, asked_model: model } = record;
    const at = param == null ? "" : ` (\`${param}\`${param === "model" && model != null ? ` is ${model}` : ""})`;
    return `Refused with ${record.status}${times} before a decision: ${record.error_class ?? "no code"}${at}.`;
  }
  const why = reason(record.cause, { ...record, hasRedactions: record.redactions.length > 0 });
  if (record.model === null) return `Refused because ${why}.`;
  const endedAtScout = record.action === "SCOUT" && record.inputs?.verdict === null;
  const went = endedAtScout ? "The scout was asked" : `Went to ${record.tier ?? record.model}`;
  const sentence = `${went}${failOverIn(record)}${replacementIn(record.evidence)} because ${why}.`;
  return `${sentence}${endIn(record)}${withCost && record.hold_nano_usd > 0 ? moneyIn(record) : ""}`;
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
    ? ` What it cost is not known yet; ${held} was held.`
    : ` Cost ${dollarText(cost_nano_usd)} of the ${held} held.`;
}

/** The value of a key of the evidence. */
export function fact(evidence: readonly string[], key: string): string | undefined {
  const entry = evidence.find((each) => each.startsWith(`${key}=`));
  return entry?.slice(key.length + 1);
}
