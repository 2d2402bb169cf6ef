import { z } from "zod";
import { seriesKeys, seriesMetrics } from "#records/records.ts";
import {
  AtMs,
  CapUse,
  Count,
  Counted,
  DecisionFilter,
  type EndpointSchemas,
  fields,
  Ms,
  NanoUsd,
  Pace,
  Range,
  RangeQuery,
  Text,
  Tier,
} from "./shared.ts";

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
  id: Text.describe("Stays the same while the problem lasts."),
  severity: z
    .enum(["act", "watch", "info"])
    .describe("`act`: requests are refused or money is at risk; `watch`: that may follow; `info`: first steps."),
  title: Text.describe("The problem, as a sentence."),
  todo: Text.describe("What to do, as a sentence."),
  command: Text.nullable().describe("A command that does it."),
  since_ms: AtMs.nullable(),
  amount_nano_usd: NanoUsd.nullable(),
  count: Count.nullable(),
  view: z.enum(["now", "decisions", "budgets", "models", "playground", "policy"]).describe("The view that shows more."),
  filter: DecisionFilter.nullable(),
  target: Text.nullable().describe("The model, account or hold that it concerns."),
});
export type Need = z.infer<typeof Need>;

const seriesGroups = ["none", ...seriesKeys] as const;

export const nowSchemas = {
  "GET session": {
    about: "The caller, and the gateway's version and state.",
    answer: z.object({
      ...fields(Text, "version", "node_id"),
      demo: z.boolean(),
      operator: Text.describe("The name that the audit log records for this caller's changes."),
      signed_in: z.boolean().describe("The caller has signed in; `POST logout` ends the session."),
      csrf_header: Text.describe("The header that every write must carry, with the value `1`."),
      ...fields(AtMs, "now_ms", "started_ms"),
      command: Text.describe("The command that starts the command line here: `npx smart-gateway` in a clone."),
      workers: Count,
      config_hash: Text.describe("As `config.hash` in `GET /healthz`."),
      store: z.object({ kind: z.enum(["sqlite", "postgres", "memory"]), ok: z.boolean(), failed: Text.nullable() }),
      records: z.object({
        ...fields(z.boolean(), "enabled", "ok"),
        stored: Count.nullable().describe("Stored records, as last counted."),
        dropped: Count.describe("Records lost since the start because the store was too slow or unavailable."),
      }),
    }),
  },
  "GET summary": {
    about: "What needs attention, spending against caps, and where requests were routed.",
    query: RangeQuery,
    answer: z.object({
      range: Range,
      at_ms: AtMs,
      utc_day: Text,
      needs_you: z.array(Need),
      ...fields(Counted, "total", "answered", "refused", "failed"),
      refused_by: z.array(Counted.extend({ by: z.enum(["gateway", "upstream"]) })),
      by_tier: z.array(Counted.extend({ tier: Tier.nullable() })),
      by_cause: z.array(Counted.extend({ cause: Text.nullable() })),
      by_model: z.array(Counted.extend({ model: Text.nullable(), tier: Tier.nullable() })),
      by_goal: z.array(Counted.extend({ goal: Text.nullable() })).describe("The ten with the highest cost."),
      tokens: z.object(fields(Count, "prompt", "cached", "completion")),
      first_token_ms: z.object({ p50: Ms, p95: Ms }).nullable().describe("Null where nothing has answered."),
      caps: z.object({
        day: CapUse,
        pace: Pace,
        goals: z.array(CapUse).describe("The five that have used most of their cap."),
      }),
      unknown_cost: Counted.describe("Requests whose cost is not known yet."),
      oldest_record_ms: AtMs.nullable().describe("Older requests are in sums only, and cannot be opened any more."),
      ledger: z.object({
        day: Text,
        spent_nano_usd: NanoUsd,
        records_nano_usd: NanoUsd.describe("What the records of this UTC day add up to."),
        unexplained_nano_usd: z.number().describe("Spent less the records': charges without proof, dropped records."),
      }),
      saved: z.object({
        baseline: Text.describe("The baseline, as a sentence."),
        model: Text.nullable().describe("The model of the baseline."),
        requests: Count.describe("Answered requests."),
        cost_nano_usd: NanoUsd.describe("Cost of the requests whose tokens are known."),
        baseline_nano_usd: NanoUsd.describe("What the same tokens would have cost on the baseline's model."),
        saved_nano_usd: z.number().describe("Negative where it cost more."),
      }),
    }),
  },
  "GET series": {
    about:
      "A metric over time, from the roll-ups: at most 400 points, 8 groups and `other`. A point without requests is null where a zero would be untrue.",
    query: RangeQuery.extend({ metric: z.enum(seriesMetrics), by: z.enum(seriesGroups).default("none") }),
    answer: z.object({
      range: Range,
      metric: z.enum(seriesMetrics),
      by: z.enum(seriesGroups),
      step_ms: Ms,
      at_ms: z.array(AtMs).describe("The beginnings of the steps."),
      groups: z.array(z.object({ name: Text, values: z.array(z.number().nullable()), total: z.number().nullable() })),
    }),
  },
} as const satisfies EndpointSchemas;
