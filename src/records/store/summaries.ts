import type {
  RecordGroup,
  RecordSeries,
  RecordSummary,
  RecordSums,
  RollupFilter,
  SeriesMetric,
  SeriesRequest,
  SummaryShare,
  TimeRange,
} from "#records/records.ts";
import { sumCondition } from "./filter.ts";
import type { SqlConnection, SqlRow } from "./sql-connection.ts";
import { dayMs, firstTokenBoundsMs, firstTokenColumns, hourMs, minuteMs, moneySums, sumKeys } from "./sums.ts";

/** How long sums by minute are kept; older times have only sums by hour. */
export const minutesKeptMs = 3 * 86_400_000;
/** Ranges up to this long are summed by minutes. */
const minuteRangeMs = 50 * hourMs;

const sumOf = (name: string) => `SUM(${name}) AS ${name}`;

/** The range in whole spans, and the span: minutes for short and recent ranges, else hours. */
function spanned({ fromMs, toMs }: TimeRange, nowMs: number): { span: number; fromMs: number; toMs: number } {
  const short = toMs - fromMs <= minuteRangeMs && fromMs >= nowMs - minutesKeptMs;
  const span = short ? minuteMs : hourMs;
  return { span, fromMs: Math.floor(fromMs / span) * span, toMs: Math.ceil(toMs / span) * span };
}

/** A range of minutes as its whole hours, with the minutes before and after them: an hour is a sixtieth of the rows. */
function sumParts(span: number, fromMs: number, toMs: number): readonly (TimeRange & { readonly span: number })[] {
  const firstHour = Math.ceil(fromMs / hourMs) * hourMs;
  const endOfHours = Math.floor(toMs / hourMs) * hourMs;
  if (span === hourMs || firstHour >= endOfHours) return [{ span, fromMs, toMs }];
  const parts = [
    { span: minuteMs, fromMs, toMs: firstHour },
    { span: hourMs, fromMs: firstHour, toMs: endOfHours },
    { span: minuteMs, fromMs: endOfHours, toMs },
  ];
  return parts.filter((part) => part.fromMs < part.toMs);
}

export async function summaryOf(
  sql: SqlConnection,
  range: TimeRange,
  filter: RollupFilter,
  nowMs: number,
): Promise<Omit<RecordSummary, "oldest_record_ms">> {
  const { span, fromMs, toMs } = spanned(range, nowMs);
  const condition = sumCondition(filter);
  const names = [...moneySums, "cost_unknown", ...firstTokenColumns];
  const parts = sumParts(span, fromMs, toMs);
  const each = parts.map(
    () =>
      `SELECT ${[...sumKeys, ...names].join(", ")} FROM decision_sum WHERE span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition.sql}`,
  );
  const rows = await sql.read(
    `SELECT ${sumKeys.join(", ")}, ${names.map(sumOf).join(", ")} FROM (${each.join(" UNION ALL ")}) parts GROUP BY ${sumKeys.join(", ")}`,
    parts.flatMap((part) => [part.span, part.fromMs, part.toMs, ...condition.values]),
  );
  const total = (of: readonly SqlRow[]) => sumsIn(of);
  const requestsWhere = (where: (row: SqlRow) => boolean) => total(rows.filter(where)).requests;
  const outcomes: Record<string, number> = {};
  for (const row of rows) {
    const outcome = String(row["outcome"]);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + Number(row["requests"]);
  }
  const histogram = histogramOf(rows);
  return {
    ...total(rows),
    from_ms: fromMs,
    to_ms: toMs,
    outcomes,
    refused_by_gateway: requestsWhere((row) => row["refused_by"] === "gateway"),
    refused_by_upstream: requestsWhere((row) => row["refused_by"] === "upstream"),
    cost_unknown: rows.reduce((sum, row) => sum + Number(row["cost_unknown"]), 0),
    first_token_p50_ms: quantileOf(histogram, 0.5),
    first_token_p95_ms: quantileOf(histogram, 0.95),
    by: {
      tier: sharesBy("tier", rows),
      cause: sharesBy("cause", rows),
      model: sharesBy("model", rows),
      status: sharesBy("status", rows),
      outcome: sharesBy("outcome", rows),
      refused_by: sharesBy("refused_by", rows),
    },
  };
}

/** A range in whole UTC days, with the hours before and after them. */
function goalParts({ fromMs, toMs }: TimeRange): readonly (TimeRange & { readonly span: number })[] {
  const firstHour = Math.floor(fromMs / hourMs) * hourMs;
  const firstDay = Math.ceil(firstHour / dayMs) * dayMs;
  const endOfDays = Math.floor(toMs / dayMs) * dayMs;
  if (firstDay >= endOfDays) return [{ span: hourMs, fromMs: firstHour, toMs }];
  return [
    { span: hourMs, fromMs: firstHour, toMs: firstDay },
    { span: dayMs, fromMs: firstDay, toMs: endOfDays },
    { span: hourMs, fromMs: endOfDays, toMs },
  ];
}

export async function groupsOf(
  sql: SqlConnection,
  by: "goal" | "session",
  range: TimeRange,
  limit: number,
): Promise<readonly RecordGroup[]> {
  const names = [...moneySums, "refused"];
  const parts = goalParts(range);
  const each = parts.map(
    () =>
      `SELECT ${by} AS name, ${names.join(", ")}, last_ms FROM decision_goal_sum
       WHERE span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${by} <> ''`,
  );
  const rows = await sql.read(
    `SELECT name, ${names.map(sumOf).join(", ")}, MAX(last_ms) AS last_ms FROM (${each.join(" UNION ALL ")}) parts
     GROUP BY name ORDER BY SUM(cost_nano_usd) DESC, name LIMIT ?`,
    [...parts.flatMap(({ span, fromMs, toMs }) => [span, fromMs, toMs]), limit],
  );
  return rows.map((row) => ({
    key: String(row["name"]),
    ...sumsIn([row]),
    refused: Number(row["refused"]),
    last_ms: Number(row["last_ms"]),
  }));
}

export async function seriesOf(sql: SqlConnection, request: SeriesRequest, nowMs: number): Promise<RecordSeries> {
  const { metric, by, filter = {}, maxPoints = 400 } = request;
  const { span, fromMs, toMs } = spanned(request.range, nowMs);
  const bucketMs = span * Math.max(1, Math.ceil((toMs - fromMs) / span / maxPoints));
  const first = Math.floor(fromMs / bucketMs) * bucketMs;
  const condition = sumCondition(metric === "refusals" ? { ...filter, outcome: ["refused"] } : filter);
  const columns = columnsOf[metric] ?? [metric];
  const errors = metric === "errors" ? " AND outcome IN ('failed', 'broken_stream')" : "";
  const rows = await sql.read(
    `SELECT CAST((at_ms - ?) / ? AS BIGINT) AS bucket, ${by === undefined ? "''" : by} AS name, ${columns.map(sumOf).join(", ")} FROM decision_sum
     WHERE span_ms = ? AND at_ms >= ? AND at_ms < ? AND ${condition.sql}${errors} GROUP BY 1, 2`,
    [first, bucketMs, span, fromMs, toMs, ...condition.values],
  );
  const buckets = Math.max(1, Math.ceil((toMs - first) / bucketMs));
  const lines = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const name = String(row["name"]);
    const values = lines.get(name) ?? new Array<number | null>(buckets).fill(null);
    lines.set(name, values);
    values[Math.floor(Number(row["bucket"]))] = metricValueOf(metric, row);
  }
  return {
    bucket_ms: bucketMs,
    at_ms: Array.from({ length: buckets }, (_, index) => first + index * bucketMs),
    lines: [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, values]) => ({ key, values })),
  };
}

/** The columns of metrics that do not have one column of the same name. */
const columnsOf: { readonly [M in SeriesMetric]?: readonly string[] } = {
  refusals: ["requests"],
  errors: ["requests"],
  first_token_p50_ms: firstTokenColumns,
  first_token_p95_ms: firstTokenColumns,
};

function metricValueOf(metric: SeriesMetric, row: SqlRow): number | null {
  if (metric === "first_token_p50_ms") return quantileOf(histogramOf([row]), 0.5);
  if (metric === "first_token_p95_ms") return quantileOf(histogramOf([row]), 0.95);
  return Number(row[columnsOf[metric]?.[0] ?? metric]);
}

function sharesBy(key: (typeof sumKeys)[number], rows: readonly SqlRow[]): readonly SummaryShare[] {
  const groups = Map.groupBy(rows, (row) => String(row[key]));
  return [...groups]
    .map(([name, of]) => ({ key: name, ...sumsIn(of) }))
    .toSorted((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1));
}

function sumsIn(rows: readonly SqlRow[]): RecordSums {
  const sums = Object.fromEntries(moneySums.map((name) => [name, 0])) as Record<(typeof moneySums)[number], number>;
  for (const row of rows) for (const name of moneySums) sums[name] += Number(row[name] ?? 0);
  return sums;
}

function histogramOf(rows: readonly SqlRow[]): readonly number[] {
  return firstTokenColumns.map((name) => rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0));
}

/** Interpolated linearly within a bucket; values above the last bound count as that bound. */
function quantileOf(histogram: readonly number[], share: number): number | null {
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
