import { z } from "zod";
import {
  AtMs,
  CapUse,
  Count,
  Counted,
  DecisionFilter,
  type EndpointSchemas,
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
} as const satisfies EndpointSchemas;
