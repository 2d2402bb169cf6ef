import { z } from "zod";
import { endOfUtcDay } from "#platform/time.ts";
import { boundedId } from "#records/build-record.ts";
import type { filterWords, RecordFilter, RollupFilter, TimeRange } from "#records/records.ts";
import { requestKeys, statusProblem, wordProblem } from "#records/records.ts";
import type { RecordSummary, SummaryShare } from "#records/store/summaries.ts";
import { invalidInput } from "./problem.ts";

/** Ranges, filters and sums of the API, and what the decision records have in their place. Money is whole nano-USD. */

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** Ranges that the pages offer, in hours; `today` begins at UTC midnight. */
const rangeHours = { "1h": 1, "6h": 6, "24h": 24, today: 24, "7d": 168, "30d": 720 } as const;
export type RangeKey = keyof typeof rangeHours;

const atMs = z.coerce.number().int().min(0).optional();

/** The time of an answer as callers write it: a named range, or both ends. */
export const RangeQuery = z.object({
  range: z.enum(Object.keys(rangeHours) as RangeKey[]).optional(), // its own keys
  from_ms: atMs,
  to_ms: atMs,
});

/** How a filter names records whose field is empty: refused before there was a decision, and so without a cause. */
export const noValue = "none";

const text = z.string().optional();

/** Alternatives of a closed set. A mistyped one is refused: it would select nothing. */
function words(problem: (word: string) => string | undefined, separator = ",") {
  return z
    .string()
    .superRefine((given, context) => {
      for (const word of given.split(separator)) {
        const message = word === noValue || word === "" ? undefined : problem(word);
        if (message !== undefined) return context.addIssue({ code: "custom", message });
      }
    })
    .optional();
}
const wordsIn = (field: keyof typeof filterWords) => words((word) => wordProblem(field, word));

/**
 * Where a list of decisions is limited: the query parameters of `GET decisions`, and of every link to it. All that are
 * given must hold; a comma separates alternatives of one.
 */
export const DecisionFilter = RangeQuery.extend({
  goal: text,
  session: text,
  cause: wordsIn("cause"),
  // A list is limited by one rule at a time.
  rule: words((word) => wordProblem("rule", word), "\0"),
  kind: wordsIn("kind"),
  alias: wordsIn("alias"),
  label: text.describe("The label of the caller's token."),
  model: text.describe("Key of the model that was chosen or that served."),
  tier: wordsIn("tier"),
  outcome: wordsIn("outcome"),
  status: words(statusProblem).describe("A status, or a class of them: `502`, `5xx`."),
  refused_by: wordsIn("refusedBy"),
  error_class: text,
  redaction: text.describe("A secret was found: `any`, or the rule that found it."),
  cost_state: wordsIn("costState"),
  action: wordsIn("action"),
  request_id: text,
});
export type DecisionFilter = z.infer<typeof DecisionFilter>;

/** The longest range that is summed up, some years: roll-ups are kept longer than records. */
const maxRangeMs = 3 * 366 * dayMs;

/**
 * The time that a call is about. A named range begins at a full hour and ends with the hour that is running, so that
 * roll-ups hold it whole, and its two ends name the same requests later on.
 */
export function namedRange({ range = "24h", from_ms, to_ms }: z.output<typeof RangeQuery>, nowMs: number) {
  const end = Math.floor(nowMs / hourMs) * hourMs + hourMs;
  if (from_ms !== undefined || to_ms !== undefined) {
    const to = to_ms ?? end;
    const from = from_ms ?? Math.max(0, to - dayMs);
    if (from >= to) throw invalidInput("from_ms must be before to_ms.");
    if (to - from > maxRangeMs) throw invalidInput("The range is longer than three years.");
    return { key: null as RangeKey | null, from_ms: from, to_ms: to };
  }
  const from = range === "today" ? utcDayRange(nowMs).fromMs : end - rangeHours[range] * hourMs;
  return { key: range as RangeKey | null, from_ms: from, to_ms: end };
}
/** The time of an answer: `from_ms` is in it, `to_ms` is not. A list with the same two has the same requests. */
export type Range = ReturnType<typeof namedRange>;

export function timeRange({ from_ms, to_ms }: Pick<Range, "from_ms" | "to_ms">): TimeRange {
  return { fromMs: from_ms, toMs: to_ms };
}

export function utcDayRange(ms: number): TimeRange {
  const toMs = endOfUtcDay(ms);
  return { fromMs: toMs - dayMs, toMs };
}

/** Fields that are no list of alternatives, as the store has their values. */
const single: Readonly<Record<string, (value: string) => string>> = {
  goal: boundedId,
  session: boundedId,
  rule: (value) => value,
  request_id: (value) => value,
};

/** The filter of a call in the names of the records, the alternatives in lists; the store has "" for no value. */
export function recordFilter({ range: _, ...filter }: DecisionFilter): RecordFilter {
  const named: Record<string, number | string | readonly string[]> = {};
  for (const [field, value] of Object.entries(filter)) {
    if (value === undefined || value === "") continue;
    const name = field.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
    if (typeof value === "number") named[name] = value;
    else named[name] = single[field]?.(value) ?? value.split(",").map((word) => (word === noValue ? "" : word));
  }
  return named;
}

/** The same for roll-ups; undefined when it names what they do not have. */
export function rollupFilter({ range: _, from_ms: __, to_ms: ___, ...filter }: DecisionFilter) {
  const known: readonly string[] = requestKeys;
  const isKnown = Object.entries(filter).every(([field, value]) => value === undefined || known.includes(field));
  return isKnown ? (recordFilter(filter) satisfies RollupFilter) : undefined;
}

/** Outcomes that are the gateway's or the upstream's failure to answer, and not a refusal. */
export const failedOutcomes = ["failed", "broken_stream"];

/** Sums with the list of decisions that makes them: `GET decisions` with this filter has so many rows of this cost. */
export function counted({ from_ms, to_ms }: Pick<Range, "from_ms" | "to_ms">) {
  return ({ requests, cost_nano_usd }: Pick<SummaryShare, "requests" | "cost_nano_usd">, filter: DecisionFilter) => ({
    ...{ requests, cost_nano_usd },
    filter: { from_ms, to_ms, ...filter } as DecisionFilter,
  });
}
export type Counted = ReturnType<ReturnType<typeof counted>>;

/** The sums of these keys together. */
export function sumsOfKeys(shares: readonly SummaryShare[], keys: readonly string[]) {
  const own = shares.filter(({ key }) => keys.includes(key));
  const sumOf = (field: "requests" | "cost_nano_usd") => own.reduce((sum, share) => sum + share[field], 0);
  return { requests: sumOf("requests"), cost_nano_usd: sumOf("cost_nano_usd") };
}

/** Median and 95th percentile in milliseconds; null without answers. */
export function firstToken({ first_token_p50_ms: p50, first_token_p95_ms: p95 }: RecordSummary) {
  return p50 === null || p95 === null ? null : { p50, p95 };
}
