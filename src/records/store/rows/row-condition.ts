import type { RecordFilter } from "#records/records.ts";
import { among, between, type Condition, joined, rollupParts, statusRange } from "#records/store/filter-sql.ts";
import { seqFrom } from "#records/store/seq.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";

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

/** The sets of rules among which a hard rule fired; there are few sets. The index is read once for each of them. */
export async function ruleSetsWith(sql: SqlConnection, rule: string): Promise<readonly string[]> {
  const rows = await sql.read(
    `WITH RECURSIVE each_rule(name) AS (
       SELECT MIN(rule) FROM decision_record WHERE rule IS NOT NULL
       UNION ALL
       SELECT (SELECT MIN(d.rule) FROM decision_record d WHERE d.rule > each_rule.name) FROM each_rule
       WHERE each_rule.name IS NOT NULL
     ) SELECT name FROM each_rule WHERE name IS NOT NULL`,
  );
  return rows.map((row) => String(row["name"])).filter((set) => set.split(", ").includes(rule));
}
