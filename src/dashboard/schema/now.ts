import { z } from "zod";
import { seriesKeys, seriesMetrics } from "#records/records.ts";
import { AtMs, CapUse, Count, Counted, DecisionFilter, Ms, NanoUsd, Pace, Range, RangeQuery, Tier } from "./shared.ts";

/** `GET session`, `GET summary`, `GET series`. */

export const SessionAnswer = z.object({
  version: z.string(),
  node_id: z.string(),
  demo: z.boolean(),
  operator: z.string().describe("The name that the audit log records for this caller's changes."),
  signed_in: z.boolean().describe("The caller has signed in; `POST logout` ends the session."),
  csrf_header: z.string().describe("The header that every write must carry, with the value `1`."),
  now_ms: AtMs,
  started_ms: AtMs,
  command: z.string().describe("The command that starts the command line here: `npx smart-gateway` in a clone."),
  workers: Count,
  config_hash: z.string().describe("As `config.hash` in `GET /healthz`."),
  store: z.object({ kind: z.enum(["sqlite", "postgres", "memory"]), ok: z.boolean(), failed: z.string().nullable() }),
  records: z.object({
    enabled: z.boolean(),
    ok: z.boolean(),
    stored: Count.nullable().describe("Stored records, as last counted."),
    dropped: Count.describe("Records that were lost since the start because the store was too slow or unavailable."),
  }),
});
export type SessionAnswer = z.infer<typeof SessionAnswer>;

const needKinds = [
  "cap_reached",
  "cap_near",
  "cap_pace",
  "unresolved_hold",
  "price_drift",
  "records_dropped",
  "money_unreconciled",
  "model_out",
  "all_models_out",
  "aggregator_down",
  "reload_refused",
  "store_unavailable",
  "ledger_failed",
  "nothing_yet",
] as const;

/** One thing that an operator should look at. */
export const Need = z.object({
  kind: z.enum(needKinds),
  id: z.string().describe("Stays the same while the problem lasts."),
  severity: z
    .enum(["act", "watch", "info"])
    .describe("`act`: requests are refused or money is at risk; `watch`: that may follow; `info`: first steps."),
  title: z.string().describe("The problem, as a sentence."),
  todo: z.string().describe("What to do, as a sentence."),
  command: z.string().nullable().describe("A command that does it."),
  since_ms: AtMs.nullable(),
  amount_nano_usd: NanoUsd.nullable(),
  count: Count.nullable(),
  view: z.enum(["now", "decisions", "budgets", "models", "playground", "policy"]).describe("The view that shows more."),
  filter: DecisionFilter.nullable(),
  target: z.string().nullable().describe("The model, account or hold that it concerns."),
});
export type Need = z.infer<typeof Need>;

export const SummaryAnswer = z.object({
  range: Range,
  at_ms: AtMs,
  utc_day: z.string(),
  needs_you: z.array(Need),
  total: Counted,
  answered: Counted,
  refused: Counted,
  failed: Counted,
  refused_by: z.array(Counted.extend({ by: z.enum(["gateway", "upstream"]) })),
  by_tier: z.array(Counted.extend({ tier: Tier.nullable() })),
  by_cause: z.array(Counted.extend({ cause: z.string().nullable() })),
  by_model: z.array(Counted.extend({ model: z.string().nullable(), tier: Tier.nullable() })),
  by_goal: z.array(Counted.extend({ goal: z.string().nullable() })).describe("The ten with the highest cost."),
  tokens: z.object({ prompt: Count, cached: Count, completion: Count }),
  first_token_ms: z.object({ p50: Ms, p95: Ms }).nullable().describe("Null where nothing has answered."),
  caps: z.object({
    day: CapUse,
    pace: Pace,
    goals: z.array(CapUse).describe("The five that have used most of their cap."),
  }),
  unknown_cost: Counted.describe("Requests whose cost is not known yet."),
  oldest_record_ms: AtMs.nullable().describe("Older requests are in sums only, and cannot be opened any more."),
  ledger: z.object({
    day: z.string(),
    spent_nano_usd: NanoUsd,
    records_nano_usd: NanoUsd.describe("What the records of this UTC day add up to."),
    unexplained_nano_usd: z
      .number()
      .describe("The ledger's spent less the records'; charges without proof and dropped records make it."),
  }),
  saved: z.object({
    baseline: z.string().describe("The baseline, as a sentence."),
    model: z.string().nullable().describe("The model of the baseline."),
    requests: Count.describe("Answered requests."),
    cost_nano_usd: NanoUsd.describe("Cost of the requests whose tokens are known."),
    baseline_nano_usd: NanoUsd.describe(
      "What the same tokens, with the same share read from the cache, would have cost on the baseline's model.",
    ),
    saved_nano_usd: z.number().describe("Negative where it cost more."),
  }),
});
export type SummaryAnswer = z.infer<typeof SummaryAnswer>;

const seriesGroups = ["none", ...seriesKeys] as const;

export const SeriesQuery = RangeQuery.extend({
  metric: z.enum(seriesMetrics),
  by: z.enum(seriesGroups).default("none"),
});

/** At most 400 points, at most 8 groups and `other`; a point without requests is null where a zero would be untrue. */
export const SeriesAnswer = z.object({
  range: Range,
  metric: z.enum(seriesMetrics),
  by: z.enum(seriesGroups),
  step_ms: Ms,
  at_ms: z.array(AtMs).describe("The beginnings of the steps."),
  groups: z.array(z.object({ name: z.string(), values: z.array(z.number().nullable()), total: z.number().nullable() })),
});
export type SeriesAnswer = z.infer<typeof SeriesAnswer>;
