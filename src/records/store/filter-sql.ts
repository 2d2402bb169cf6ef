import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordFilter, RollupFilter } from "#records/records.ts";
import { seqFrom } from "./record-rows.ts";

export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/**
 * What records must meet to pass the filter, as an SQL condition over the columns of `decision_record` (as `r`). `ruleSets`: the
 * values of `rule` that the filter's rule is among.
 */
export function recordCondition(filter: RecordFilter, ruleSets: readonly string[] | undefined): Condition {
  const parts: Condition[] = rollupParts(filter, "r.");
  const equals = (column: string, value: string | undefined, more = "") => {
    if (value !== undefined) parts.push({ sql: `r.${column} = ?${more}`, values: [value] });
  };
  if (filter.fromMs !== undefined) parts.push({ sql: "r.seq >= ?", values: [seqFrom(filter.fromMs)] });
  if (filter.toMs !== undefined) parts.push({ sql: "r.seq < ?", values: [seqFrom(filter.toMs)] });
  equals("session", filter.session);
  // The condition of the partial index; without it the index is not used.
  equals("goal", filter.goal, filter.goal === "adhoc" ? "" : " AND r.goal <> 'adhoc'");
  equals("task", filter.task);
  equals("request_id", filter.requestId);
  parts.push(...among("r.rule", ruleSets));
  for (const [column, common, wanted] of [
    ["alias", "smart-router", filter.alias],
    ["action", "ROUTE", filter.action],
    ["cost_state", "known", filter.costState],
  ] as const) {
    // The condition of the partial index; without it the index is not used.
    if (wanted?.includes(common) === false && !wanted.includes("")) {
      parts.push({ sql: `r.${column} <> '${common}'`, values: [] });
    }
  }
  if (filter.status !== undefined) parts.push(...statusParts(filter.status));
  for (const column of ["alias", "kind", "action"] as const) parts.push(...among(`r.${column}`, filter[column]));
  parts.push(...among("r.error_class", filter.errorClass), ...among("r.cost_state", filter.costState));
  return joined(parts);
}

/** The same over the columns of `decision_sum`. */
export function sumCondition(filter: RollupFilter): Condition {
  const statuses = filter.status?.map(statusRange) ?? [];
  return joined([...rollupParts(filter, ""), ...(filter.status === undefined ? [] : [between("status", statuses)])]);
}

/** Whether the sums say anything of the filter. */
export function isSummed({ cause, model, tier, outcome, refusedBy, status }: RollupFilter): boolean {
  return [cause, model, tier, outcome, refusedBy, status].some((wanted) => wanted !== undefined);
}

type Range = readonly [low: number, high: number];

/** `4xx` or a status. */
function statusRange(text: string): Range {
  const low = /^[1-5]xx$/.test(text) ? Number(text[0]) * 100 : Number(text) || 0;
  return [low, text.endsWith("xx") ? low + 99 : low];
}

function between(column: string, ranges: readonly Range[]): Condition {
  return { sql: `(${ranges.map(() => `${column} BETWEEN ? AND ?`).join(" OR ")})`, values: ranges.flat() };
}

/**
 * Refusals and failures are looked up status by status: for each the index has its records in their order. Of a range of
 * statuses SQLite reads all records of the time instead.
 */
function statusParts(wanted: readonly string[]): Condition[] {
  const ranges = wanted.map(statusRange);
  if (ranges.some(([low]) => low < 400)) return [between("r.status", ranges)];
  const statuses = new Set(
    ranges.flatMap(([low, high]) => Array.from({ length: high - low + 1 }, (_, at) => low + at)),
  );
  const isOneOf = `r.status IN (${[...statuses].join(", ")})`;
  // The condition of the partial index; without it the index is not used.
  return [{ sql: `${isOneOf} AND r.status >= 400`, values: [] }];
}

function rollupParts(filter: RollupFilter, table: string): Condition[] {
  const parts = [
    ...among(`${table}cause`, filter.cause),
    ...among(`${table}model`, filter.model),
    ...among(`${table}tier`, filter.tier),
    ...among(`${table}outcome`, filter.outcome),
    ...among(`${table}refused_by`, filter.refusedBy),
  ];
  if (filter.outcome !== undefined && !filter.outcome.includes("answered")) {
    parts.push({ sql: `${table}outcome <> 'answered'`, values: [] });
  }
  return parts;
}

function among(column: string, values: readonly string[] | undefined): Condition[] {
  if (values === undefined) return [];
  if (values.length === 0) return [{ sql: "1 = 0", values: [] }];
  const isOneOf = `${column} IN (${values.map(() => "?").join(", ")})`;
  return [{ sql: values.includes("") ? `(${isOneOf} OR ${column} IS NULL)` : isOneOf, values }];
}

function joined(parts: readonly Condition[]): Condition {
  if (parts.length === 0) return { sql: "1 = 1", values: [] };
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) };
}

/** Whether a record passes, without a database: for the live feed. */
export function matchesFilter(record: DecisionRecord, filter: RecordFilter): boolean {
  for (const [name, wanted] of Object.entries(filter)) {
    if (wanted === undefined) continue;
    const key = name as keyof RecordFilter; // its own keys
    if (key === "fromMs" ? record.recorded_ms < wanted : key === "toMs" && record.recorded_ms >= wanted) return false;
    if (key === "fromMs" || key === "toMs") continue;
    const is = fieldOf(record, key);
    const alternatives: readonly string[] = typeof wanted === "string" ? [wanted] : wanted;
    if (key === "rule") {
      if (!(is ?? "").split(", ").includes(alternatives[0] ?? "")) return false;
    } else if (key === "status") {
      if (!alternatives.some((status) => status === is || `${is?.[0]}xx` === status)) return false;
    } else if (!alternatives.includes(is ?? "")) return false;
  }
  return true;
}

function fieldOf(record: DecisionRecord, key: Exclude<keyof RecordFilter, "fromMs" | "toMs">): string | null {
  switch (key) {
    case "requestId":
      return record.request_id;
    case "model":
      return record.served_by ?? record.model;
    case "status":
      return String(record.status);
    case "refusedBy":
      return record.refused_by;
    case "errorClass":
      return record.error_class;
    case "costState":
      return record.cost_state;
    default:
      return record[key];
  }
}
