import { z } from "zod";
import { AtMs, CapUse, Count, Counted, DecisionFilter, HealthState, Ms, NanoUsd, Pace, Range, Tier } from "./shared.ts";

/** `GET budgets`, `GET sessions`, `POST budgets/{goal}/cap`, `GET holds`, `POST holds/{id}/…`, `GET models`, `POST models/{key}/…`. */

const holdStates = ["live", "orphaned", "unresolved", "charged"] as const;

export const Hold = z.object({
  id: z.string(),
  state: z.enum(holdStates),
  model: z.string(),
  goal: z.string(),
  day: z.string(),
  held_nano_usd: NanoUsd,
  node: z.string(),
  node_seen_ms: AtMs.nullable(),
  since_ms: AtMs,
  until_ms: AtMs.describe(
    "When it ends by itself: it is then charged in full, or released if the call was never sent.",
  ),
  why: z.string(),
  decision_id: z.string().nullable().describe("The request that made it."),
  may_close: z.boolean().describe("An operator may settle or release it now."),
});
export type Hold = z.infer<typeof Hold>;

const HoldTotals = z.array(z.object({ state: z.enum(holdStates), count: Count, held_nano_usd: NanoUsd }));

export const HoldsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  charged: z.enum(["true", "false"]).default("false").describe("Also what was charged in full without proof."),
});
export const HoldsAnswer = z.object({ at_ms: AtMs, holds: z.array(Hold), totals: HoldTotals, more: Count });
export type HoldsAnswer = z.infer<typeof HoldsAnswer>;

export const SettleBody = z.strictObject({
  usd: z.string().describe("What the call has cost, in US dollars, such as `0.0187`."),
  why: z.string().min(1).max(200),
});
export const ReleaseBody = z.strictObject({ why: z.string().min(1).max(200) });
export const CloseAnswer = z.object({
  id: z.string(),
  result: z.enum(["settled", "released", "corrected", "unchanged"]),
  held_nano_usd: NanoUsd,
  charged_nano_usd: NanoUsd.nullable(),
  detail: z.string().nullable(),
});
export type CloseAnswer = z.infer<typeof CloseAnswer>;

export const BudgetLine = CapUse.extend({
  held_by: z.object({ live: NanoUsd, orphaned: NanoUsd, unresolved: NanoUsd }),
  frees_itself_ms: AtMs.nullable().describe("When the last of its open holds ends by itself, without an operator."),
  requests: Counted.nullable().describe("Of the range; null for days before it."),
});
export type BudgetLine = z.infer<typeof BudgetLine>;

export const BudgetsAnswer = z.object({
  at_ms: AtMs,
  range: Range,
  today: z.string(),
  day_ends_at_ms: AtMs,
  pace: Pace,
  policy_caps: z.object({
    goal_soft_nano_usd: NanoUsd,
    goal_hard_nano_usd: NanoUsd,
    day_soft_nano_usd: NanoUsd,
    day_hard_nano_usd: NanoUsd,
  }),
  days: z.array(BudgetLine).describe("The newest first."),
  goals: z.array(BudgetLine).describe("Goals that have used most of their cap come first."),
  more_goals: Count,
  totals: HoldTotals,
});
export type BudgetsAnswer = z.infer<typeof BudgetsAnswer>;

export const SessionsAnswer = z.object({
  at_ms: AtMs,
  range: Range,
  sessions: z
    .array(
      Counted.extend({
        session: z.string(),
        refused: z.object({ requests: Count, filter: DecisionFilter }),
        prompt_tokens: Count,
        cached_tokens: Count.describe("Of the prompt's tokens, those read from a cache."),
        completion_tokens: Count,
        last_ms: AtMs.describe("Time of the newest request."),
      }),
    )
    .describe("Highest cost first."),
  more: z.boolean().describe("There are more sessions, with lower cost."),
});

/** The goal (`session/name`, URL-encoded in the path) or, with `account: "day"`, a UTC day gets a hard cap of the operator's own. */
export const CapBody = z.strictObject({
  hard_usd: z.string().nullable().describe("US dollars, such as `7.50`; null gives the cap back to the policy."),
  account: z.enum(["goal", "day"]).default("goal"),
  why: z.string().max(200).optional(),
});
export const CapAnswer = z.object({
  account: z.string(),
  hard_nano_usd: NanoUsd.nullable(),
  before_nano_usd: NanoUsd.nullable(),
});
export type CapAnswer = z.infer<typeof CapAnswer>;

const PriceView = z.object({
  input_nano_usd_per_mtok: NanoUsd,
  cached_input_nano_usd_per_mtok: NanoUsd,
  output_nano_usd_per_mtok: NanoUsd,
  request_nano_usd: NanoUsd.nullable(),
  bands: Count.describe("Further prices, for long prompts or certain hours."),
});

export const ModelView = z.object({
  key: z.string(),
  role: z.string(),
  tier: Tier,
  upstream_id: z.string(),
  used: z.boolean().describe("Routing chooses it for its role; other models of the role are only fallbacks."),
  in_senior_chain: z.boolean(),
  enabled_in_file: z.boolean(),
  state: HealthState,
  routable: z.boolean(),
  since_ms: AtMs,
  reason: z.string(),
  retry_at_ms: AtMs.nullable(),
  trips: Count,
  shed_share: z.number(),
  window: z.object({ answers: Count, failures: Count, slow: Count, first_token_p95_ms: Ms.nullable() }),
  override: z.object({ disabled: z.boolean(), reset_ms: AtMs.nullable(), by: z.string(), at_ms: AtMs }).nullable(),
  history: z
    .array(z.object({ at_ms: AtMs, state: HealthState, reason: z.string() }))
    .describe("Changes of state that this gateway has seen, the oldest first."),
  served: Counted,
  failed_attempts: Count,
  first_token_ms: z.object({ p50: Ms, p95: Ms }).nullable(),
  price: PriceView,
  price_source: z.object({ kind: z.enum(["shipped", "registry_file", "price_book"]), at_ms: AtMs.nullable() }),
  drift: z.array(z.object({ reason: z.string(), detail: z.string(), at_ms: AtMs })),
  context_tokens: Count,
  max_output_tokens: Count,
});
export type ModelView = z.infer<typeof ModelView>;

export const ModelsAnswer = z.object({
  at_ms: AtMs,
  range: Range,
  models: z.array(ModelView),
  aggregator: z.object({
    state: z.enum(["closed", "open", "half_open"]),
    since_ms: AtMs.nullable(),
    reason: z.string().nullable(),
    retry_at_ms: AtMs.nullable(),
  }),
  price_book_read_ms: AtMs.nullable(),
});
export type ModelsAnswer = z.infer<typeof ModelsAnswer>;

export const OverrideAnswer = z.object({
  model: z.string(),
  action: z.enum(["disable", "enable", "reset"]),
  at_ms: AtMs,
  by: z.string(),
  follows: z.string(),
});
export type OverrideAnswer = z.infer<typeof OverrideAnswer>;

export const ActionsQuery = z.object({ limit: z.coerce.number().int().min(1).max(500).default(100) });
export const ActionsAnswer = z.object({
  actions: z
    .array(z.object({ at_ms: AtMs, operator: z.string(), action: z.string(), target: z.string(), detail: z.string() }))
    .describe("Changes that operators made in the dashboard, the newest first."),
});
