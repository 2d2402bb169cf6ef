import { z } from "zod";
import { Counterfactual, DecisionRecord, DecisionStage } from "#records/decision-record.ts";
import { statusProblem, wordProblem } from "#records/filter.ts";
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
  noValue,
  Pace,
  Range,
  RangeQuery,
  Text,
  Tier,
} from "./shared.ts";

/** What has happened: sums of a range, lists of decisions, and one with its explanation. */

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

/** A decision as lists and the live feed show it: the columns of its record, without the explanation. */
export const DecisionRow = z.object({
  seq: z.int().describe("Orders the rows; `before` and `Last-Event-ID` are such numbers."),
  ...fields(Text, "decision_id", "request_id", "outcome"),
  at_ms: AtMs.describe("When it was received."),
  recorded_ms: AtMs.describe("When it counts in ranges and sums."),
  ...fields(Text.nullable(), "session", "goal", "action", "error_class", "cause", "rule", "kind"),
  alias: Text.nullable().describe("The model name that the caller sent; null if it was not valid."),
  model: Text.nullable().describe("The model that was chosen."),
  served_by: Text.nullable().describe("The model that answered."),
  tier: Tier.nullable(),
  status: z.int(),
  refused_by: z.enum(["gateway", "upstream"]).nullable(),
  score: z.number().nullable(),
  ...fields(Count, "attempts", "redactions", "prompt_tokens", "completion_tokens"),
  ...fields(NanoUsd, "cost_nano_usd", "hold_nano_usd"),
  cost_state: z.enum(["known", "estimated", "unknown"]),
  first_token_ms: Ms.nullable(),
  total_ms: Ms,
  stream: z.boolean(),
  repeated: Count.describe("Requests that this row stands for; more than 1 where refusals came in a flood."),
});
export type DecisionRow = z.infer<typeof DecisionRow>;

/** Alternatives of a closed set, or `none` for records without a value. A mistyped one is refused: it would select nothing. */
function words(problem: (word: string) => string | undefined, separator = ",") {
  return Text.superRefine((text, context) => {
    for (const word of text.split(separator)) {
      const message = word === noValue || word === "" ? undefined : problem(word);
      if (message !== undefined) return context.addIssue({ code: "custom", message });
    }
  }).optional();
}
const wordsIn = (field: Parameters<typeof wordProblem>[0]) => words((word) => wordProblem(field, word));

const DecisionsQuery = DecisionFilter.extend({
  cause: wordsIn("cause"),
  // A list is limited by one rule at a time.
  rule: words((word) => wordProblem("rule", word), "\0"),
  kind: wordsIn("kind"),
  alias: wordsIn("alias"),
  tier: wordsIn("tier"),
  outcome: wordsIn("outcome"),
  refused_by: wordsIn("refusedBy"),
  cost_state: wordsIn("costState"),
  action: wordsIn("action"),
  status: words(statusProblem).describe("A status, or a class of them: `502`, `5xx`."),
  before: z.coerce.number().int().min(0).optional().describe("`next_before` of the page before; absent: the newest."),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});

export const readingSchemas = {
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
  "GET decisions": {
    about: "Records, newest first, by keyset pages.",
    query: DecisionsQuery,
    answer: z.object({
      range: Range,
      filter: DecisionFilter,
      rows: z.array(DecisionRow),
      next_before: z.int().nullable().describe("The value of `before` for the next page; null at the end."),
      total: z
        .object({ requests: Count, cost_nano_usd: NanoUsd })
        .nullable()
        .describe("Of the whole list, on its first page, where the roll-ups know it."),
    }),
  },
  "GET decisions/live": {
    about:
      "New records as they are made, filtered. The `id:` of a `decision` is what `Last-Event-ID` takes up from; after a `gap`, events were missed: load the list again.",
    query: DecisionsQuery,
    events: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("hello"), at_ms: AtMs, resumed: z.boolean() }),
      z.object({ kind: z.literal("decision"), row: DecisionRow }),
      z.object({ kind: z.literal("gap"), since_ms: AtMs.nullable(), missed: Count.nullable() }),
    ]),
  },
  "GET decisions/{id}": {
    about: "One decision with its whole explanation.",
    answer: z.object({
      row: DecisionRow,
      record: DecisionRecord.describe("As `GET /v1/route/decisions/{id}` answers it."),
      sentence: Text.describe("What happened, as one sentence."),
      stages: z.array(DecisionStage),
      contributions: z.array(z.object({ name: Text, value: z.number() })),
      thresholds: z.object({ flash_below: z.number(), pro_from: z.number() }).nullable(),
      would_change: z
        .array(Counterfactual)
        .describe("Changes that would have changed the decision, the nearest first."),
      saved: z
        .object({ baseline_model: Text, baseline_nano_usd: NanoUsd, saved_nano_usd: z.number() })
        .nullable()
        .describe("Against the same tokens on the senior model; null where nothing answered."),
    }),
  },
} as const satisfies EndpointSchemas;
