import type { SqlValue } from "#db/sql-writes.ts";
import { Cause } from "#domain/routing.ts";
import { type Column, columnOf, valueAt } from "#records/compact/columns.ts";
import { readContent } from "#records/compact/compact-record.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordEntry, RecordHead } from "./record-head.ts";
import type { SqlRow } from "./sql-connection.ts";

/** Numbers (`seq`) per millisecond. */
export const seqPerMs = 1024;

export function seqFrom(atMs: number): number {
  return Math.ceil(atMs) * seqPerMs;
}

/** The columns by which records are found; the rest is in the block. In the order of `rowOf`. */
export const recordColumns =
  "seq, decision_id, request_id, session, goal, task, model, tier, cause, rule, kind, alias, action, outcome, status, refused_by, error_class, cost_nano_usd, cost_state, repeated, block, line";

/** What is selected to make records of. */
export const selectedRecord = "r.seq, r.cost_nano_usd, r.cost_state, r.block, r.line";

export function rowOf(record: RecordHead, block: number, line: number): SqlValue[] {
  return [
    record.seq,
    record.decision_id,
    record.request_id,
    record.session,
    record.goal,
    record.task,
    record.model,
    record.tier,
    record.cause,
    record.rule,
    record.kind,
    record.alias,
    record.action,
    record.outcome,
    record.status,
    record.refused_by,
    record.error_class,
    record.cost_nano_usd,
    record.cost_state,
    record.repeated,
    block,
    line,
  ];
}

/** Records written together, as one compressed text: the columns of their contents. Base64. */
export async function blockOf(entries: readonly RecordEntry[]): Promise<string> {
  const text = JSON.stringify(columnOf(entries.map(({ content }) => content)));
  return (await Bun.zstdCompress(text, { level: 1 })).toString("base64");
}

/**
 * The record of a row. It is not validated, because only this program writes it. Records of older releases lack fields that were
 * added later, so readers must accept their absence. Undefined for a record that this release cannot read.
 */
export function recordOf(row: SqlRow): DecisionRecord | undefined {
  const content = valueAt((row["content"] ?? {}) as Column, Number(row["at"])); // as `withContents` has made it
  if (content === undefined) return undefined;
  const record = readContent(content);
  // A cause that this release does not know any more.
  if (record.cause !== null && !Cause.safeParse(record.cause).success) return undefined;
  record.seq = Number(row["seq"]);
  // The ledger may have learned more of the cost since it was written.
  record.cost_nano_usd = Number(row["cost_nano_usd"]);
  if (row["cost_state"] === "known" || row["cost_state"] === "estimated") record.cost_state = row["cost_state"];
  return record;
}
