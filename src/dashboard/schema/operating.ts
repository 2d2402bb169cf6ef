import { z } from "zod";
import { Action, Cause, RoutingDecision } from "#domain/routing.ts";
import { Counterfactual, DecisionStage } from "#records/decision-record.ts";
import {
  AtMs,
  CapUse,
  Count,
  Counted,
  DecisionFilter,
  type EndpointSchemas,
  FileProblem,
  fields,
  HealthState,
  Ms,
  NanoUsd,
  Pace,
  Range,
  RangeQuery,
  Text,
  Tier,
} from "./shared.ts";

/** What operators look after: budgets, holds, models, and what they have done. */

const limit = z.coerce.number().int().min(1).max(500).default(100);
const holdStates = ["live", "orphaned", "unresolved", "charged"] as const;
const HoldTotals = z.array(z.object({ state: z.enum(holdStates), count: Count, held_nano_usd: NanoUsd }));

export const Hold = z.object({
  id: Text,
  state: z.enum(holdStates),
  ...fields(Text, "model", "goal", "day", "node", "why"),
  held_nano_usd: NanoUsd,
  node_seen_ms: AtMs.nullable(),
  since_ms: AtMs,
  until_ms: AtMs.describe("When it ends by itself: charged in full, or released if the call was never sent."),
  decision_id: Text.nullable().describe("The request that made it."),
  may_close: z.boolean().describe("An operator may settle or release it now."),
});
export type Hold = z.infer<typeof Hold>;

const why = Text.min(1).max(200);
const CloseAnswer = z.object({
  id: Text,
  result: z.enum(["settled", "released", "corrected", "unchanged"]),
  held_nano_usd: NanoUsd,
  charged_nano_usd: NanoUsd.nullable(),
  detail: Text.nullable(),
});
export type CloseAnswer = z.infer<typeof CloseAnswer>;

export const BudgetLine = CapUse.extend({
  held_by: z.object(fields(NanoUsd, "live", "orphaned", "unresolved")),
  frees_itself_ms: AtMs.nullable().describe("When the last of its open holds ends by itself, without an operator."),
  requests: Counted.nullable().describe("Of the range; null for days before it."),
});
export type BudgetLine = z.infer<typeof BudgetLine>;

export const ModelView = z.object({
  ...fields(Text, "key", "role", "upstream_id", "reason"),
  tier: Tier,
  used: z.boolean().describe("Routing chooses it for its role; other models of the role are only fallbacks."),
  ...fields(z.boolean(), "in_senior_chain", "enabled_in_file", "routable"),
  state: HealthState,
  since_ms: AtMs,
  retry_at_ms: AtMs.nullable(),
  shed_share: z.number(),
  ...fields(Count, "trips", "failed_attempts", "context_tokens", "max_output_tokens"),
  window: z.object({ ...fields(Count, "answers", "failures", "slow"), first_token_p95_ms: Ms.nullable() }),
  override: z.object({ disabled: z.boolean(), reset_ms: AtMs.nullable(), by: Text, at_ms: AtMs }).nullable(),
  history: z
    .array(z.object({ at_ms: AtMs, state: HealthState, reason: Text }))
    .describe("Changes of state that this gateway has seen, the oldest first."),
  served: Counted,
  first_token_ms: z.object({ p50: Ms, p95: Ms }).nullable(),
  price: z.object({
    ...fields(NanoUsd, "input_nano_usd_per_mtok", "cached_input_nano_usd_per_mtok", "output_nano_usd_per_mtok"),
    request_nano_usd: NanoUsd.nullable(),
    bands: Count.describe("Further prices, for long prompts or certain hours."),
  }),
  price_source: z.object({ kind: z.enum(["shipped", "registry_file", "price_book"]), at_ms: AtMs.nullable() }),
  drift: z.array(z.object({ reason: Text, detail: Text, at_ms: AtMs })),
});
export type ModelView = z.infer<typeof ModelView>;

const OverrideAnswer = z.object({
  ...fields(Text, "model", "by", "follows"),
  action: z.enum(["disable", "enable", "reset"]),
  at_ms: AtMs,
});

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
  hard: Count.describe("Answers of flash that a caller has reported as failed."),
  easy: Count.describe("Answers of flash that a caller has reported as solved."),
  hard_to_flash: Count.describe("Of `hard`, those that would go to flash again."),
  easy_to_pro: Count.describe("Of `easy`, those that would go to pro."),
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

export const operatingSchemas = {
  "GET budgets": {
    about: "Days and goals: caps, spent, held, pace.",
    query: RangeQuery,
    answer: z.object({
      range: Range,
      today: Text,
      ...fields(AtMs, "at_ms", "day_ends_at_ms"),
      pace: Pace,
      policy_caps: z.object({
        ...fields(NanoUsd, "goal_soft_nano_usd", "goal_hard_nano_usd", "day_soft_nano_usd", "day_hard_nano_usd"),
      }),
      days: z.array(BudgetLine).describe("The newest first."),
      goals: z.array(BudgetLine).describe("Goals that have used most of their cap come first."),
      more_goals: Count,
      totals: HoldTotals,
    }),
  },
  "POST budgets/{goal}/cap": {
    about:
      "Sets or clears the operator's own hard cap of a goal (`session/name`) or, with `account: day`, of a UTC day or `today`.",
    body: z.strictObject({
      hard_usd: Text.nullable().describe("US dollars, such as `7.50`; null gives the cap back to the policy."),
      account: z.enum(["goal", "day"]).default("goal"),
      why: Text.max(200).optional(),
    }),
    answer: z.object({ account: Text, ...fields(NanoUsd.nullable(), "hard_nano_usd", "before_nano_usd") }),
  },
  "GET sessions": {
    about: "Requests and cost of the 100 sessions with the highest cost, highest first.",
    query: RangeQuery,
    answer: z.object({
      at_ms: AtMs,
      range: Range,
      sessions: z.array(
        Counted.extend({
          session: Text,
          refused: z.object({ requests: Count, filter: DecisionFilter }),
          ...fields(Count, "prompt_tokens", "completion_tokens"),
          cached_tokens: Count.describe("Of the prompt's tokens, those read from a cache."),
          last_ms: AtMs.describe("Time of the newest request."),
        }),
      ),
      more: z.boolean().describe("There are more sessions, with lower cost."),
    }),
  },
  "GET holds": {
    about: "Money that is held, and when each hold ends by itself.",
    query: z.object({
      limit,
      charged: z.enum(["true", "false"]).default("false").describe("Also what was charged in full without proof."),
    }),
    answer: z.object({ at_ms: AtMs, holds: z.array(Hold), totals: HoldTotals, more: Count }),
  },
  "POST holds/{id}/settle": {
    about: "Ends a hold with what the call has cost.",
    body: z.strictObject({ usd: Text.describe("What the call has cost, in US dollars, such as `0.0187`."), why }),
    answer: CloseAnswer,
  },
  "POST holds/{id}/release": { about: "Ends a hold without cost.", body: z.strictObject({ why }), answer: CloseAnswer },
  "GET models": {
    about: "The models: state, errors, latency, prices.",
    query: RangeQuery,
    answer: z.object({
      at_ms: AtMs,
      range: Range,
      models: z.array(ModelView),
      aggregator: z.object({
        state: z.enum(["closed", "open", "half_open"]),
        ...fields(AtMs.nullable(), "since_ms", "retry_at_ms"),
        reason: Text.nullable(),
      }),
      price_book_read_ms: AtMs.nullable(),
    }),
  },
  "POST models/{key}/disable": { about: "Takes a model out of service.", answer: OverrideAnswer },
  "POST models/{key}/enable": { about: "Puts a model back into service.", answer: OverrideAnswer },
  "POST models/{key}/reset": { about: "Clears a model's pauses, trips and quarantine.", answer: OverrideAnswer },
  "GET actions": {
    about: "The audit log: who changed what in the dashboard, and when; the newest first.",
    query: z.object({ limit }),
    answer: z.object({
      actions: z.array(z.object({ at_ms: AtMs, ...fields(Text, "operator", "action", "target", "detail") })),
    }),
  },
  "GET policy": {
    about: "The policy in force, and where each value comes from.",
    answer: z.object({
      file: Text.nullable().describe("The policy file; null: the defaults."),
      state: z.enum(["current", "refused"]),
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
