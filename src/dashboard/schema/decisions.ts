import { z } from "zod";
import { Counterfactual, DecisionRecord, DecisionStage } from "#records/decision-record.ts";
import { statusProblem, wordProblem } from "#records/filter.ts";
import {
  AtMs,
  Count,
  DecisionFilter,
  type EndpointSchemas,
  fields,
  Ms,
  NanoUsd,
  noValue,
  Range,
  Text,
  Tier,
} from "./shared.ts";

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

export const decisionSchemas = {
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
