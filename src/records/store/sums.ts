import type { Statement, StoreValue } from "#db/store-database.ts";
import type { DecisionAttempt, DecisionRecord } from "#records/decision-record.ts";
import { amountColumns, requestKeys } from "#records/records.ts";

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Upper bounds of the histogram of times to the first token, in milliseconds; what is above the last has a bucket too. */
export const firstTokenBoundsMs = [100, 200, 350, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000] as const;
export const firstTokenColumns = [...firstTokenBoundsMs, 0].map((_, index) => `first_${index}`);
const sumColumns = [...amountColumns, ...firstTokenColumns];
const noAmounts = sumColumns.map(() => 0);
type Amounts = { [N in (typeof amountColumns)[number]]?: number };
type Keys = { [K in (typeof requestKeys)[number] | "name"]?: StoreValue };

/**
 * What is counted: requests by what happened to them, calls of models (`requests` are attempts, `failed` those without an answer),
 * secrets by their rule, requests by goal and by session. The last two by hour only, because their names are many.
 */
export type Dimension = "request" | "attempt" | "redaction" | "goal" | "session";

const keyColumns = ["dimension", "span_ms", "at_ms", ...requestKeys, "name"];
const upsert = `INSERT INTO decision_sum (${[...keyColumns, ...sumColumns].join(", ")}, last_ms)
  VALUES (${[...keyColumns, ...sumColumns].map(() => "?").join(", ")}, ?)
  ON CONFLICT (${keyColumns.join(", ")}) DO UPDATE SET
    ${sumColumns.map((name) => `${name} = decision_sum.${name} + excluded.${name}`).join(", ")},
    last_ms = CASE WHEN excluded.last_ms > decision_sum.last_ms THEN excluded.last_ms ELSE decision_sum.last_ms END`;

type Key = readonly StoreValue[];
type Sums = Map<string, { readonly key: Key; readonly amounts: number[]; lastMs: number }>;

/** Adds records to the sums, and takes the records that they replace out of them. */
export function sumStatements(
  records: readonly DecisionRecord[],
  replaced: readonly DecisionRecord[] = [],
): readonly Statement[] {
  const sums: Sums = new Map();
  for (const record of records) addRecord(sums, record, 1);
  for (const record of replaced) addRecord(sums, record, -1);
  // What is summed by minute is summed by hour too.
  for (const { key, amounts, lastMs } of [...sums.values()]) {
    const [dimension = "", span, atMs, ...names] = key;
    if (span === minuteMs)
      addSum(sums, [dimension, hourMs, spanStart(hourMs, Number(atMs)), ...names], amounts, lastMs);
  }
  return [...sums.values()].map(({ key, amounts, lastMs }) => [upsert, ...key, ...amounts, lastMs]);
}

function addRecord(sums: Sums, record: DecisionRecord, sign: 1 | -1): void {
  const { recorded_ms: atMs, model, served_by, cause, outcome, status, repeated } = record;
  const [tier, refused_by, label] = [record.tier ?? "", record.refused_by ?? "", record.label ?? ""];
  const add = (dimension: Dimension, keys: Keys, amounts: readonly number[]) => {
    const span = dimension === "goal" || dimension === "session" ? hourMs : minuteMs;
    const names = [...requestKeys.map((key) => keys[key] ?? (key === "status" ? 0 : "")), keys.name ?? ""];
    addSum(sums, [dimension, span, spanStart(span, atMs), ...names], amounts, Math.round(atMs));
  };
  const amounts = listed(amountsIn(record), record.timings.first_token_ms, sign);
  const happened = { model: served_by ?? model ?? "", tier, cause: cause ?? "", outcome, status, refused_by, label };
  add("request", happened, amounts);
  for (const name of ["goal", "session"] as const) {
    const value = record[name];
    if (value !== null) add(name, { name: value }, amounts);
  }
  for (const [at, attempt] of record.attempts.entries()) {
    const keys = { model: attempt.model, outcome: attempt.outcome, label };
    add("attempt", keys, listed(attemptAmounts(attempt, record, at), attempt.first_token_ms, sign));
  }
  for (const { rule, count } of record.redactions) {
    add("redaction", { name: rule, label }, listed({ requests: count * repeated }, null, sign));
  }
}

function addSum(sums: Sums, key: Key, added: readonly number[], lastMs: number): void {
  const id = key.join("\n");
  const sum = sums.get(id);
  if (sum === undefined) {
    sums.set(id, { key, amounts: added.slice(), lastMs });
    return;
  }
  for (let at = 0; at < added.length; at++) sum.amounts[at] = (sum.amounts[at] ?? 0) + (added[at] ?? 0);
  sum.lastMs = Math.max(sum.lastMs, lastMs);
}

function spanStart(span: number, atMs: number): number {
  return Math.floor(atMs / span) * span;
}

/** In the order of the columns. */
function listed(amounts: Amounts, firstMs: number | null, sign: 1 | -1): readonly number[] {
  const values = noAmounts.slice();
  let at = 0;
  for (const column of amountColumns) values[at++] = sign * (amounts[column] ?? 0);
  if (firstMs !== null) values[amountColumns.length + bucketOf(firstMs)] = sign;
  return values;
}

function bucketOf(firstMs: number): number {
  const bucket = firstTokenBoundsMs.findIndex((bound) => firstMs <= bound);
  return bucket === -1 ? firstTokenBoundsMs.length : bucket;
}

function amountsIn(record: DecisionRecord): Amounts {
  const { repeated, outcome, cost_nano_usd: cost, baseline_nano_usd: baseline, tokens, switched } = record;
  return {
    requests: repeated,
    refused: outcome === "refused" ? repeated : 0,
    failed: outcome === "failed" || outcome === "broken_stream" ? repeated : 0,
    cost_unknown: record.cost_state === "unknown" ? repeated : 0,
    cost_nano_usd: cost,
    baseline_nano_usd: baseline ?? 0,
    baseline_cost_nano_usd: baseline === null ? 0 : cost,
    prompt_tokens: tokens?.prompt ?? 0,
    cached_tokens: tokens?.cached ?? 0,
    completion_tokens: tokens?.completion ?? 0,
    switches: switched === null ? 0 : 1,
    switch_nano_usd: switched?.cost_nano_usd ?? 0,
  };
}

/** A retry counts at its model, a fail-over at the model that was left. */
function attemptAmounts(attempt: DecisionAttempt, { attempts, stream }: DecisionRecord, at: number): Amounts {
  const { outcome, tokens, duration_ms, first_token_ms } = attempt;
  const isScout = attempt.purpose === "SCOUT";
  const [before, after] = [attempts[at - 1], attempts[at + 1]];
  // A whole answer arrives at once: how long it took to write is not known.
  const isTimed = stream && outcome === "answered" && first_token_ms !== null && tokens !== null;
  return {
    requests: 1,
    failed: outcome === "answered" || outcome === "aborted" ? 0 : 1,
    cost_nano_usd: attempt.cost_nano_usd ?? 0,
    prompt_tokens: tokens?.prompt ?? 0,
    cached_tokens: tokens?.cached ?? 0,
    completion_tokens: tokens?.completion ?? 0,
    retries: before?.purpose === "EXECUTE" && before.model === attempt.model ? 1 : 0,
    fail_overs: !isScout && after !== undefined && after.model !== attempt.model ? 1 : 0,
    output_ms: isTimed ? Math.round(duration_ms - first_token_ms) : 0,
    output_tokens: isTimed ? tokens.completion : 0,
  };
}
