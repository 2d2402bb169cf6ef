import { integerLiteral, type PostgresRow, textArrayLiteral } from "#db/postgres.ts";
import { maxUsd } from "#domain/money/money.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import type { LedgerChanges } from "#ledger/rules/operations.ts";
import type { ReservationRow, ReservationState } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Rows as the server sends them and takes them, and as the rules have them. A bigint arrives as text. */

export const accountColumns = "id, held, spent, overrun, hard, own_hard";
export const reservationColumnNames = `id, request_id, attempt, goal_account, day_account, hold, actual, source, state, model, node_id,
  node_epoch, dispatched, created_ms, expires_ms, closed_ms`;

export function reservationOf(row: PostgresRow): ReservationRow {
  return {
    id: textOf(row, "id"),
    requestId: textOf(row, "request_id"),
    attempt: numberOf(row, "attempt"),
    goalAccount: textOf(row, "goal_account"),
    dayAccount: textOf(row, "day_account"),
    hold: numberOf(row, "hold"),
    actual: row["actual"] === null ? null : numberOf(row, "actual"),
    // Both columns are written from these types only, and `state` is checked by the table.
    source: row["source"] as ActualSource | null,
    state: row["state"] as ReservationState,
    model: textOf(row, "model"),
    nodeId: textOf(row, "node_id"),
    nodeEpoch: numberOf(row, "node_epoch"),
    dispatched: row["dispatched"] === true,
    createdMs: numberOf(row, "created_ms"),
    expiresMs: numberOf(row, "expires_ms"),
    closedMs: row["closed_ms"] === null ? null : numberOf(row, "closed_ms"),
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

/**
 * The second message of a batch. The rows are locked and their new values are decided, so each update also names the values it
 * expects (`was`); a row count that differs divides by zero, and the whole message is rolled back.
 */
export function writeMessage({ accounts, inserted, updated, entries, lookups }: LedgerChanges): string {
  const statements = ["RELEASE SAVEPOINT locked"];
  if (inserted.length > 0) statements.push(insert("reservation", inserted));
  if (updated.length > 0) {
    const rows = updated.map(({ before: { state: was }, after }) => {
      const { id, state, actual, source, dispatched, closedMs } = after;
      return { id, was, state, actual, source, dispatched, closedMs };
    });
    statements.push(
      counted(
        rows.length,
        `UPDATE reservation SET state = v.state, actual = v.actual, source = v.source, dispatched = v.dispatched,
          closed_ms = v.closed_ms FROM (${select(rows)}) AS v
          WHERE reservation.id = v.id AND reservation.state = v.was`,
      ),
    );
  }
  if (entries.length > 0) statements.push(insert("ledger_entry", entries));
  if (lookups.length > 0) {
    statements.push(`${insert("generation_lookup", lookups)} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  if (accounts.length > 0) {
    const rows = accounts.map(({ before, after: { id, held, spent, overrun, hard } }) => {
      return { id, wasHeld: before.held, wasSpent: before.spent, held, spent, overrun, hard };
    });
    statements.push(
      counted(
        rows.length,
        `UPDATE account SET held = v.held, spent = v.spent, overrun = v.overrun, hard = v.hard FROM (${select(rows)}) AS v
          WHERE account.id = v.id AND account.held = v.was_held AND least(account.spent, ${maxUsd}) = v.was_spent`,
      ),
    );
  }
  return [...statements, "COMMIT"].join(";\n");
}

/** The types of columns that hold no numbers. */
const otherTypes = new Map([
  ["dispatched", "boolean"],
  ...["id", "request_id", "goal_account", "day_account", "source", "state", "was", "model", "node_id"].map(asText),
  ...["reservation_id", "event", "reason", "generation_id"].map(asText),
]);

function asText(column: string): [string, string] {
  return [column, "text"];
}

function columnsOf(row: object): { key: string; column: string }[] {
  return Object.keys(row).map((key) => ({
    key,
    column: key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));
}

function insert(table: string, rows: readonly object[]): string {
  const columns = columnsOf(rows[0] ?? {}).map(({ column }) => column);
  return `INSERT INTO ${table} (${columns.join(", ")}) ${select(rows)}`;
}

/** Rows as arrays to unnest side by side: the server parses literals of many rows several times slower. */
function select(rows: readonly object[]): string {
  const arrays = columnsOf(rows[0] ?? {}).map(({ key, column }) => {
    // All rows are of one type, whose values are these.
    const values = rows.map((row) => (row as Record<string, string | number | boolean | null>)[key] ?? null);
    const type = otherTypes.get(column) ?? "bigint";
    if (type === "text") return `unnest(${textArrayLiteral(values as readonly (string | null)[])}) AS ${column}`;
    const literals = values.map((value) => (typeof value === "number" ? integerLiteral(value) : String(value)));
    return `unnest(CAST('{${literals.join(",")}}' AS ${type}[])) AS ${column}`;
  });
  return `SELECT ${arrays.join(",\n")}`;
}

function counted(expected: number, update: string): string {
  return `WITH written AS (${update} RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = ${expected} THEN 1 ELSE 0 END) FROM written`;
}
