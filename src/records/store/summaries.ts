import type { StoreDatabase, StoreRow } from "#db/store-database.ts";
import { sumCondition } from "#records/filter.ts";
import {
  amountColumns,
  type GroupBy,
  type RecordGroup,
  type RecordSeries,
  type RecordSummary,
  type RecordSums,
  type RollupFilter,
  requestKeys,
  type SeriesMetric,
  type SeriesRequest,
  type SummaryKey,
  type SummaryShare,
  type TimeRange,
} from "#records/records.ts";
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

export async function summarize(
  db: StoreDatabase,
  range: TimeRange,
  filter: RollupFilter,
  nowMs: number,
): Promise<Omit<RecordSummary, "oldest_record_ms">> {
  const { span, fromMs, toMs } = spanned(range, nowMs);
  const [condition, values] = sumCondition(filter);
  const keys = requestKeys.join(", ");
  const [rows = []] = await db.read([
    `SELECT ${keys}, ${added([...amountColumns, ...firstTokenColumns])} FROM decision_sum
     WHERE dimension = 'request' AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition} GROUP BY ${keys}`,
    ...[span, fromMs, toMs, ...values],
  ]);
  const by = Object.fromEntries(requestKeys.map((key) => [key, sharesBy(key, rows)])) as RecordSummary["by"];
  const refusedBy = (who: string) => by.refused_by.find(({ key }) => key === who)?.requests ?? 0;
  const histogram = histogramIn(rows);
  return {
    ...sumsIn(rows),
    from_ms: fromMs,
    to_ms: toMs,
    outcomes: Object.fromEntries(by.outcome.map(({ key, requests }) => [key, requests])),
    refused_by_gateway: refusedBy("gateway"),
    refused_by_upstream: refusedBy("upstream"),
    first_token_p50_ms: quantile(histogram, 0.5),
    first_token_p95_ms: quantile(histogram, 0.95),
    by,
  };
}

/** Whole hours. */
export async function readGroups(
  db: StoreDatabase,
  by: GroupBy,
  { fromMs, toMs }: TimeRange,
  limit: number,
): Promise<readonly RecordGroup[]> {
  const name = by === "attempt" ? "model" : "name";
  const [rows = []] = await db.read([
    `SELECT ${name} AS name, ${added(amountColumns)}, MAX(last_ms) AS last_ms FROM decision_sum
     WHERE dimension = ? AND span_ms = ? AND at_ms >= ? AND at_ms < ?
     GROUP BY 1 ORDER BY SUM(cost_nano_usd) DESC, SUM(requests) DESC, 1 LIMIT ?`,
    ...[by, hourMs, Math.floor(fromMs / hourMs) * hourMs, toMs, limit],
  ]);
  return rows.map((row) => ({ key: String(row["name"]), ...sumsIn([row]), last_ms: Number(row["last_ms"]) }));
}

export async function readSeries(db: StoreDatabase, request: SeriesRequest, nowMs: number): Promise<RecordSeries> {
  const { metric, by, filter = {}, maxPoints = 400 } = request;
  const { dimension = "request", columns } = sources[metric];
  const { span, fromMs, toMs } = spanned(request.range, nowMs);
  const bucketMs = span * Math.max(1, Math.ceil((toMs - fromMs) / span / maxPoints));
  const first = Math.floor(fromMs / bucketMs) * bucketMs;
  const [condition, values] = sumCondition(filter);
  const name = by === undefined ? "''" : by === "redaction" ? "name" : by;
  const [rows = []] = await db.read([
    `SELECT CAST((at_ms - ?) / ? AS BIGINT) AS bucket, ${name} AS name, ${added(columns)} FROM decision_sum
     WHERE dimension = ? AND span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition} GROUP BY 1, 2`,
    ...[first, bucketMs, dimension, span, fromMs, toMs, ...values],
  ]);
  const buckets = Math.max(1, Math.ceil((toMs - first) / bucketMs));
  const lines = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const key = String(row["name"]);
    const line = lines.get(key) ?? new Array<number | null>(buckets).fill(null);
    lines.set(key, line);
    line[Math.floor(Number(row["bucket"]))] = valueIn(row, metric);
  }
  return {
    bucket_ms: bucketMs,
    at_ms: Array.from({ length: buckets }, (_, index) => first + index * bucketMs),
    lines: [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, line]) => ({ key, values: line })),
  };
}

interface Source {
  /** Requests when absent. */
  readonly dimension?: Dimension;
  readonly columns: readonly string[];
}

const sources: { readonly [M in SeriesMetric]: Source } = {
  requests: { columns: ["requests"] },
  refusals: { columns: ["refused"] },
  errors: { columns: ["failed"] },
  cost_nano_usd: { columns: ["cost_nano_usd"] },
  baseline_nano_usd: { columns: ["baseline_nano_usd"] },
  prompt_tokens: { columns: ["prompt_tokens"] },
  cached_tokens: { columns: ["cached_tokens"] },
  completion_tokens: { columns: ["completion_tokens"] },
  first_token_p50_ms: { columns: firstTokenColumns },
  first_token_p95_ms: { columns: firstTokenColumns },
  switches: { columns: ["switches"] },
  switch_nano_usd: { columns: ["switch_nano_usd"] },
  attempts: { dimension: "attempt", columns: ["requests"] },
  failed_attempts: { dimension: "attempt", columns: ["failed"] },
  retries: { dimension: "attempt", columns: ["retries"] },
  fail_overs: { dimension: "attempt", columns: ["fail_overs"] },
  output_tokens_per_s: { dimension: "attempt", columns: ["output_tokens", "output_ms"] },
  redactions: { dimension: "redaction", columns: ["requests"] },
};

function valueIn(row: StoreRow, metric: SeriesMetric): number | null {
  if (metric === "first_token_p50_ms") return quantile(histogramIn([row]), 0.5);
  if (metric === "first_token_p95_ms") return quantile(histogramIn([row]), 0.95);
  const [amount = 0, perMs] = sources[metric].columns.map((name) => Number(row[name]));
  if (metric !== "output_tokens_per_s") return amount;
  return perMs === undefined || perMs === 0 ? null : (amount * 1_000) / perMs;
}

function sharesBy(key: SummaryKey, rows: readonly StoreRow[]): readonly SummaryShare[] {
  return [...Map.groupBy(rows, (row) => String(row[key]))]
    .map(([name, group]) => ({ key: name, ...sumsIn(group) }))
    .toSorted((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1));
}

function sumsIn(rows: readonly StoreRow[]): RecordSums {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return Object.fromEntries(amountColumns.map((name) => [name, sum(name)])) as { [N in keyof RecordSums]: number };
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
