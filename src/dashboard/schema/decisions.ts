import { z } from "zod";
import { Counterfactual, DecisionRecord, DecisionStage } from "#records/decision-record.ts";
import { statusProblem, wordProblem } from "#records/filter-words.ts";
import { AtMs, Count, DecisionFilter, Ms, NanoUsd, noValue, Range, Tier } from "./shared.ts";

/** `GET decisions`, `GET decisions/{id}`, `GET decisions/live`. */

/** A decision as lists and the live feed show it: the columns of its record, without the explanation. */
export const DecisionRow = z.object({
  seq: z.int().describe("Orders the rows; `before` and `Last-Event-ID` are such numbers."),
  decision_id: z.string(),
  request_id: z.string(),
  at_ms: AtMs.describe("When it was received."),
  recorded_ms: AtMs.describe("When it counts in ranges and sums."),
  session: z.string().nullable(),
  goal: z.string().nullable(),
  alias: z.string().nullable().describe("The model name that the caller sent; null if it was not valid."),
  action: z.string().nullable(),
  model: z.string().nullable().describe("The model that was chosen."),
  served_by: z.string().nullable().describe("The model that answered."),
  tier: Tier.nullable(),
  status: z.int(),
  outcome: z.string(),
  refused_by: z.enum(["gateway", "upstream"]).nullable(),
  error_class: z.string().nullable(),
  cause: z.string().nullable(),
  rule: z.string().nullable(),
  kind: z.string().nullable(),
  score: z.number().nullable(),
  attempts: Count,
  redactions: Count,
  cost_nano_usd: NanoUsd,
  hold_nano_usd: NanoUsd,
  cost_state: z.enum(["known", "estimated", "unknown"]),
  prompt_tokens: Count,
  completion_tokens: Count,
  first_token_ms: Ms.nullable(),
  total_ms: Ms,
  stream: z.boolean(),
  repeated: Count.describe("Requests that this row stands for; more than 1 where refusals came in a flood."),
});
export type DecisionRow = z.infer<typeof DecisionRow>;

/** Alternatives of a closed set, or `none` for records without a value. A mistyped one is refused: it would select nothing. */
function alternativesOf(problemOf: (word: string) => string | undefined, separator = ",") {
  return z
    .string()
    .superRefine((text, context) => {
      const problem = text
        .split(separator)
        .map((word) => (word === noValue || word === "" ? undefined : problemOf(word)))
        .find((found) => found !== undefined);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .optional();
}
const wordsOf = (field: Parameters<typeof wordProblem>[0]) => alternativesOf((word) => wordProblem(field, word));

/** The query of `GET decisions`. */
export const DecisionsQuery = DecisionFilter.extend({
  cause: wordsOf("cause"),
  // A list is limited by one rule at a time.
  rule: alternativesOf((word) => wordProblem("rule", word), "\0"),
  kind: wordsOf("kind"),
  alias: wordsOf("alias"),
  tier: wordsOf("tier"),
  outcome: wordsOf("outcome"),
  refused_by: wordsOf("refusedBy"),
  cost_state: wordsOf("costState"),
  action: wordsOf("action"),
  status: alternativesOf(statusProblem).describe("A status, or a class of them: `502`, `5xx`."),
  before: z.coerce.number().int().min(0).optional().describe("`next_before` of the page before; absent: the newest."),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});

export const DecisionsAnswer = z.object({
  range: Range,
  filter: DecisionFilter,
  rows: z.array(DecisionRow),
  next_before: z.int().nullable().describe("The value of `before` for the next page; null at the end."),
  total: z
    .object({ requests: Count, cost_nano_usd: NanoUsd })
    .nullable()
    .describe("Of the whole list, on its first page, where the roll-ups know it."),
});
export type DecisionsAnswer = z.infer<typeof DecisionsAnswer>;

/** The whole explanation of one decision. */
export const DecisionDetail = z.object({
  row: DecisionRow,
  record: DecisionRecord.describe("As `GET /v1/route/decisions/{id}` answers it."),
  sentence: z.string().describe("What happened, as one sentence."),
  stages: z.array(DecisionStage),
  contributions: z.array(z.object({ name: z.string(), value: z.number() })),
  thresholds: z.object({ flash_below: z.number(), pro_from: z.number() }).nullable(),
  would_change: z
    .array(Counterfactual)
    .describe("Changes of inputs that would have changed the decision, the nearest first."),
  saved: z
    .object({ baseline_model: z.string(), baseline_nano_usd: NanoUsd, saved_nano_usd: z.number() })
    .nullable()
    .describe("Against the same tokens on the senior model; null where nothing answered."),
});
export type DecisionDetail = z.infer<typeof DecisionDetail>;

/**
 * Events of `GET decisions/live`, each with an `event:` of its kind: `decision` (its `id:` is what `Last-Event-ID` takes up
 * from), `gap` (events were missed: load the list again), `hello` (once, at the start).
 */
export const LiveEvent = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("hello"), at_ms: AtMs, resumed: z.boolean() }),
  z.object({ kind: z.literal("decision"), row: DecisionRow }),
  z.object({ kind: z.literal("gap"), since_ms: AtMs.nullable(), missed: Count.nullable() }),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;
