import type { Statement, StoreValue } from "#db/store-database.ts";
import { LruMap } from "#platform/lru-map.ts";
import type { DecisionTokens } from "#records/decision-record.ts";
import { amountColumns, requestKeys, unprovenCost } from "#records/records.ts";
import type { StoredAttempt, StoredRecord } from "#records/stored-record.ts";

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Upper bounds of the histogram of times to the first token, in milliseconds; what is above the last has a bucket too. */
export const firstTokenBoundsMs = [100, 200, 350, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000] as const;
export const firstTokenColumns = [...firstTokenBoundsMs, 0].map((_, index) => `first_${index}` as const);
const sumColumns = [...amountColumns, ...firstTokenColumns];
type Amounts = { [N in (typeof amountColumns)[number]]: number } & { [N in `first_${number}`]?: number };
const noAmounts = Object.fromEntries(sumColumns.map((name) => [name, 0])) as Amounts; // one for each
type Keys = { [K in (typeof requestKeys)[number] | "name"]?: StoreValue };

/**
 * What is counted: requests by what happened to them, calls of models (`requests` are attempts, `failed` those without
 * an answer), secrets by their rule, requests by goal and by session. The last two by hour only, because callers choose
 * their names: so many of an hour, and all others together as `others`; a refused request gives no name a row.
 */
export type Dimension = "request" | "attempt" | "redaction" | CallersDimension;
type CallersDimension = "goal" | "session";
const maxNames = 1_000;
export const otherNames = "others";
/** What a row takes, about. */
export const sumBytes = 700;

const keyColumns = ["dimension", "span_ms", "at_ms", ...requestKeys, "name"];
/** A name is its own where there is room for it, or a row of it; the sums of others have no other keys. */
const callersName = `CASE WHEN ? = 1 OR EXISTS (SELECT 1 FROM decision_sum WHERE dimension = ? AND span_ms = ? AND at_ms = ?
    AND ${requestKeys.map((key) => (key === "status" ? "status = 0" : `${key} = ''`)).join(" AND ")} AND name = ?) THEN ? ELSE '${otherNames}' END`;
const upsertAs = (name: string) => `INSERT INTO decision_sum (${[...keyColumns, ...sumColumns].join(", ")}, last_ms)
  VALUES (${keyColumns.map((column) => (column === "name" ? name : "?")).join(", ")}, ${sumColumns.map(() => "?").join(", ")}, ?)
  ON CONFLICT (${keyColumns.join(", ")}) DO UPDATE SET
    ${sumColumns.map((name) => `${name} = decision_sum.${name} + excluded.${name}`).join(", ")},
    last_ms = CASE WHEN excluded.last_ms > decision_sum.last_ms THEN excluded.last_ms ELSE decision_sum.last_ms END`;
const upserts = { own: upsertAs("?"), callers: upsertAs(callersName) };

/** The names that this process has seen in the hours that it writes: a correction of an earlier hour finds its row, or joins the others. */
export class NamesOfHours {
  /** Of two dimensions, this hour and the one before. */
  readonly #hours = new LruMap<string, Set<string>>(4);

  hasRoom(dimension: string, hourMs: number, name: string): boolean {
    const names = this.#hours.get(`${dimension} ${hourMs}`) ?? new Set();
    this.#hours.set(`${dimension} ${hourMs}`, names);
    if (names.size < maxNames) names.add(name);
    return names.has(name);
  }
}

/** What is added to a row of the table. */
interface Sum {
  readonly span: number;
  readonly startMs: number;
  readonly keys: Keys;
  readonly amounts: Amounts;
  lastMs: number;
  /** Not all of it are refusals. */
  isServed: boolean;
}
/** Those of a batch, which are few. */
type Sums = { readonly [D in Dimension]: Sum[] };

/** Adds records to the sums, and takes the records that they replace out of them. */
export function sumStatements(
  records: readonly StoredRecord[],
  replaced: readonly StoredRecord[],
  names: NamesOfHours,
): readonly Statement[] {
  const sums: Sums = { request: [], attempt: [], redaction: [], goal: [], session: [] };
  for (const record of records) addRecord(sums, record, 1);
  for (const record of replaced) addRecord(sums, record, -1);
  return Object.entries(sums).flatMap(([dimension, ofMinutes]) => {
    const all: Sum[] = [...ofMinutes];
    // What is summed by minute is summed by hour too.
    for (const { span, keys, amounts, lastMs } of ofMinutes) {
      if (span !== minuteMs) continue;
      const hour = sumFor(all, hourMs, lastMs, keys).amounts;
      for (const column of sumColumns) hour[column] = (hour[column] ?? 0) + (amounts[column] ?? 0);
    }
    return all.map(({ span, startMs, keys, amounts, lastMs, isServed }): Statement => {
      const named = requestKeys.map((key) => keys[key] ?? (key === "status" ? 0 : ""));
      const values = sumColumns.map((column) => amounts[column] ?? 0);
      const row = [dimension, span, startMs] as const;
      const name = String(keys.name ?? "");
      if (dimension !== "goal" && dimension !== "session")
        return [upserts.own, ...row, ...named, name, ...values, lastMs];
      const hasRoom = replaced.length === 0 && isServed && names.hasRoom(dimension, startMs, name);
      return [upserts.callers, ...row, ...named, Number(hasRoom), ...row, name, name, ...values, lastMs];
    });
  });
}

/** The sum of what has these keys, in the span of that time. */
function sumFor(sums: Sum[], span: number, atMs: number, keys: Keys): Sum {
  const startMs = Math.floor(atMs / span) * span;
  let sum = sums.find((each) => each.startMs === startMs && each.span === span && isSame(each.keys, keys));
  if (sum === undefined) {
    sum = { span, startMs, keys, amounts: { ...noAmounts }, lastMs: 0, isServed: false };
    sums.push(sum);
  }
  sum.lastMs = Math.max(sum.lastMs, Math.round(atMs));
  return sum;
}

function isSame(a: Keys, b: Keys): boolean {
  for (const key of requestKeys) if (a[key] !== b[key]) return false;
  return a.name === b.name;
}

function addRecord(sums: Sums, record: StoredRecord, sign: 1 | -1): void {
  const { recorded_ms: atMs, goal, session, cause, outcome, status } = record;
  const [model, tier, label] = [record.served_by ?? record.model ?? "", record.tier ?? "", record.label ?? ""];
  const keys = { model, tier, cause: cause ?? "", outcome, status, refused_by: record.refused_by ?? "", label };
  addRequest(sumFor(sums.request, minuteMs, atMs, keys).amounts, record, sign);
  for (const [sum, name] of [[sums.goal, goal] as const, [sums.session, session] as const]) {
    if (name == null) continue;
    const named = sumFor(sum, hourMs, atMs, { name });
    named.isServed ||= outcome !== "refused";
    addRequest(named.amounts, record, sign);
  }
  for (const [at, attempt] of record.attempts.entries()) {
    const keys = { model: attempt.model, outcome: attempt.outcome, label };
    addAttempt(sumFor(sums.attempt, minuteMs, atMs, keys).amounts, attempt, at, record, sign);
  }
  for (const { rule, count } of record.redactions ?? []) {
    const { amounts } = sumFor(sums.redaction, minuteMs, atMs, { name: rule, label });
    amounts.requests += sign * count * (record.repeated ?? 1);
  }
}

function addRequest(sum: Amounts, record: StoredRecord, sign: 1 | -1): void {
  const { outcome, baseline_nano_usd: baseline, switched } = record;
  const [requests, cost] = [sign * (record.repeated ?? 1), sign * record.cost_nano_usd];
  sum.requests += requests;
  if (outcome === "refused") sum.refused += requests;
  if (outcome === "failed" || outcome === "broken_stream") sum.failed += requests;
  if (record.cost_state === "unknown") sum.cost_unknown += requests;
  sum.cost_nano_usd += cost;
  if (baseline != null) {
    sum.baseline_nano_usd += sign * baseline;
    sum.baseline_cost_nano_usd += cost - sign * unprovenCost(record);
  }
  if (switched != null) {
    sum.switches += sign;
    sum.switch_nano_usd += sign * switched.cost_nano_usd;
  }
  for (const { tokens } of record.attempts) addTokens(sum, tokens, sign);
  addFirstToken(sum, record.timings.first_token_ms, sign);
}

/** A retry counts at its model, a fail-over at the model that was left. */
function addAttempt(sum: Amounts, attempt: StoredAttempt, at: number, record: StoredRecord, sign: 1 | -1): void {
  const { model, purpose, outcome, tokens, first_token_ms } = attempt;
  const [before, after] = [record.attempts[at - 1], record.attempts[at + 1]];
  sum.requests += sign;
  if (outcome !== "answered" && outcome !== "aborted") sum.failed += sign;
  sum.cost_nano_usd += sign * (attempt.cost_nano_usd ?? 0);
  if (before !== undefined && before.purpose !== "SCOUT" && before.model === model) sum.retries += sign;
  if (purpose !== "SCOUT" && after !== undefined && after.model !== model) sum.fail_overs += sign;
  // A whole answer arrives at once: how long it took to write is not known.
  if (record.stream && outcome === "answered" && first_token_ms != null && tokens != null) {
    sum.output_ms += sign * Math.round(attempt.duration_ms - first_token_ms);
    sum.output_tokens += sign * tokens.completion;
  }
  addTokens(sum, tokens, sign);
  addFirstToken(sum, first_token_ms, sign);
}

function addTokens(sum: Amounts, tokens: DecisionTokens | null | undefined, sign: 1 | -1): void {
  sum.prompt_tokens += sign * (tokens?.prompt ?? 0);
  sum.cached_tokens += sign * (tokens?.cached ?? 0);
  sum.completion_tokens += sign * (tokens?.completion ?? 0);
}

function addFirstToken(sum: Amounts, firstMs: number | null | undefined, sign: 1 | -1): void {
  if (firstMs == null) return;
  let bucket = 0;
  while (firstMs > (firstTokenBoundsMs[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
  sum[`first_${bucket}`] = (sum[`first_${bucket}`] ?? 0) + sign;
}
