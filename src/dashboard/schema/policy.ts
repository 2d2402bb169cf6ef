import { z } from "zod";
import { Action, Cause, RoutingDecision } from "#domain/routing.ts";
import { Counterfactual, DecisionStage } from "#records/decision-record.ts";
import { AtMs, Count, type EndpointSchemas, FileProblem, fields, Ms, NanoUsd, Text, Tier } from "./shared.ts";

/** One key of the policy in force. */
export const PolicyKey = z.object({
  path: Text.describe("The key's path, such as `routing.pro_from`."),
  ...fields(z.unknown(), "value", "default"),
  from: z.enum(["default", "file"]),
  line: z.int().nullable().describe("Its line in the file."),
  changed: z.boolean().describe("It differs from the default."),
  about: Text.describe("What it means."),
});
export type PolicyKey = z.infer<typeof PolicyKey>;

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
  ...fields(BacktestSide, "before", "after"),
  days: z.array(
    z.object({
      day: Text,
      ...fields(NanoUsd, "before_nano_usd", "after_nano_usd"),
      ...fields(Count, "cap_hits_before", "cap_hits_after"),
    }),
  ),
  changes: z
    .array(
      z.object({
        ...fields(Text.nullable(), "from_model", "to_model"),
        ...fields(Text, "from_cause", "to_cause", "example_decision_id"),
        requests: Count,
        delta_nano_usd: z.number(),
      }),
    )
    .describe("Kinds of change, the most frequent first."),
});
export type BacktestResult = z.infer<typeof BacktestResult>;

const policyText = Text.max(262_144).describe("YAML or JSON; may be partial.");

export const policySchemas = {
  "GET policy": {
    about: "The policy in force, and where each value comes from.",
    answer: z.object({
      file: Text.nullable().describe("The policy file; null: the defaults."),
      state: z.enum(["current", "checking", "refused", "failed"]),
      config_hash: Text.describe("Names the contents of policy, models and learned weights; the same on every node."),
      policy_hash: Text.nullable().describe("That of decisions made now; null while no records are kept."),
      loaded_at_ms: AtMs,
      problems: z.array(FileProblem).describe("Problems of the files as they are now; empty if they are in force."),
      text: Text.describe("The policy in force, as YAML, for an editor."),
      keys: z.array(PolicyKey),
    }),
  },
  "POST policy/check": {
    about: "What is wrong with an edited policy, and what it changes.",
    body: z.strictObject({ policy: policyText }),
    answer: z.object({
      ok: z.boolean(),
      problems: z.array(FileProblem),
      changes: z
        .array(z.object({ path: Text, ...fields(z.unknown(), "from", "to") }))
        .describe("Differences from the policy in force."),
    }),
  },
  "POST policy/backtest": {
    about: "Replays recorded tasks under an edited policy: `progress` several times, then `result` or `problem`.",
    body: z.strictObject({
      policy: policyText,
      since_ms: AtMs.optional().describe("Time of the oldest record; 30 days ago when absent."),
      until_ms: AtMs.optional(),
    }),
    events: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("progress"), ...fields(Count, "done", "total") }),
      z.object({ kind: z.literal("result"), result: BacktestResult, took_ms: Ms }),
      z.object({ kind: z.literal("problem"), detail: Text, problems: z.array(FileProblem) }),
    ]),
  },
  "POST route": {
    about: "Where a chat request would be routed and why; nothing is sent or written.",
    body: z.strictObject({
      text: Text.max(1_048_576).optional().describe("The ask, in words."),
      body: z.record(Text, z.unknown()).optional().describe("A whole chat body instead."),
      alias: Text.optional(),
      sensitive: z.boolean().optional(),
      goal: Text.max(512).optional().describe("With it, the goal's real spending and cap count."),
      session: Text.max(512).optional(),
    }),
    answer: z.object({
      decision: RoutingDecision,
      action: Action,
      cause: Cause,
      tier: Tier.nullable(),
      sentence: Text,
      stages: z.array(DecisionStage),
      contributions: z.array(z.object({ name: Text, value: z.number() })),
      thresholds: z.object({ flash_below: z.number(), pro_from: z.number() }),
      hard_rules: z.array(Text),
      ...fields(z.record(Text, z.unknown()), "task", "runtime"),
      findings: z
        .array(z.object({ rule: Text, start: Count, end: Count }))
        .describe("What the privacy gate found, in UTF-16 units of `text`; without `text` there are none."),
      findings_elsewhere: z
        .array(z.object({ rule: Text, count: Count }))
        .describe("Credentials found in the messages or tools of a body."),
      redactions: Count,
      would_change: z.array(Counterfactual),
      cost: z
        .object({
          ...fields(Text, "model", "other_model"),
          ...fields(NanoUsd, "estimate_nano_usd", "hold_nano_usd", "other_estimate_nano_usd"),
        })
        .nullable(),
      caps: z
        .object({
          ...fields(NanoUsd, "goal_hard_nano_usd", "day_hard_nano_usd", "goal_spent_nano_usd", "day_spent_nano_usd"),
        })
        .describe("The amounts that the budget stage read."),
    }),
  },
} as const satisfies EndpointSchemas;
