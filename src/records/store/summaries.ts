import type { StoreDatabase, StoreRow } from "#db/store-database.ts";
import { sumCondition } from "#records/filter.ts";
import {
  type RecordGroup,
  type RecordSeries,
  type RecordSummary,
  type RecordSums,
  type RollupFilter,
  type SeriesKey,
  type SeriesMetric,
  type SeriesRequest,
  type SummaryShare,
  seriesKeys,
  type TimeRange,
} from "#records/records.ts";
import { dayMs, firstTokenBoundsMs, firstTokenColumns, hourMs, minuteMs, moneyColumns, outcomeKeys } from "./sums.ts";

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

export async function summarize(
  db: StoreDatabase,
  range: TimeRange,
  filter: RollupFilter,
  nowMs: number,
): Promise<Omit<RecordSummary, "oldest_record_ms">> {
  const { span, fromMs, toMs } = spanned(range, nowMs);
  const [condition, values] = sumCondition(filter);
  const keys = outcomeKeys.join(", ");
  const [rows = []] = await db.read([
    `SELECT ${keys}, ${added([...moneyColumns, "refused", "cost_unknown", ...firstTokenColumns])} FROM decision_sum
     WHERE dimension = 'outcome' AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition} GROUP BY ${keys}`,
    ...[span, fromMs, toMs, ...values],
  ]);
  const refusedBy = (who: string) => sumsIn(rows.filter((row) => row["refused_by"] === who)).requests;
  const histogram = histogramIn(rows);
  const outcomes = sharesBy("outcome", rows);
  return {
    ...sumsIn(rows),
    from_ms: fromMs,
    to_ms: toMs,
    outcomes: Object.fromEntries(outcomes.map(({ key, requests }) => [key, requests])),
    refused_by_gateway: refusedBy("gateway"),
    refused_by_upstream: refusedBy("upstream"),
    cost_unknown: rows.reduce((sum, row) => sum + Number(row["cost_unknown"]), 0),
    first_token_p50_ms: quantile(histogram, 0.5),
    first_token_p95_ms: quantile(histogram, 0.95),
    by: Object.fromEntries(seriesKeys.map((key) => [key, sharesBy(key, rows)])) as RecordSummary["by"],
  };
}

/** Whole hours. */
export async function readGroups(
  db: StoreDatabase,
  by: "goal" | "session",
  { fromMs, toMs }: TimeRange,
  limit: number,
): Promise<readonly RecordGroup[]> {
  const [rows = []] = await db.read([
    `SELECT ${by} AS name, ${added([...moneyColumns, "refused"])}, MAX(last_ms) AS last_ms FROM decision_sum
     WHERE dimension = 'goal' AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${by} <> ''
     GROUP BY ${by} ORDER BY SUM(cost_nano_usd) DESC, ${by} LIMIT ?`,
    ...[hourMs, Math.floor(fromMs / hourMs) * hourMs, toMs, limit],
  ]);
  return rows.map((row) => ({
    key: String(row["name"]),
    ...sumsIn([row]),
    refused: Number(row["refused"]),
    last_ms: Number(row["last_ms"]),
  }));
}

export async function readSeries(db: StoreDatabase, request: SeriesRequest, nowMs: number): Promise<RecordSeries> {
  const { metric, by, filter = {}, maxPoints = 400 } = request;
  const { span, fromMs, toMs } = spanned(request.range, nowMs);
  const bucketMs = span * Math.max(1, Math.ceil((toMs - fromMs) / span / maxPoints));
  const first = Math.floor(fromMs / bucketMs) * bucketMs;
  const [condition, values] = sumCondition(metric === "refusals" ? { ...filter, outcome: ["refused"] } : filter);
  const errors = metric === "errors" ? " AND outcome IN ('failed', 'broken_stream')" : "";
  const [rows = []] = await db.read([
    `SELECT CAST((at_ms - ?) / ? AS BIGINT) AS bucket, ${by ?? "''"} AS name, ${added(columnsOf[metric] ?? [metric])}
     FROM decision_sum WHERE dimension = 'outcome' AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition}${errors}
     GROUP BY 1, 2`,
    ...[first, bucketMs, span, fromMs, toMs, ...values],
  ]);
  const buckets = Math.max(1, Math.ceil((toMs - first) / bucketMs));
  const lines = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const name = String(row["name"]);
    const line = lines.get(name) ?? new Array<number | null>(buckets).fill(null);
    lines.set(name, line);
    line[Math.floor(Number(row["bucket"]))] = metricIn(row, metric);
  }
  return {
    bucket_ms: bucketMs,
    at_ms: Array.from({ length: buckets }, (_, index) => first + index * bucketMs),
    lines: [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, line]) => ({ key, values: line })),
  };
}

/** The columns of metrics that do not have one column of the same name. */
const columnsOf: { readonly [M in SeriesMetric]?: readonly string[] } = {
  refusals: ["requests"],
  errors: ["requests"],
  first_token_p50_ms: firstTokenColumns,
  first_token_p95_ms: firstTokenColumns,
};

function metricIn(row: StoreRow, metric: SeriesMetric): number | null {
  if (metric === "first_token_p50_ms") return quantile(histogramIn([row]), 0.5);
  if (metric === "first_token_p95_ms") return quantile(histogramIn([row]), 0.95);
  return Number(row[columnsOf[metric]?.[0] ?? metric]);
}

function sharesBy(key: SeriesKey, rows: readonly StoreRow[]): readonly SummaryShare[] {
  return [...Map.groupBy(rows, (row) => String(row[key]))]
    .map(([name, group]) => ({ key: name, ...sumsIn(group) }))
    .toSorted((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1));
}

function sumsIn(rows: readonly StoreRow[]): RecordSums {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return Object.fromEntries(moneyColumns.map((name) => [name, sum(name)])) as { [N in keyof RecordSums]: number };
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
