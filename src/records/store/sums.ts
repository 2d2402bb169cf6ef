import type { Statement, StoreValue } from "#db/store-database.ts";
import type { DecisionRecord } from "#records/decision-record.ts";

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Upper bounds of the histogram of times to the first token, in milliseconds; what is above the last has a bucket too. */
export const firstTokenBoundsMs = [100, 200, 350, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000] as const;
export const firstTokenColumns = [...firstTokenBoundsMs, 0].map((_, index) => `first_${index}`);
export const moneyColumns = [
  "requests",
  "cost_nano_usd",
  "baseline_nano_usd",
  "baseline_cost_nano_usd",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
] as const;
const sumColumns = [...moneyColumns, "refused", "cost_unknown", ...firstTokenColumns];

/** Records are summed by what happened to them, and by goal. A row has "" and status 0 in what it is not summed by. */
export const outcomeKeys = ["model", "tier", "cause", "outcome", "status", "refused_by"] as const;
const keyColumns = ["dimension", "span_ms", "at_ms", ...outcomeKeys, "goal", "session"];

const upsert = `INSERT INTO decision_sum (${[...keyColumns, ...sumColumns].join(", ")}, last_ms)
  VALUES (${[...keyColumns, ...sumColumns].map(() => "?").join(", ")}, ?)
  ON CONFLICT (${keyColumns.join(", ")}) DO UPDATE SET
    ${sumColumns.map((name) => `${name} = decision_sum.${name} + excluded.${name}`).join(", ")},
    last_ms = CASE WHEN excluded.last_ms > decision_sum.last_ms THEN excluded.last_ms ELSE decision_sum.last_ms END`;

interface Sum {
  readonly key: readonly StoreValue[];
  /** In the order of `sumColumns`. */
  readonly amounts: number[];
  lastMs: number;
}

/** Adds records to the sums of their minutes, hours and goals, and takes the records that they replace out of them. */
export function sumStatements(
  records: readonly DecisionRecord[],
  replaced: readonly DecisionRecord[] = [],
): readonly Statement[] {
  const sums = new Map<string, Sum>();
  for (const record of records) addRecord(sums, record, 1);
  for (const record of replaced) addRecord(sums, record, -1);
  return [...sums.values()].map(({ key, amounts, lastMs }): Statement => [upsert, ...key, ...amounts, lastMs]);
}

function addRecord(sums: Map<string, Sum>, record: DecisionRecord, sign: 1 | -1): void {
  const amounts = amountsIn(record);
  const { recorded_ms: ms, goal, session } = record;
  const { model, served_by, tier, cause, outcome, status, refused_by } = record;
  const what = [served_by ?? model ?? "", tier ?? "", cause ?? "", outcome, status, refused_by ?? "", "", ""];
  addTo(sums, ["outcome", minuteMs, startOf(ms, minuteMs), ...what], amounts, sign, ms);
  addTo(sums, ["outcome", hourMs, startOf(ms, hourMs), ...what], amounts, sign, ms);
  if (goal === null && session === null) return;
  const whose = ["", "", "", "", 0, "", goal ?? "", session ?? ""];
  addTo(sums, ["goal", hourMs, startOf(ms, hourMs), ...whose], amounts, sign, ms);
}

function addTo(
  sums: Map<string, Sum>,
  key: readonly StoreValue[],
  amounts: readonly number[],
  sign: 1 | -1,
  recordedMs: number,
): void {
  const name = key.join("\n");
  let sum = sums.get(name);
  if (sum === undefined) {
    sum = { key, amounts: amounts.map(() => 0), lastMs: 0 };
    sums.set(name, sum);
  }
  for (let at = 0; at < amounts.length; at++) sum.amounts[at] = (sum.amounts[at] ?? 0) + sign * (amounts[at] ?? 0);
  sum.lastMs = Math.max(sum.lastMs, Math.round(recordedMs));
}

/** In the order of `sumColumns`. */
function amountsIn(record: DecisionRecord): readonly number[] {
  const { repeated, cost_nano_usd: cost, baseline_nano_usd: baseline, tokens, timings } = record;
  const first = timings.first_token_ms;
  const bucket = first === null ? -1 : firstTokenBoundsMs.findIndex((bound) => first <= bound);
  const histogram = firstTokenColumns.map(() => 0);
  if (first !== null) histogram[bucket === -1 ? firstTokenBoundsMs.length : bucket] = 1;
  return [
    repeated,
    cost,
    baseline ?? 0,
    baseline === null ? 0 : cost,
    tokens?.prompt ?? 0,
    tokens?.cached ?? 0,
    tokens?.completion ?? 0,
    record.outcome === "refused" ? repeated : 0,
    record.cost_state === "unknown" ? repeated : 0,
    ...histogram,
  ];
}

function startOf(atMs: number, span: number): number {
  return Math.floor(atMs / span) * span;
}
