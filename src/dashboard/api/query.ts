import { type DecisionFilter, noValue, type Range } from "#dashboard/schema/shared.ts";
import { boundedId } from "#records/build-record.ts";
import {
  type RecordFilter,
  type RecordSummary,
  type RollupFilter,
  requestKeys,
  type SummaryShare,
  type TimeRange,
} from "#records/records.ts";
import { ApiProblem } from "./endpoint.ts";

/** How the ranges, filters and sums of the API are those of the decision records. */

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

const hours = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720 } as const;

interface RangeQuery {
  readonly range?: Range["key"] | undefined;
  readonly from_ms?: number | undefined;
  readonly to_ms?: number | undefined;
}

/** The longest range that is summed up, some years: roll-ups are kept longer than records. */
const maxRangeMs = 3 * 366 * dayMs;

/**
 * The time that a call is about. A named range begins at a full hour and ends with the hour that is running, so that roll-ups
 * hold it whole, and its two ends name the same requests later on.
 */
export function namedRange({ range, from_ms, to_ms }: RangeQuery, nowMs: number): Range {
  const end = Math.floor(nowMs / hourMs) * hourMs + hourMs;
  if (from_ms !== undefined || to_ms !== undefined) {
    const to = to_ms ?? end;
    const from = from_ms ?? Math.max(0, to - dayMs);
    if (from >= to) throw new ApiProblem(422, "from_ms must be before to_ms.");
    if (to - from > maxRangeMs) throw new ApiProblem(422, "The range is longer than three years.");
    return { key: null, from_ms: from, to_ms: to };
  }
  const key = range ?? "24h";
  return { key, from_ms: key === "today" ? utcDayRange(nowMs).fromMs : end - hours[key] * hourMs, to_ms: end };
}

export function timeRange({ from_ms, to_ms }: Range): TimeRange {
  return { fromMs: from_ms, toMs: to_ms };
}

export function utcDayRange(atMs: number): TimeRange {
  const fromMs = Math.floor(atMs / dayMs) * dayMs;
  return { fromMs, toMs: fromMs + dayMs };
}

/** Fields that are no list of alternatives, as the store has their values. */
const single: Readonly<Record<string, (value: string) => string>> = {
  goal: boundedId,
  session: boundedId,
  rule: (value) => value,
  request_id: (value) => value,
};

/** The filter of a call as the records take it: in other names, the alternatives in lists; the store writes no value as "". */
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
export function rollupFilter({
  range: _,
  from_ms: __,
  to_ms: ___,
  ...filter
}: DecisionFilter): RollupFilter | undefined {
  const known: readonly string[] = requestKeys;
  const isKnown = Object.entries(filter).every(([field, value]) => value === undefined || known.includes(field));
  return isKnown ? recordFilter(filter) : undefined;
}

/** Outcomes that are the gateway's or the upstream's failure to answer, and not a refusal. */
export const failedOutcomes = ["failed", "broken_stream"];

/** Sums with the list of decisions that makes them. */
export function counted({ from_ms, to_ms }: Range) {
  return (sums: { readonly requests: number; readonly cost_nano_usd: number }, filter: DecisionFilter) => ({
    requests: sums.requests,
    cost_nano_usd: sums.cost_nano_usd,
    filter: { from_ms, to_ms, ...filter },
  });
}

/** The sums of these keys together. */
export function sumsOfKeys(shares: readonly SummaryShare[], keys: readonly string[]) {
  const chosen = shares.filter(({ key }) => keys.includes(key));
  return {
    requests: chosen.reduce((sum, { requests }) => sum + requests, 0),
    cost_nano_usd: chosen.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0),
  };
}

/** Median and 95th percentile in milliseconds; null without answers. */
export function firstToken({ first_token_p50_ms: p50, first_token_p95_ms: p95 }: RecordSummary) {
  return p50 === null || p95 === null ? null : { p50, p95 };
}
