import type { StoreDatabase, StoreRow } from "#db/store-database.ts";
import { amountColumns, type RollupFilter, requestKeys, sumCondition, type TimeRange } from "#records/records.ts";
import { seqPerMs } from "./blocks.ts";
import { type Dimension, dayMs, firstTokenBoundsMs, firstTokenColumns, hourMs, minuteMs } from "./sums.ts";

/** How long sums by minute are kept; older times have only sums by hour. */
export const minutesKeptMs = 3 * dayMs;
/** Ranges up to this long are summed by minutes. */
const minuteRangeMs = 50 * hourMs;

const added = (columns: readonly string[]) => columns.map((name) => `SUM(${name}) AS ${name}`).join(", ");

/** The range in whole spans, and the span: minutes for short and recent ranges, else hours. */
function spanned({ fromMs, toMs }: TimeRange, nowMs: number): { span: number; fromMs: number; toMs: number } {
  const short = toMs - fromMs <= minuteRangeMs && fromMs >= nowMs - minutesKeptMs;
  const span = short ? minuteMs : hourMs;
  return { span, fromMs: Math.floor(fromMs / span) * span, toMs: Math.ceil(toMs / span) * span };
}

/** `key` is "" where the field is null. */
export type SummaryShare = { readonly key: string } & { readonly [N in (typeof amountColumns)[number]]: number };

export type RecordSummary = Awaited<ReturnType<typeof summarize>>;

/** Sums of a range, in whole spans. Times to the first token come from a histogram, with an error of up to a quarter. */
export async function summarize(db: StoreDatabase, range: TimeRange, filter: RollupFilter, nowMs: number) {
  const { span, fromMs, toMs } = spanned(range, nowMs);
  const [condition, values] = sumCondition(filter);
  const keys = requestKeys.join(", ");
  const [rows = [], oldest] = await db.read(
    [
      `SELECT ${keys}, ${added([...amountColumns, ...firstTokenColumns])} FROM decision_sum
       WHERE dimension = 'request' AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition} GROUP BY ${keys}`,
      ...[span, fromMs, toMs, ...values],
    ],
    ["SELECT MIN(first_seq) AS seq FROM decision_block"],
  );
  const by = Object.fromEntries(
    requestKeys.map((key) => {
      const groups = [...Map.groupBy(rows, (row) => String(row[key]))].map(([name, group]) => sumsIn(name, group));
      return [key, groups.toSorted((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1))];
    }),
  ) as unknown as { readonly [K in (typeof requestKeys)[number]]: readonly SummaryShare[] }; // one for each key
  const histogram = histogramIn(rows);
  const seq = oldest?.[0]?.["seq"];
  return {
    ...sumsIn("", rows),
    from_ms: fromMs,
    to_ms: toMs,
    outcomes: Object.fromEntries<number>(by.outcome.map(({ key, requests }) => [key, requests])),
    first_token_p50_ms: quantile(histogram, 0.5),
    first_token_p95_ms: quantile(histogram, 0.95),
    by,
    /** The oldest record that is kept; sums from before it cannot be opened to their records any more. */
    oldest_record_ms: seq == null ? null : Math.floor(Number(seq) / seqPerMs),
  };
}

/** What groups are made by: the sums, and their column. Of `attempt` `requests` are calls, of `redaction` values. */
const groupings = {
  goal: ["goal", "name"],
  session: ["session", "name"],
  redaction: ["redaction", "name"],
  attempt: ["attempt", "model"],
  label: ["request", "label"],
} as const;
export type GroupBy = keyof typeof groupings;

/** Sums of whole hours by one thing, highest cost first. */
export async function readGroups(db: StoreDatabase, by: GroupBy, { fromMs, toMs }: TimeRange, limit: number) {
  const [dimension, name] = groupings[by];
  const fromHourMs = Math.floor(fromMs / hourMs) * hourMs;
  const [rows = []] = await db.read([
    `SELECT ${name} AS name, ${added(amountColumns)}, MAX(last_ms) AS last_ms FROM decision_sum
     WHERE dimension = ? AND span_ms = ? AND at_ms >= ? AND at_ms < ?
     GROUP BY 1 ORDER BY SUM(cost_nano_usd) DESC, SUM(requests) DESC, 1 LIMIT ?`,
    ...[dimension, hourMs, fromHourMs, toMs, limit],
  ]);
  return rows.map((row) => ({ ...sumsIn(String(row["name"]), [row]), last_ms: Number(row["last_ms"]) }));
}

/**
 * What a series reads: the columns of which sums. Calls of models are had by `model`, `outcome` or `label`, redactions
 * by `redaction` or `label`.
 */
const seriesSources = {
  requests: ["request", "requests"],
  refusals: ["request", "refused"],
  errors: ["request", "failed"],
  cost_nano_usd: ["request", "cost_nano_usd"],
  baseline_nano_usd: ["request", "baseline_nano_usd"],
  prompt_tokens: ["request", "prompt_tokens"],
  cached_tokens: ["request", "cached_tokens"],
  completion_tokens: ["request", "completion_tokens"],
  first_token_p50_ms: ["request", ...firstTokenColumns],
  first_token_p95_ms: ["request", ...firstTokenColumns],
  switches: ["request", "switches"],
  switch_nano_usd: ["request", "switch_nano_usd"],
  attempts: ["attempt", "requests"],
  failed_attempts: ["attempt", "failed"],
  retries: ["attempt", "retries"],
  fail_overs: ["attempt", "fail_overs"],
  output_tokens_per_s: ["attempt", "output_tokens", "output_ms"],
  redactions: ["redaction", "requests"],
} as const satisfies Readonly<Record<string, readonly [Dimension, ...string[]]>>;
export type SeriesMetric = keyof typeof seriesSources;
export const seriesMetrics = Object.keys(seriesSources) as readonly SeriesMetric[]; // its own keys
export const seriesKeys = [...requestKeys, "redaction"] as const;

export interface SeriesRequest {
  readonly metric: SeriesMetric;
  /** One line per value of it; absent: one line, with the key "". */
  readonly by?: (typeof seriesKeys)[number];
  readonly range: TimeRange;
  /** At most. Buckets are whole hours, or minutes for ranges of a few hours. */
  readonly maxPoints: number;
}
export type RecordSeries = Awaited<ReturnType<typeof readSeries>>;

/** One number over time. The steps have no gaps; null: nothing was recorded in one. */
export async function readSeries(db: StoreDatabase, request: SeriesRequest, nowMs: number) {
  const { metric, by, maxPoints } = request;
  const [dimension, ...columns] = seriesSources[metric];
  const { span, fromMs, toMs } = spanned(request.range, nowMs);
  const bucketMs = span * Math.max(1, Math.ceil((toMs - fromMs) / span / maxPoints));
  const first = Math.floor(fromMs / bucketMs) * bucketMs;
  const name = by === undefined ? "''" : by === "redaction" ? "name" : by;
  const [rows = []] = await db.read([
    `SELECT CAST((at_ms - ?) / ? AS BIGINT) AS bucket, ${name} AS name, ${added(columns)} FROM decision_sum
     WHERE dimension = ? AND span_ms = ? AND at_ms >= ? AND at_ms < ? GROUP BY 1, 2`,
    ...[first, bucketMs, dimension, span, fromMs, toMs],
  ]);
  const at_ms = Array.from(
    { length: Math.max(1, Math.ceil((toMs - first) / bucketMs)) },
    (_, at) => first + at * bucketMs,
  );
  const groups = [...Map.groupBy(rows, (row) => String(row["name"]))].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = groups.map(([key, group]) => {
    const values = at_ms.map((): number | null => null);
    for (const row of group) values[Math.floor(Number(row["bucket"]))] = valueIn(row, metric, columns);
    return { key, values };
  });
  return { bucket_ms: bucketMs, at_ms, lines };
}

function valueIn(row: StoreRow, metric: SeriesMetric, columns: readonly string[]): number | null {
  if (metric === "first_token_p50_ms") return quantile(histogramIn([row]), 0.5);
  if (metric === "first_token_p95_ms") return quantile(histogramIn([row]), 0.95);
  const [amount = 0, ms] = columns.map((name) => Number(row[name]));
  if (ms === undefined) return amount;
  return ms === 0 ? null : (amount * 1_000) / ms;
}

function sumsIn(key: string, rows: readonly StoreRow[]): SummaryShare {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return { key, ...Object.fromEntries(amountColumns.map((name) => [name, sum(name)])) } as SummaryShare; // each column
}

function histogramIn(rows: readonly StoreRow[]): readonly number[] {
  return firstTokenColumns.map((name) => rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0));
}

/** Interpolated linearly within a bucket; values above the last bound count as that bound. */
function quantile(histogram: readonly number[], share: number): number | null {
  const all = histogram.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let seen = 0;
  for (const [index, count] of histogram.entries()) {
    if (count === 0 || seen + count < share * all) {
      seen += count;
      continue;
    }
    const low = index === 0 ? 0 : (firstTokenBoundsMs[index - 1] ?? 0);
    const high = firstTokenBoundsMs[index] ?? low;
    return Math.round(low + ((high - low) * (share * all - seen)) / count);
  }
  return firstTokenBoundsMs.at(-1) ?? null;
}
