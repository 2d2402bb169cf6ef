import type { SqlValue, SqlWrite } from "#db/sql-writes.ts";
import type { RecordHead } from "./record-head.ts";

export const minuteMs = 60_000;
export const hourMs = 3_600_000;

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

const spansMs = [minuteMs, hourMs] as const;

/** In the order of `sumKeys`. */
function keyOf(record: RecordHead): readonly SqlValue[] {
  return [
    record.model ?? "",
    record.tier ?? "",
    record.cause ?? "",
    record.outcome,
    record.status,
    record.refused_by ?? "",
  ];
}

/** Adds the records to the sums of their minutes, hours and goals. */
export function sumWrites(heads: readonly RecordHead[]): readonly SqlWrite[] {
  const spans = new Map<string, { readonly key: readonly SqlValue[]; readonly sums: number[] }>();
  const goals = new Map<string, { readonly key: readonly SqlValue[]; readonly sums: number[]; lastMs: number }>();
  for (const record of heads) {
    const sums = sumsOf(record);
    const name = `${record.model} ${record.tier} ${record.cause} ${record.outcome} ${record.status} ${record.refused_by}`;
    for (const span of spansMs) {
      const startMs = startOf(record.recorded_ms, span);
      const place = `${span} ${startMs} ${name}`;
      const known = spans.get(place);
      if (known === undefined) spans.set(place, { key: [span, startMs, ...keyOf(record)], sums: [...sums] });
      else addTo(known.sums, sums);
    }
    if (record.goal === null && record.session === null) continue;
    const startMs = startOf(record.recorded_ms, hourMs);
    const place = `${startMs}\n${record.goal}\n${record.session}`;
    let known = goals.get(place);
    if (known === undefined) {
      known = { key: [startMs, record.goal ?? "", record.session ?? ""], sums: goalSums.map(() => 0), lastMs: 0 };
      goals.set(place, known);
    }
    for (let at = 0; at < moneySums.length; at++) known.sums[at] = (known.sums[at] ?? 0) + (sums[at] ?? 0);
    if (record.outcome === "refused")
      known.sums[moneySums.length] = (known.sums[moneySums.length] ?? 0) + record.repeated;
    known.lastMs = Math.max(known.lastMs, Math.round(record.recorded_ms));
  }
  return [
    {
      sql: `INSERT INTO decision_sum (span_ms, at_ms, ${sumKeys.join(", ")}, ${allSums.join(", ")}) VALUES (?)
            ON CONFLICT (span_ms, at_ms, ${sumKeys.join(", ")}) DO UPDATE SET ${added("decision_sum", allSums)}`,
      rows: [...spans.values()].map(({ key, sums }) => [...key, ...sums]),
    },
    {
      sql: `INSERT INTO decision_goal_sum (at_ms, goal, session, ${goalSums.join(", ")}, last_ms) VALUES (?)
            ON CONFLICT (at_ms, goal, session) DO UPDATE SET ${added("decision_goal_sum", goalSums)},
              last_ms = CASE WHEN excluded.last_ms > decision_goal_sum.last_ms THEN excluded.last_ms ELSE decision_goal_sum.last_ms END`,
      rows: [...goals.values()].map(({ key, sums, lastMs }) => [...key, ...sums, lastMs]),
    },
  ];
}

/** Adds the change of a record's cost to the sums that it is part of. */
export function correctionWrites(record: RecordHead, deltaNanoUsd: number, resolved: boolean): readonly SqlWrite[] {
  const key = keyOf(record);
  const baseline = record.baseline_nano_usd === null ? 0 : deltaNanoUsd;
  return [
    {
      sql: `UPDATE decision_sum SET cost_nano_usd = cost_nano_usd + ?, baseline_cost_nano_usd = baseline_cost_nano_usd + ?,
              cost_unknown = cost_unknown - ?
            WHERE span_ms = ? AND at_ms = ? AND ${sumKeys.map((name) => `${name} = ?`).join(" AND ")}`,
      rows: spansMs.map((span) => [
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
            WHERE at_ms = ? AND goal = ? AND session = ?`,
      rows: [[deltaNanoUsd, baseline, startOf(record.recorded_ms, hourMs), record.goal ?? "", record.session ?? ""]],
    },
  ];
}

function addTo(known: number[], sums: readonly number[]): void {
  for (let at = 0; at < sums.length; at++) known[at] = (known[at] ?? 0) + (sums[at] ?? 0);
}

/** In the order of `allSums`. */
function sumsOf(record: RecordHead): number[] {
  const { baseline_nano_usd: baseline, cost_nano_usd: cost, repeated } = record;
  const sums = [
    repeated,
    cost,
    baseline ?? 0,
    baseline === null ? 0 : cost,
    record.prompt_tokens,
    record.cached_tokens,
    record.completion_tokens,
    record.cost_state === "unknown" ? repeated : 0,
    ...firstTokenColumns.map(() => 0),
  ];
  const first = record.first_token_ms;
  if (first !== null) {
    const bucket = firstTokenBoundsMs.findIndex((bound) => first <= bound);
    const at = moneySums.length + 1 + (bucket === -1 ? firstTokenBoundsMs.length : bucket);
    sums[at] = 1;
  }
  return sums;
}

function added(table: string, names: readonly string[]): string {
  return names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(", ");
}

function startOf(atMs: number, span: number): number {
  return Math.floor(atMs / span) * span;
}
