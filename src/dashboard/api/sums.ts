import type { DecisionFilter, Range } from "#dashboard/schema/shared.ts";
import type { RecordSummary, SummaryShare } from "#records/records.ts";

/** Outcomes that are the gateway's or the upstream's failure to answer, and not a refusal. */
export const failedOutcomes = ["failed", "broken_stream"];

/** Sums with the list of decisions that makes them. */
export function countedIn({ from_ms, to_ms }: Range) {
  return (sums: { readonly requests: number; readonly cost_nano_usd: number }, filter: DecisionFilter) => ({
    requests: sums.requests,
    cost_nano_usd: sums.cost_nano_usd,
    filter: { from_ms, to_ms, ...filter },
  });
}

/** The sums of these keys together. */
export function sumsOf(shares: readonly SummaryShare[], keys: readonly string[]) {
  const of = shares.filter(({ key }) => keys.includes(key));
  return {
    requests: of.reduce((sum, { requests }) => sum + requests, 0),
    cost_nano_usd: of.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0),
  };
}

/** Median and 95th percentile in milliseconds; null without answers. */
export function firstTokenOf({ first_token_p50_ms: p50, first_token_p95_ms: p95 }: RecordSummary) {
  return p50 === null || p95 === null ? null : { p50, p95 };
}
