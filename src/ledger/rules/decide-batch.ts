import { goalAccountOf, spendOf } from "./accounts.ts";
import { reserve } from "./admission.ts";
import type {
  BatchReply,
  LedgerBatch,
  LedgerChanges,
  LedgerTime,
  LedgerView,
  Operation,
  OperationReply,
} from "./operations.ts";
import { cancel, expire, orphan, resolve } from "./state-machine.ts";
import { WorkingRows } from "./working-rows.ts";

/**
 * The rules of the ledger, pure: what a batch of operations does to the rows it touches. Each store locks and reads the
 * rows, calls `decideBatch`, and writes the changes in the same transaction; so no store has rules of its own.
 *
 * Operations are applied in their order; the caller puts resolutions before what asks for money. Throws for no input that the types allow.
 */
export function decideBatch(
  batch: LedgerBatch,
  view: LedgerView,
  time: LedgerTime,
): { readonly reply: BatchReply; readonly changes: LedgerChanges } {
  const rows = new WorkingRows(view, batch.node, time);
  const replies = batch.operations.map((operation) => apply(rows, operation));
  const reply = { replies, accounts: rows.touchedAccounts(), day: time.day, notices: rows.notices };
  return { reply, changes: rows.changes() };
}

function apply(rows: WorkingRows, operation: Operation): OperationReply {
  switch (operation.kind) {
    case "reserve":
      return reserve(rows, operation.reservation);
    case "resolve":
      return resolve(rows, operation.resolution);
    case "read": {
      const goalRow = rows.account(goalAccountOf(operation.goal, rows.time.day));
      return { kind: "spend", spend: spendOf(rows.time.day, goalRow, rows.account(rows.dayAccount)) };
    }
    case "cancel":
      return cancel(rows, operation.id);
    case "expire":
      return expire(rows, operation.id);
    case "orphan":
      return orphan(rows, operation.id);
  }
}
