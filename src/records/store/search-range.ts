import type { PageRequest, RecordFilter } from "#records/records.ts";
import { isSummed, sumCondition } from "./filter.ts";
import { oldestSeq, seqFrom, seqPerMs } from "./seq.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { hourMs } from "./sums.ts";

/** Where the newest records that pass a filter are. */
export interface SearchRange {
  /** No record before it needs to be read for the page; undefined: the filter tells nothing. */
  readonly fromSeq?: number;
  /** Whether there may be records before it that pass. */
  readonly more: boolean;
}

const unknown: SearchRange = { more: true };

/**
 * The sums say in which hours there are records with a cause, model, tier, outcome or status: so the newest page is looked for
 * in the hours that fill it, and where no record passes none is read. Indexes alone do not bound that: of two conditions each
 * may be met often, and both together never.
 */
export async function searchRange(
  sql: SqlConnection,
  filter: RecordFilter,
  { before, limit }: Pick<PageRequest, "before" | "limit">,
): Promise<SearchRange> {
  if (!isSummed(filter)) return unknown;
  const condition = sumCondition(filter);
  const fromMs = Math.floor((filter.fromMs ?? 0) / hourMs) * hourMs;
  const endMs = Math.min(
    filter.toMs ?? Number.MAX_SAFE_INTEGER,
    before === undefined ? Number.MAX_SAFE_INTEGER : before / seqPerMs,
  );
  const toMs = Math.ceil(endMs);
  const [hours, [kept]] = await Promise.all([
    sql.read(
      `SELECT at_ms, SUM(requests) AS requests FROM decision_sum WHERE span_ms = ? AND at_ms >= ? AND at_ms <= ? AND ${condition.sql}
       GROUP BY at_ms ORDER BY at_ms DESC`,
      [hourMs, fromMs, toMs, ...condition.values],
    ),
    sql.read(`SELECT (SELECT MIN(at_ms) FROM decision_sum WHERE span_ms = ?) AS sums, ${oldestSeq} AS records`, [
      hourMs,
    ]),
  ]);
  // Sums may be kept for a shorter time than records.
  const oldestMs = Math.max(fromMs, Number(kept?.["records"] ?? 0) / seqPerMs);
  if (Number(kept?.["sums"] ?? 0) > oldestMs) return unknown;
  let found = 0;
  for (const [at, row] of hours.entries()) {
    const hour = Number(row["at_ms"]);
    // Of an hour that the page cuts nobody knows how many are on this side.
    if (hour + hourMs <= endMs) found += Number(row["requests"]);
    if (found > limit) return { fromSeq: seqFrom(hour), more: at + 1 < hours.length };
  }
  const oldest = hours.at(-1);
  return { fromSeq: oldest === undefined ? Number.MAX_SAFE_INTEGER : seqFrom(Number(oldest["at_ms"])), more: false };
}
