import { z } from "zod";
import { Action, Cause, RoutingDecision } from "#domain/routing.ts";
import { Counterfactual, DecisionStage } from "#records/decision-record.ts";
import { AtMs, Count, FileProblem, Ms, NanoUsd, Tier } from "./shared.ts";

/** `GET policy`, `POST policy/check`, `POST policy/backtest`, `POST route`. */

/** One key of the policy in force. */
export const PolicyKey = z.object({
  path: z.string().describe("The key's path, such as `routing.pro_from`."),
  value: z.unknown(),
  default: z.unknown(),
  from: z.enum(["default", "file"]),
  line: z.int().nullable().describe("Its line in the file."),
  changed: z.boolean().describe("It differs from the default."),
  about: z.string().describe("What it means."),
});
export type PolicyKey = z.infer<typeof PolicyKey>;

export const PolicyAnswer = z.object({
  file: z.string().nullable().describe("The policy file; null: the defaults."),
  state: z.enum(["current", "checking", "refused", "failed"]),
  config_hash: z
    .string()
    .describe(
      "Names the contents of the files: policy, models and learned weights. Nodes with the same configuration have the same hash.",
    ),
  policy_hash: z
    .string()
    .nullable()
    .describe("The `policy_hash` of decisions made now; null while no records are kept."),
  loaded_at_ms: AtMs,
  problems: z.array(FileProblem).describe("Problems of the files as they are now; empty if they are in force."),
  text: z.string().describe("The policy in force, as YAML, for an editor."),
  keys: z.array(PolicyKey),
});
export type PolicyAnswer = z.infer<typeof PolicyAnswer>;

export const PolicyTextBody = z.strictObject({
  policy: z.string().max(262_144).describe("YAML or JSON; may be partial."),
});
export const CheckAnswer = z.object({
  ok: z.boolean(),
  problems: z.array(FileProblem),
  changes: z
    .array(z.object({ path: z.string(), from: z.unknown(), to: z.unknown() }))
    .describe("Differences from the policy in force."),
});
export type CheckAnswer = z.infer<typeof CheckAnswer>;

export const BacktestBody = z.strictObject({
  policy: z.string().max(262_144),
  since_ms: AtMs.optional().describe("Time of the oldest record; 30 days ago when absent."),
  until_ms: AtMs.optional(),
});

const BacktestSide = z.object({
  by_tier: z.array(z.object({ tier: Tier.nullable(), requests: Count })),
  refused: Count,
  cost_nano_usd: NanoUsd,
});

export const BacktestResult = z.object({
  from_ms: AtMs.nullable().describe("The oldest record that was replayed."),
  to_ms: AtMs.nullable(),
  requests: Count.describe("Records that were decided again."),
  skipped: Count.describe("Refusals before there was a decision, and records without inputs."),
  changed: Count.describe("Requests that would have gone to another model, or not at all, or at last."),
  relabelled: Count.describe("Requests that would have gone to the same model for another cause."),
  cache_delta_nano_usd: z
    .number()
    .describe("What requests that stay where they went would cost more, because their context was cached elsewhere."),
  estimated: Count.describe("Requests whose cost after is a guess, because they brought no answer."),
  before: BacktestSide,
  after: BacktestSide,
  days: z.array(
    z.object({
      day: z.string(),
      before_nano_usd: NanoUsd,
      after_nano_usd: NanoUsd,
      cap_hits_before: Count,
      cap_hits_after: Count,
    }),
  ),
  changes: z
    .array(
      z.object({
        from_model: z.string().nullable(),
        from_cause: z.string(),
        to_model: z.string().nullable(),
        to_cause: z.string(),
        requests: Count,
        delta_nano_usd: z.number(),
        example_decision_id: z.string(),
      }),
    )
    .describe("Kinds of change, the most frequent first."),
});
export type BacktestResult = z.infer<typeof BacktestResult>;

/** Events of `POST policy/backtest`: `progress` several times, then `result` or `problem`. */
export const BacktestEvent = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), done: Count, total: Count }),
  z.object({ kind: z.literal("result"), result: BacktestResult, took_ms: Ms }),
  z.object({ kind: z.literal("problem"), detail: z.string(), problems: z.array(FileProblem) }),
]);
export type BacktestEvent = z.infer<typeof BacktestEvent>;

/** A chat request as `POST /v1/chat/completions` takes it, or plain words as its one message. */
export const RouteBody = z.strictObject({
  text: z.string().max(1_048_576).optional().describe("The ask, in words."),
  body: z.record(z.string(), z.unknown()).optional().describe("A whole chat body instead."),
  alias: z.string().optional(),
  sensitive: z.boolean().optional(),
  goal: z
    .string()
    .max(512)
    .optional()
    .describe("With it, the goal's real spending and cap count; without it, nothing counts as spent."),
  session: z.string().max(512).optional(),
});

/** Where the privacy gate found something, in UTF-16 units of `text`; without `text` there are none. */
const RouteFinding = z.object({ rule: z.string(), start: Count, end: Count });

export const RouteAnswer = z.object({
  decision: RoutingDecision,
  action: Action,
  cause: Cause,
  tier: Tier.nullable(),
  sentence: z.string(),
  stages: z.array(DecisionStage),
  contributions: z.array(z.object({ name: z.string(), value: z.number() })),
  thresholds: z.object({ flash_below: z.number(), pro_from: z.number() }),
  hard_rules: z.array(z.string()),
  task: z.record(z.string(), z.unknown()),
  runtime: z.record(z.string(), z.unknown()),
  findings: z.array(RouteFinding),
  findings_elsewhere: z
    .array(z.object({ rule: z.string(), count: Count }))
    .describe("Credentials found in the messages or tools of a body."),
  redactions: Count,
  would_change: z.array(Counterfactual),
  cost: z
    .object({
      model: z.string(),
      estimate_nano_usd: NanoUsd,
      hold_nano_usd: NanoUsd,
      other_model: z.string(),
      other_estimate_nano_usd: NanoUsd,
    })
    .nullable(),
  caps: z
    .object({
      goal_hard_nano_usd: NanoUsd,
      day_hard_nano_usd: NanoUsd,
      goal_spent_nano_usd: NanoUsd,
      day_spent_nano_usd: NanoUsd,
    })
    .describe("The amounts that the budget stage read; without a goal nothing counts as spent."),
});
export type RouteAnswer = z.infer<typeof RouteAnswer>;
