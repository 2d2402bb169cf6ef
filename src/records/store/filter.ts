import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordFilter, RollupFilter } from "#records/records.ts";

export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** What sums must meet to pass the filter, as an SQL condition over the columns of `decision_sum`. */
export function sumCondition(filter: RollupFilter): Condition {
  return joined([
    ...among("cause", filter.cause),
    ...among("model", filter.model),
    ...among("tier", filter.tier),
    ...among("outcome", filter.outcome),
    ...among("refused_by", filter.refusedBy),
    ...(filter.status === undefined ? [] : [statusCondition(filter.status)]),
  ]);
}

function among(column: string, values: readonly string[] | undefined): Condition[] {
  if (values === undefined) return [];
  return [{ sql: values.length === 0 ? "1 = 0" : `${column} IN (${values.map(() => "?").join(", ")})`, values }];
}

/** Statuses, and classes of them such as `4xx`. */
function statusCondition(statuses: readonly string[]): Condition {
  if (statuses.length === 0) return { sql: "1 = 0", values: [] };
  const ranges = statuses.map((text) => {
    const low = /^[1-5]xx$/.test(text) ? Number(text[0]) * 100 : Number(text) || 0;
    return [low, text.endsWith("xx") ? low + 99 : low];
  });
  return { sql: `(${ranges.map(() => "status BETWEEN ? AND ?").join(" OR ")})`, values: ranges.flat() };
}

/** Whether the sums say anything of the filter. */
export function isSummed({ cause, model, tier, outcome, refusedBy, status }: RollupFilter): boolean {
  return [cause, model, tier, outcome, refusedBy, status].some((wanted) => wanted !== undefined);
}

export function joined(parts: readonly Condition[]): Condition {
  if (parts.length === 0) return { sql: "1 = 1", values: [] };
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) };
}

/** The fields of a filter that are compared with a value of the record; the others are times. */
export type FilterField = Exclude<keyof RecordFilter, "fromMs" | "toMs">;

/** Whether a record passes, without a database: for the live feed. */
export function matchesFilter(record: DecisionRecord, filter: RecordFilter): boolean {
  const { fromMs, toMs, ...fields } = filter;
  if (fromMs !== undefined && record.recorded_ms < fromMs) return false;
  if (toMs !== undefined && record.recorded_ms >= toMs) return false;
  return fieldsIn(fields).every(([field, wanted]) => fieldPasses(field, wanted, fieldOf(record, field)));
}

/** What a filter asks of each field. */
export function fieldsIn(
  filter: Pick<RecordFilter, FilterField>,
): readonly (readonly [FilterField, readonly string[]])[] {
  const fields: [FilterField, readonly string[]][] = [];
  for (const [name, wanted] of Object.entries(filter)) {
    // Its own keys.
    if (wanted !== undefined) fields.push([name as FilterField, typeof wanted === "string" ? [wanted] : wanted]);
  }
  return fields;
}

/** Whether a value is one of those wanted. */
export function fieldPasses(field: FilterField, wanted: readonly string[], is: string | null): boolean {
  if (field === "rule") return rulesIn(is).includes(wanted[0] ?? "");
  if (field === "status") return wanted.some((status) => status === is || status === statusClass(is ?? ""));
  return wanted.includes(is ?? "");
}

/** The names in a record's `rule`. */
export function rulesIn(rule: string | null): readonly string[] {
  return (rule ?? "").split(", ");
}

/** `4xx`. */
export function statusClass(status: string): string {
  return `${status[0]}xx`;
}

/** The value that a filter compares. */
export function fieldOf(record: DecisionRecord, field: FilterField): string | null {
  switch (field) {
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
      return record[field];
  }
}
