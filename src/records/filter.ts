import { actions, aliases, causes, taskKinds } from "#domain/routing.ts";
import { hardRules } from "#pipeline/decide/rules/hard-rules.ts";
import { costStates, type DecisionRecord, refusers, tiers } from "./decision-record.ts";
import { requestOutcomes } from "./record.ts";
import { type FilterField, filterValues, type RecordFilter, type RollupFilter } from "./records.ts";

/** The fields of a filter whose values are words of a closed set, and the words. */
export const filterWords = {
  cause: causes,
  rule: hardRules.map(({ name }) => name),
  kind: taskKinds,
  alias: aliases,
  tier: tiers,
  outcome: requestOutcomes,
  refusedBy: refusers,
  costState: costStates,
  action: actions,
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** What is wrong with a value of such a field; undefined where nothing is. A mistyped word would select nothing, without a message. */
export function wordProblem(field: keyof typeof filterWords, value: string): string | undefined {
  const words: readonly string[] = filterWords[field];
  return words.includes(value) ? undefined : `"${value}" is none of ${words.join(", ")}`;
}

/** The same for a status: one, or a class of them. */
export function statusProblem(value: string): string | undefined {
  return /^[1-5](\d\d|xx)$/.test(value) ? undefined : `"${value}" is no status such as 403, and no class such as 5xx`;
}

const fields = Object.keys(filterValues) as readonly FilterField[]; // its own keys

/** One of these values of a field. */
export type Wanted = readonly [field: FilterField, anyOf: readonly string[]];

/** What a filter asks of each field. */
export function wantedBy(filter: RecordFilter): readonly Wanted[] {
  return fields.flatMap((field): Wanted[] => {
    const value = filter[field];
    return value === undefined ? [] : [[field, typeof value === "string" ? [value] : value]];
  });
}

export function hasWanted(record: DecisionRecord, wanted: readonly Wanted[]): boolean {
  return wanted.every(([field, anyOf]) => filterValues[field](record).some((value) => anyOf.includes(value)));
}

/** Whether a record passes, without a database: for the live feed. */
export function matchesFilter(record: DecisionRecord, filter: RecordFilter): boolean {
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = filter;
  return record.recorded_ms >= fromMs && record.recorded_ms < toMs && hasWanted(record, wantedBy(filter));
}

/** All that filters can ask these records for, once: `field=value`. */
export function termsIn(records: readonly DecisionRecord[]): readonly string[] {
  return fields.flatMap((field) => {
    const values = new Set<string>();
    for (const record of records) for (const value of filterValues[field](record)) values.add(value);
    return [...values].map((value) => `${field}=${value}`);
  });
}

/** What sums must meet to pass a filter: SQL over the columns of `decision_sum`, and its values. */
export function sumCondition(filter: RollupFilter): readonly [sql: string, values: readonly (string | number)[]] {
  const parts = wantedBy(filter).map(([field, anyOf]): readonly [string, readonly (string | number)[]] => {
    if (field !== "status") {
      return [`${field === "refusedBy" ? "refused_by" : field} IN (${placeholders(anyOf)})`, anyOf];
    }
    const ranges = anyOf.map((text) => {
      const low = /^[1-5]xx$/.test(text) ? Number(text[0]) * 100 : Number(text) || 0;
      return [low, text.endsWith("xx") ? low + 99 : low];
    });
    return [`(${ranges.map(() => "status BETWEEN ? AND ?").join(" OR ") || "1 = 0"})`, ranges.flat()];
  });
  return [["1 = 1", ...parts.map(([sql]) => sql)].join(" AND "), parts.flatMap(([, values]) => values)];
}

/** In an SQL list. An empty list has NULL, which equals nothing. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ") || "NULL";
}
