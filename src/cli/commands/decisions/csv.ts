import type { DecisionRecord } from "#records/decision-record.ts";

/** What a spreadsheet gets of a record: a row of plain values. */
const columns: readonly (readonly [name: string, value: (record: DecisionRecord) => unknown])[] = [
  ["received", ({ at_ms }) => new Date(at_ms).toISOString()],
  // When it ended, which orders the rows; `--since` and `--until` are about it.
  ["recorded", ({ recorded_ms }) => new Date(recorded_ms).toISOString()],
  ["decision_id", ({ decision_id }) => decision_id],
  ["request_id", ({ request_id }) => request_id],
  ["session", ({ session }) => session],
  ["goal", ({ goal }) => goal],
  ["task", ({ task }) => task],
  ["route", ({ route }) => route],
  ["alias", ({ alias }) => alias],
  ["stream", ({ stream }) => stream],
  ["action", ({ action }) => action],
  ["model", ({ model }) => model],
  ["served_by", ({ served_by }) => served_by],
  ["upstream_host", ({ upstream_host }) => upstream_host],
  ["tier", ({ tier }) => tier],
  ["cause", ({ cause }) => cause],
  ["rule", ({ rule }) => rule],
  ["kind", ({ kind }) => kind],
  ["score", ({ score }) => score],
  ["status", ({ status }) => status],
  ["outcome", ({ outcome }) => outcome],
  ["refused_by", ({ refused_by }) => refused_by],
  ["error_class", ({ error_class }) => error_class],
  ["attempts", ({ attempts }) => attempts.length],
  ["prompt_tokens", ({ tokens }) => tokens?.prompt],
  ["cached_tokens", ({ tokens }) => tokens?.cached],
  ["completion_tokens", ({ tokens }) => tokens?.completion],
  ["reasoning_tokens", ({ tokens }) => tokens?.reasoning],
  ["hold_nano_usd", ({ hold_nano_usd }) => hold_nano_usd],
  ["cost_nano_usd", ({ cost_nano_usd }) => cost_nano_usd],
  ["cost_state", ({ cost_state }) => cost_state],
  ["baseline_nano_usd", ({ baseline_nano_usd }) => baseline_nano_usd],
  ["decision_ms", ({ timings }) => timings.decision_ms],
  ["first_token_ms", ({ timings }) => timings.first_token_ms],
  ["total_ms", ({ timings }) => timings.total_ms],
  ["redactions", ({ redactions }) => redactions.reduce((sum, { count }) => sum + count, 0)],
  ["policy_hash", ({ policy_hash }) => policy_hash],
  ["repeated", ({ repeated }) => repeated],
];

export const csvHead = `${columns.map(([name]) => name).join(",")}\n`;

export function csvLine(record: DecisionRecord): string {
  return `${columns.map(([, value]) => cell(value(record))).join(",")}\n`;
}

/** RFC 4180. Text that a spreadsheet would take for a formula gets an apostrophe before it: ids are the caller's. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
