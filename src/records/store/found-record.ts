import { Cause } from "#domain/routing.ts";
import { type Column, valueAt } from "#records/compact/columns.ts";
import { readContent } from "#records/compact/compact-record.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { SqlRow } from "./sql-row.ts";

/**
 * The record of a row with its content. It is not validated, because only this program writes it. Records of older releases lack
 * fields that were added later, so readers must accept their absence. Undefined for a record that this release cannot read.
 */
export function recordOf(row: SqlRow): DecisionRecord | undefined {
  const content = valueAt((row["content"] ?? {}) as Column, Number(row["at"])); // as `withContents` has made it
  if (content === undefined) return undefined;
  const record = readContent(content);
  // A cause that this release does not know any more.
  if (record.cause !== null && !Cause.safeParse(record.cause).success) return undefined;
  record.seq = Number(row["seq"]);
  // The ledger may have learned more of the cost since it was written.
  if (row["cost_nano_usd"] != null) record.cost_nano_usd = Number(row["cost_nano_usd"]);
  record.cost_nano_usd += Number(row["delta_nano_usd"] ?? 0);
  if (row["cost_state"] === "known" || row["cost_state"] === "estimated") record.cost_state = row["cost_state"];
  return record;
}
