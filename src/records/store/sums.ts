import type { SqlValue, SqlWrite } from "#db/sql-writes.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { zeroSums } from "#records/records.ts";

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Upper bounds of the histogram of times to the first token, in milliseconds; what is above the last has a bucket too. */
export const firstTokenBoundsMs = [100, 200, 350, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000] as const;
export const firstTokenColumns = [...firstTokenBoundsMs, 0].map((_, index) => `first_${index}`);

export const sumKeys = ["model", "tier", "cause", "outcome", "status", "refused_by"] as const;
/** The sums that are kept by goal too. */
export const moneySums = [
  "requests",
  "cost_nano_usd",
  "baseline_nano_usd",
  "baseline_cost_nano_usd",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
] as const;
const allSums = [...moneySums, "cost_unknown", ...firstTokenColumns];
const goalSums = [...moneySums, "refused"];

/** A row of `decision_sum` and one of `decision_goal_sum` for each of these. */
const sumSpans = [minuteMs, hourMs] as const;
const goalSpans = [hourMs, dayMs] as const;

interface Sums {
  readonly key: readonly SqlValue[];
  readonly money: { [N in (typeof moneySums)[number]]: number };
  costUnknown: number;
  refused: number;
  lastMs: number;
  /** In the order of `firstTokenColumns`. */
  readonly firstTokens: number[];
}

/** Adds the records to the sums of their minutes, hours, days and goals: one statement for each table. */
export function sumWrites(records: readonly DecisionRecord[]): readonly SqlWrite[] {
  const sums = new Map<string, Sums>();
  const goals = new Map<string, Sums>();
  for (const record of records) {
    const key = sumKey(record);
    for (const span of sumSpans) addTo(sums, [span, startOf(record.recorded_ms, span), ...key], record);
    if (record.goal === null && record.session === null) continue;
    for (const span of goalSpans) {
      addTo(goals, [span, startOf(record.recorded_ms, span), record.goal ?? "", record.session ?? ""], record);
    }
  }
  return [
    {
      sql: `INSERT INTO decision_sum (span_ms, at_ms, ${sumKeys.join(", ")}, ${allSums.join(", ")}) VALUES (?)
            ON CONFLICT (span_ms, at_ms, ${sumKeys.join(", ")}) DO UPDATE SET ${added("decision_sum", allSums)}`,
      rows: [...sums.values()].map(({ key, money, costUnknown, firstTokens }) => [
        ...key,
        ...valuesOf(money),
        costUnknown,
        ...firstTokens,
      ]),
    },
    {
      sql: `INSERT INTO decision_goal_sum (span_ms, at_ms, goal, session, ${goalSums.join(", ")}, last_ms) VALUES (?)
            ON CONFLICT (span_ms, at_ms, goal, session) DO UPDATE SET ${added("decision_goal_sum", goalSums)},
              last_ms = CASE WHEN excluded.last_ms > decision_goal_sum.last_ms THEN excluded.last_ms ELSE decision_goal_sum.last_ms END`,
      rows: [...goals.values()].map(({ key, money, refused, lastMs }) => [...key, ...valuesOf(money), refused, lastMs]),
    },
  ];
}

/** Adds the change of a record's cost to the sums that it is part of. */
export function correctionWrites(record: DecisionRecord, deltaNanoUsd: number, resolved: boolean): readonly SqlWrite[] {
  const baseline = record.baseline_nano_usd === null ? 0 : deltaNanoUsd;
  const key = sumKey(record);
  return [
    {
      sql: `UPDATE decision_sum SET cost_nano_usd = cost_nano_usd + ?, baseline_cost_nano_usd = baseline_cost_nano_usd + ?,
              cost_unknown = cost_unknown - ?
            WHERE span_ms = ? AND at_ms = ? AND ${sumKeys.map((name) => `${name} = ?`).join(" AND ")}`,
      rows: sumSpans.map((span) => [
        deltaNanoUsd,
        baseline,
        resolved ? record.repeated : 0,
        span,
        startOf(record.recorded_ms, span),
        ...key,
      ]),
    },
    {
      sql: `UPDATE decision_goal_sum SET cost_nano_usd = cost_nano_usd + ?, baseline_cost_nano_usd = baseline_cost_nano_usd + ?
            WHERE span_ms = ? AND at_ms = ? AND goal = ? AND session = ?`,
      rows: goalSpans.map((span) => [
        deltaNanoUsd,
        baseline,
        span,
        startOf(record.recorded_ms, span),
        record.goal ?? "",
        record.session ?? "",
      ]),
    },
  ];
}

/** In the order of `sumKeys`. */
function sumKey(record: DecisionRecord): readonly SqlValue[] {
  return [
    record.served_by ?? record.model ?? "",
    record.tier ?? "",
    record.cause ?? "",
    record.outcome,
    record.status,
    record.refused_by ?? "",
  ];
}

function addTo(all: Map<string, Sums>, key: readonly SqlValue[], record: DecisionRecord): void {
  const name = key.join("\n");
  let sums = all.get(name);
  if (sums === undefined) {
    sums = {
      key,
      money: { ...zeroSums },
      costUnknown: 0,
      refused: 0,
      lastMs: 0,
      firstTokens: firstTokenColumns.map(() => 0),
    };
    all.set(name, sums);
  }
  const { money } = sums;
  const { baseline_nano_usd: baseline, cost_nano_usd: cost, tokens, repeated } = record;
  money.requests += repeated;
  money.cost_nano_usd += cost;
  if (baseline !== null) {
    money.baseline_nano_usd += baseline;
    money.baseline_cost_nano_usd += cost;
  }
  if (tokens !== null) {
    money.prompt_tokens += tokens.prompt;
    money.cached_tokens += tokens.cached;
    money.completion_tokens += tokens.completion;
  }
  if (record.cost_state === "unknown") sums.costUnknown += repeated;
  if (record.outcome === "refused") sums.refused += repeated;
  sums.lastMs = Math.max(sums.lastMs, Math.round(record.recorded_ms));
  const first = record.timings.first_token_ms;
  if (first === null) return;
  const bucket = firstTokenBoundsMs.findIndex((bound) => first <= bound);
  const at = bucket === -1 ? firstTokenBoundsMs.length : bucket;
  sums.firstTokens[at] = (sums.firstTokens[at] ?? 0) + 1;
}

function valuesOf(money: Sums["money"]): readonly number[] {
  return moneySums.map((name) => money[name]);
}

function added(table: string, names: readonly string[]): string {
  return names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(", ");
}

function startOf(atMs: number, span: number): number {
  return Math.floor(atMs / span) * span;
}
