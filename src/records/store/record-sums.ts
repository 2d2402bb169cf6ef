import type { SqlValue, SqlWrite } from "#db/sql-writes.ts";
import { zeroSums } from "#records/records.ts";
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

function haveSameKey(a: RecordHead, b: RecordHead): boolean {
  return (
    a.model === b.model &&
    a.tier === b.tier &&
    a.cause === b.cause &&
    a.outcome === b.outcome &&
    a.status === b.status &&
    a.refused_by === b.refused_by
  );
}

/** Fields with names: adding to the places of a list takes several times as long. */
type MoneySums = { [N in (typeof moneySums)[number]]: number };

interface SpanSums {
  readonly key: readonly SqlValue[];
  readonly money: MoneySums;
  costUnknown: number;
  /** In the order of `firstTokenColumns`. */
  readonly firstTokens: number[];
}

interface MinuteSums extends SpanSums {
  readonly name: string;
  readonly startMs: number;
  /** One of the records that are summed here. */
  readonly one: RecordHead;
}

interface GoalSums {
  readonly key: readonly SqlValue[];
  readonly money: MoneySums;
  readonly startMs: number;
  readonly one: RecordHead;
  refused: number;
  lastMs: number;
}

/** Adds the records to the sums of their minutes, hours and goals. */
export function sumWrites(heads: readonly RecordHead[]): readonly SqlWrite[] {
  const spans = spanSums(heads);
  const goals = new Map<string, GoalSums>();
  let known: GoalSums | undefined;
  for (const record of heads) {
    if (record.goal === null && record.session === null) continue;
    const startMs = startOf(record.recorded_ms, hourMs);
    // Most records are of the same sums as the one before, and making the name of sums costs more than adding to them.
    if (known?.startMs !== startMs || known.one.goal !== record.goal || known.one.session !== record.session) {
      const place = `${startMs}\n${record.goal}\n${record.session}`;
      known = goals.get(place);
      if (known === undefined) {
        const key = [startMs, record.goal ?? "", record.session ?? ""];
        known = { startMs, one: record, key, money: { ...zeroSums }, refused: 0, lastMs: 0 };
        goals.set(place, known);
      }
    }
    addMoney(known.money, record);
    if (record.outcome === "refused") known.refused += record.repeated;
    known.lastMs = Math.max(known.lastMs, Math.round(record.recorded_ms));
  }
  return [
    {
      sql: `INSERT INTO decision_sum (span_ms, at_ms, ${sumKeys.join(", ")}, ${allSums.join(", ")}) VALUES (?)
            ON CONFLICT (span_ms, at_ms, ${sumKeys.join(", ")}) DO UPDATE SET ${added("decision_sum", allSums)}`,
      rows: spans.map(({ key, money, costUnknown, firstTokens }) => [
        ...key,
        ...valuesOf(money),
        costUnknown,
        ...firstTokens,
      ]),
    },
    {
      sql: `INSERT INTO decision_goal_sum (at_ms, goal, session, ${goalSums.join(", ")}, last_ms) VALUES (?)
            ON CONFLICT (at_ms, goal, session) DO UPDATE SET ${added("decision_goal_sum", goalSums)},
              last_ms = CASE WHEN excluded.last_ms > decision_goal_sum.last_ms THEN excluded.last_ms ELSE decision_goal_sum.last_ms END`,
      rows: [...goals.values()].map(({ key, money, refused, lastMs }) => [...key, ...valuesOf(money), refused, lastMs]),
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

/** The sums of the minutes, and those of the hours, which are made of them: they are few. */
function spanSums(heads: readonly RecordHead[]): readonly SpanSums[] {
  const minutes = new Map<string, MinuteSums>();
  let known: MinuteSums | undefined;
  for (const record of heads) {
    const startMs = startOf(record.recorded_ms, minuteMs);
    if (known?.startMs !== startMs || !haveSameKey(known.one, record)) {
      const name = `${record.model} ${record.tier} ${record.cause} ${record.outcome} ${record.status} ${record.refused_by}`;
      const place = `${startMs} ${name}`;
      known = minutes.get(place);
      if (known === undefined) {
        const key = [minuteMs, startMs, ...keyOf(record)];
        known = { name, startMs, one: record, ...noSums(key) };
        minutes.set(place, known);
      }
    }
    addRecord(known, record);
  }
  const hours = new Map<string, SpanSums>();
  for (const minute of minutes.values()) {
    const hour = startOf(minute.startMs, hourMs);
    const place = `${hour} ${minute.name}`;
    let known = hours.get(place);
    if (known === undefined) {
      known = noSums([hourMs, hour, ...minute.key.slice(2)]);
      hours.set(place, known);
    }
    addSums(known, minute);
  }
  return [...minutes.values(), ...hours.values()];
}

function noSums(key: readonly SqlValue[]): SpanSums {
  return { key, money: { ...zeroSums }, costUnknown: 0, firstTokens: firstTokenColumns.map(() => 0) };
}

function valuesOf(money: MoneySums): readonly number[] {
  return moneySums.map((name) => money[name]);
}

function addSums(sums: SpanSums, { money, costUnknown, firstTokens }: SpanSums): void {
  for (const name of moneySums) sums.money[name] += money[name];
  sums.costUnknown += costUnknown;
  for (const [bucket, count] of firstTokens.entries()) addAt(sums.firstTokens, bucket, count);
}

function addRecord(sums: SpanSums, record: RecordHead): void {
  addMoney(sums.money, record);
  if (record.cost_state === "unknown") sums.costUnknown += record.repeated;
  const first = record.first_token_ms;
  if (first === null) return;
  const bucket = firstTokenBoundsMs.findIndex((bound) => first <= bound);
  addAt(sums.firstTokens, bucket === -1 ? firstTokenBoundsMs.length : bucket, 1);
}

function addMoney(sums: MoneySums, record: RecordHead): void {
  const { baseline_nano_usd: baseline, cost_nano_usd: cost } = record;
  sums.requests += record.repeated;
  sums.cost_nano_usd += cost;
  if (baseline !== null) {
    sums.baseline_nano_usd += baseline;
    sums.baseline_cost_nano_usd += cost;
  }
  sums.prompt_tokens += record.prompt_tokens;
  sums.cached_tokens += record.cached_tokens;
  sums.completion_tokens += record.completion_tokens;
}

function addAt(counts: number[], at: number, count: number): void {
  counts[at] = (counts[at] ?? 0) + count;
}

function added(table: string, names: readonly string[]): string {
  return names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(", ");
}

function startOf(atMs: number, span: number): number {
  return Math.floor(atMs / span) * span;
}
