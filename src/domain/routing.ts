import { z } from "zod";

/** The specification's routing records. One schema is the validator, the type and the published JSON Schema. */

export const taskKinds = [
  "CODING",
  "DEBUG",
  "ARCHITECTURE",
  "SECURITY",
  "AUTH",
  "PAYMENT",
  "DESTRUCTIVE_MIGRATION",
  "TEST",
  "SUMMARIZE",
  "CLASSIFY",
  "PUBLIC_REVIEW",
  "RESEARCH",
  "OTHER",
] as const;
export const TaskKind = z.enum(taskKinds);
export type TaskKind = z.infer<typeof TaskKind>;

export const levels = ["LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;
export const Level = z.enum(levels);
export type Level = z.infer<typeof Level>;

export const ExplicitRoute = z.enum(["AUTO", "PRO", "FLASH", "FREE_SCOUT"]);
export type ExplicitRoute = z.infer<typeof ExplicitRoute>;

const Reasoning = z.enum(["AUTO", "HIGH"]);
export const FailureClass = z.enum(["NONE", "LOCAL", "STRUCTURAL"]);
export type FailureClass = z.infer<typeof FailureClass>;

const dimension = z.number().min(0).max(1).default(0.3);
const count = z.int().min(0).default(0);

export const RoutingTask = z.object({
  task_id: z.string().min(1).describe("Routing identifier, echoed in the decision."),
  goal_id: z.string().min(1).default("adhoc").describe("Goal scope of the budget: `session/goal`, or the goal alone."),
  kind: TaskKind.default("OTHER"),
  instruction: z.string().describe("Free text: what is asked for."),
  explicit_route: ExplicitRoute.default("AUTO"),
  reasoning: Reasoning.default("AUTO"),
  sensitive: z.boolean().default(true).describe("Privacy tier; sensitive unless said otherwise."),
  repo_context_present: z.boolean().default(false).describe("Repository context bars free models."),
  repo_free_opt_in: z.boolean().default(false).describe("Opts in to free models on repository work."),
  risk_level: Level.default("LOW"),
  blast_radius: Level.default("LOW"),
  reasoning_requirement: dimension,
  ambiguity: dimension,
  dependency_depth: dimension,
  verification_difficulty: dimension,
  estimated_tool_depth: count.describe("Added to runtime.tool_depth."),
  metadata: z.record(z.string(), z.unknown()).default({}),
});
export type RoutingTask = z.infer<typeof RoutingTask>;

export const RuntimeState = z.object({
  attempts: count.describe("Total attempts in this task."),
  flash_attempts: count,
  same_error_count: count,
  error_signature: z.string().nullable().default(null).describe("Hash of normalized error text."),
  tests_failed: count,
  files_touched: count,
  tool_depth: count,
  failure_class: FailureClass.default("NONE"),
  last_model: z.string().nullable().default(null).describe("Internal model key."),
});
export type RuntimeState = z.infer<typeof RuntimeState>;

export const DecisionRequest = z.object({ task: RoutingTask, runtime: RuntimeState.prefault({}) });

export const actions = ["ROUTE", "SCOUT", "STOP_FOR_HUMAN", "DENY"] as const;
export const Action = z.enum(actions);
export type Action = z.infer<typeof Action>;

/** Every reason a decision can have; a closed union. `docs/reference/causes.md` describes them one by one. */
export const causes = [
  "privacy_free_denied",
  "privacy_scout_denied",
  "attempts_exhausted",
  "hard_pro_rule",
  "explicit_pro",
  "reasoning_high",
  "explicit_free",
  "explicit_flash",
  "scout_requested",
  "hint_pro",
  "hint_flash",
  "hint_free",
  "score_flash",
  "score_pro",
  "gray_zone_scout",
  "gray_zone_flash",
  "gray_zone_pro",
  "affinity",
  "budget_soft_cap",
  "budget_hard_cap_exceeded",
  "all_models_unhealthy",
] as const;
export const Cause = z.enum(causes);
export type Cause = z.infer<typeof Cause>;

/** The decision: exactly these eleven fields, in the dry run's answer, the log, the record and the headers alike. */
export const RoutingDecision = z.strictObject({
  task_id: z.string(),
  action: Action,
  model: z.string().nullable().describe("Internal key of the chosen model; null for STOP_FOR_HUMAN and DENY."),
  purpose: z.enum(["EXECUTE", "SCOUT", "NONE"]),
  cause: Cause.describe("The rule that fired."),
  score: z.number().min(0).max(100).describe("Weighted complexity score."),
  confidence: z.number().min(0).max(1),
  hard_rule: z.boolean(),
  sensitive_block_applied: z.boolean().describe("True when the privacy gate forced a downgrade or denial."),
  evidence: z.array(z.string()).describe("What each rule saw, as key=value."),
  policy_version: z.string(),
});
export type RoutingDecision = z.infer<typeof RoutingDecision>;

export const policyVersion = "1";

/** The values of `model` that callers may send. */
export const aliases = ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"] as const;
export const Alias = z.enum(aliases);
export type Alias = z.infer<typeof Alias>;

/** What the caller asked for beside the task record: who asked for a route, and how firmly. */
export type RouteHint = "auto" | "pro" | "flash" | "free";

/** What a caller may report at `POST /v1/route/outcome`. */
export const outcomes = ["solved", "failed"] as const;
export type Outcome = (typeof outcomes)[number];

/** What an ask looks like, in numbers; records keep them under these names. */
export interface AskFeatures {
  readonly characters: number;
  /** Different words. A Chinese or Japanese character counts as three fifths of one. */
  readonly distinct_words: number;
  /** Lines that end like one of a program. */
  readonly code_lines: number;
  /** Items of lists and words that order an answer's steps, and words that bound it. */
  readonly steps: number;
  readonly constraints: number;
  /** 1 for a greeting or a short question of fact, else 0. */
  readonly is_short_question: number;
}
