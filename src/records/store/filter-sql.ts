import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordFilter, RollupFilter } from "#records/records.ts";
import { seqFrom } from "./record-rows.ts";

export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** What records must meet to pass the filter, as an SQL condition over the columns of `decision_record` (as `r`). */
export function recordCondition(filter: RecordFilter): Condition {
  const parts: Condition[] = rollupParts(filter, "r.");
  const equals = (column: string, value: string | undefined, more = "") => {
    if (value !== undefined) parts.push({ sql: `r.${column} = ?${more}`, values: [value] });
  };
  if (filter.fromMs !== undefined) parts.push({ sql: "r.seq >= ?", values: [seqFrom(filter.fromMs)] });
  if (filter.toMs !== undefined) parts.push({ sql: "r.seq < ?", values: [seqFrom(filter.toMs)] });
  equals("session", filter.session);
  // Says what the partial index needs to be used.
  equals("goal", filter.goal, filter.goal === "adhoc" ? "" : " AND r.goal <> 'adhoc'");
  equals("task", filter.task);
  equals("request_id", filter.requestId);
  if (filter.rule !== undefined) {
    // There are few sets of rules. The index is read once for each of them, not for each record: then those that have this
    // rule are looked for, and their records.
    parts.push({
      sql: `r.rule IN (
        WITH RECURSIVE each_rule(name) AS (
          SELECT MIN(rule) FROM decision_record WHERE rule IS NOT NULL
          UNION ALL
          SELECT (SELECT MIN(d.rule) FROM decision_record d WHERE d.rule > each_rule.name) FROM each_rule
          WHERE each_rule.name IS NOT NULL
        ) SELECT name FROM each_rule WHERE (', ' || name || ', ') LIKE ?)`,
      values: [`%, ${filter.rule}, %`],
    });
  }
  // Says what the partial index needs to be used.
  if (filter.alias?.includes("smart-router") === false) parts.push({ sql: "r.alias <> 'smart-router'", values: [] });
  for (const column of ["alias", "kind", "action"] as const) parts.push(...among(`r.${column}`, filter[column]));
  parts.push(...among("r.error_class", filter.errorClass), ...among("r.cost_state", filter.costState));
  return joined(parts);
}

/** The same over the columns of `decision_sum`. */
export function sumCondition(filter: RollupFilter): Condition {
  return joined(rollupParts(filter, ""));
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
  if (filter.status !== undefined) {
    const ranges = filter.status.map((status): Condition => {
      const low = /^[1-5]xx$/.test(status) ? Number(status[0]) * 100 : Number(status) || 0;
      const high = status.endsWith("xx") ? low + 99 : low;
      return { sql: `${table}status BETWEEN ? AND ?`, values: [low, high] };
    });
    parts.push({
      sql: `(${ranges.map(({ sql }) => sql).join(" OR ")})`,
      values: ranges.flatMap(({ values }) => values),
    });
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
export function passes(record: DecisionRecord, filter: RecordFilter): boolean {
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
