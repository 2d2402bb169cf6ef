import type { TimeSpan } from "#domain/money/prices.ts";
import { actions, aliases, causes, taskKinds } from "#domain/routing.ts";
import { partsOfReservationId, type ReservationState } from "#ledger/rules/rows.ts";
import { hardRules } from "#pipeline/decide/rules/hard-rules.ts";
import { costStates, type DecisionRecord, refusers, tiers } from "./decision-record.ts";
import { requestOutcomes } from "./record.ts";
import type { StoredRecord } from "./stored-record.ts";

/** Times are `recorded_ms`: from inclusive, to exclusive. */
export type TimeRange = TimeSpan;

/** For each field the value, or the values, that a record has in it. "" stands for none. */
const filterValues = {
  decisionId: ({ decision_id }) => decision_id,
  requestId: ({ request_id }) => request_id,
  session: ({ session }) => session ?? "",
  goal: ({ goal }) => goal ?? "",
  task: ({ task }) => task ?? "",
  cause: ({ cause }) => cause ?? "",
  rule: ({ rule }) => (rule?.includes(", ") ? rule.split(", ") : (rule ?? "")),
  alias: ({ alias }) => alias ?? "",
  model: ({ served_by, model }) => served_by ?? model ?? "",
  tier: ({ tier }) => tier ?? "",
  kind: ({ kind }) => kind ?? "",
  action: ({ action }) => action ?? "",
  outcome: ({ outcome }) => outcome,
  // Itself, and its class: `4xx`.
  status: ({ status }) => [String(status), `${Math.floor(status / 100)}xx`],
  refusedBy: ({ refused_by }) => refused_by ?? "",
  errorClass: ({ error_class }) => error_class ?? "",
  costState: ({ cost_state }) => cost_state ?? "known",
  label: ({ label }) => label ?? "",
  redaction: ({ redactions }) => (redactions?.length ? ["any", ...redactions.map(({ rule }) => rule)] : ""),
} satisfies Readonly<Record<string, (record: StoredRecord) => string | readonly string[]>>;
/** The fields by which records are found; the others of a filter are times. */
type FilterField = keyof typeof filterValues;

/**
 * A record passes if every field matches. Several values of a field are alternatives; "" matches a record without a
 * value. A model is the one that answered, else the chosen one; a status may be a class (`4xx`); a redaction is a rule
 * that found something, or `any`.
 */
export type RecordFilter = Partial<TimeRange> & { readonly [F in FilterField]?: string | readonly string[] };

/** The fields of a filter that sums have too. */
export type RollupFilter = Pick<
  RecordFilter,
  "cause" | "model" | "tier" | "status" | "outcome" | "refusedBy" | "label"
>;

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

export function hasWanted(record: StoredRecord, wanted: readonly Wanted[]): boolean {
  return wanted.every(([field, anyOf]) => [filterValues[field](record)].flat().some((value) => anyOf.includes(value)));
}

/** Whether a record passes, without a database: for the live feed. */
export function matchesFilter(record: DecisionRecord, filter: RecordFilter): boolean {
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = filter;
  return record.recorded_ms >= fromMs && record.recorded_ms < toMs && hasWanted(record, wantedBy(filter));
}

/** All that filters can ask these records for, once: `field=value`. */
export function termsIn(records: readonly StoredRecord[]): readonly string[] {
  return fields.flatMap((field) => {
    const values = new Set<string>();
    const valuesIn: (record: StoredRecord) => string | readonly string[] = filterValues[field];
    let last: unknown;
    for (const record of records) {
      const value = valuesIn(record);
      // Most are those of the record before.
      if (value === last) continue;
      last = value;
      if (typeof value === "string") values.add(value);
      else for (const each of value) values.add(each);
    }
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
      const low = Number(text.replace("xx", "00")) || 0;
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

export interface PageRequest {
  /** `seq` of the last record seen: the page goes on with older ones. */
  readonly before?: number;
  /** `seq` of the newest record seen: the page has newer ones. */
  readonly after?: number;
  /** 1 to 1000. A page has more where several processes gave records the number of its last one. */
  readonly limit: number;
}

/** What was charged without proof, because nobody knows what a call has cost: no part of what a model has cost. */
export function unprovenCost({ attempts }: Pick<StoredRecord, "attempts">): number {
  return attempts.reduce(
    (sum, { cost_source, cost_nano_usd }) => sum + (cost_source === "hold" ? (cost_nano_usd ?? 0) : 0),
    0,
  );
}

export interface RecordPage {
  readonly records: readonly DecisionRecord[];
  /** Whether there are more in the page's direction. */
  readonly more: boolean;
}

/**
 * What is summed. `requests` count a flood's repeated refusals; `baseline`: what the same tokens would have cost on the
 * senior model, only where that is known, and `baseline_cost` is what those requests are proven to cost;
 * `output_tokens` were written in `output_ms` (streams); `switch_nano_usd`: what changes of model within a conversation
 * cost more than staying, negative where they saved.
 */
export const amountColumns = [
  "requests",
  "refused",
  "failed",
  "cost_unknown",
  "cost_nano_usd",
  "baseline_nano_usd",
  "baseline_cost_nano_usd",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "retries",
  "fail_overs",
  "output_ms",
  "output_tokens",
  "switches",
  "switch_nano_usd",
] as const;

/** What requests are summed by. A row has "" and status 0 in what it is not summed by. */
export const requestKeys = ["model", "tier", "cause", "outcome", "status", "refused_by", "label"] as const;

/** What a caller has reported of a decision. */
export interface ReportedOutcome {
  readonly decisionId: string;
  readonly outcome: "solved" | "failed";
  /** From 0 to 1. */
  readonly score: number | null;
}

/** A reservation that has been closed: the final cost of one attempt, as the ledger learned it later. */
export interface ClosedReservation {
  /** Made of the decision id of its record and the number of the attempt. */
  readonly id: string;
  readonly state: ReservationState;
  /** In nano-USD. */
  readonly charged: number;
}

/** The record with that cost; itself where it has it already. */
export function correctedRecord(record: StoredRecord, { id, state, charged }: ClosedReservation): StoredRecord {
  const { attempt } = partsOfReservationId(id);
  const before = record.attempts.find(({ number }) => number === attempt);
  if (before === undefined || before.cost_nano_usd === charged) return record;
  const attempts = record.attempts.map((each) =>
    each === before
      ? { ...each, cost_nano_usd: charged, cost_source: state === "EXPIRED_CHARGED" ? "hold" : "ledger" }
      : each,
  );
  const isOpen = attempts.some(({ cost_nano_usd }) => cost_nano_usd == null);
  const final = state === "EXPIRED_CHARGED" ? "estimated" : "known";
  return {
    ...record,
    attempts,
    cost_nano_usd: record.cost_nano_usd + charged - (before.cost_nano_usd ?? 0),
    cost_state: isOpen ? record.cost_state : final,
  };
}
