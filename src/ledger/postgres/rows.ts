import type { PostgresRow } from "#db/postgres.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import { saturatedAccount } from "#ledger/rules/accounts.ts";
import type { AccountRow, ReservationRow, ReservationState } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Rows as the server sends them, and as the rules read them. A bigint arrives as text. */

export const accountColumns = "id, held, spent, overrun, hard, own_hard";
export const reservationColumns = `id, request_id, attempt, goal_account, day_account, hold, actual, source, state, model, node_id,
  node_epoch, dispatched, created_ms, expires_ms, closed_ms`;

export function accountOf(row: PostgresRow): AccountRow {
  return saturatedAccount({
    id: textOf(row, "id"),
    held: Number(row["held"]),
    spent: Number(row["spent"]),
    overrun: Number(row["overrun"]),
    hard: row["hard"] === null ? null : Number(row["hard"]),
    ownHard: row["own_hard"] === null ? null : Number(row["own_hard"]),
  });
}

export function reservationOf(row: PostgresRow): ReservationRow {
  return {
    id: textOf(row, "id"),
    requestId: textOf(row, "request_id"),
    attempt: numberOf(row, "attempt"),
    goalAccount: textOf(row, "goal_account"),
    dayAccount: textOf(row, "day_account"),
    hold: numberOf(row, "hold"),
    actual: maybeNumberOf(row, "actual"),
    // Both columns are written from these types only, and `state` is checked by the table.
    source: row["source"] as ActualSource | null,
    state: row["state"] as ReservationState,
    model: textOf(row, "model"),
    nodeId: textOf(row, "node_id"),
    nodeEpoch: numberOf(row, "node_epoch"),
    dispatched: row["dispatched"] === true,
    createdMs: numberOf(row, "created_ms"),
    expiresMs: numberOf(row, "expires_ms"),
    closedMs: maybeNumberOf(row, "closed_ms"),
  };
}

export function textOf(row: PostgresRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new StoreFailure("transient", `column ${column} is not text`);
  return value;
}

export function numberOf(row: PostgresRow | undefined, column: string): number {
  const value = Number(row?.[column]);
  if (!Number.isSafeInteger(value)) throw new StoreFailure("transient", `column ${column} is not a whole number`);
  return value;
}

function maybeNumberOf(row: PostgresRow, column: string): number | null {
  return row[column] === null ? null : numberOf(row, column);
}
