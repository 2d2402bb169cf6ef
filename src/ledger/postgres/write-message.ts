import { integerLiteral, type PostgresRow, textArrayLiteral } from "#db/postgres.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import type { LedgerChanges } from "#ledger/rules/operations.ts";
import type { ReservationRow, ReservationState } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Rows as the server sends them and takes them, and as the rules have them. A bigint arrives as text. */

export const reservationColumns = `id, goal_account, day_account, key_account, hold, actual, source, state, model, node_id,
  node_epoch, created_ms, expires_ms, closed_ms`;

export function reservationOf(row: PostgresRow): ReservationRow {
  return {
    id: textOf(row, "id"),
    goalAccount: textOf(row, "goal_account"),
    dayAccount: textOf(row, "day_account"),
    keyAccount: row["key_account"] === null ? null : textOf(row, "key_account"),
    hold: numberOf(row, "hold"),
    actual: row["actual"] === null ? null : numberOf(row, "actual"),
    // Both columns are written from these types only, and `state` is checked by the table.
    source: row["source"] as ActualSource | null,
    state: row["state"] as ReservationState,
    model: textOf(row, "model"),
    nodeId: textOf(row, "node_id"),
    nodeEpoch: numberOf(row, "node_epoch"),
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
      const { id, state, actual, source, closedMs } = after;
      return { id, was, state, actual, source, closedMs };
    });
    statements.push(
      counted(
        rows.length,
        `UPDATE reservation SET state = v.state, actual = v.actual, source = v.source,
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
    const rows = accounts.map(({ before, after: { id, held, spent, overrun, unproven, hard } }) => {
      return { id, wasHeld: before.held, wasSpent: before.spent, held, spent, overrun, unproven, hard };
    });
    statements.push(
      counted(
        rows.length,
        `UPDATE account SET held = v.held, spent = v.spent, overrun = v.overrun, unproven = v.unproven, hard = v.hard
          FROM (${select(rows)}) AS v
          WHERE account.id = v.id AND account.held = v.was_held AND account.spent = v.was_spent`,
      ),
    );
  }
  return [...statements, "COMMIT"].join(";\n");
}

/** All other columns hold whole numbers. */
const textColumns = new Set(
  `id goal_account day_account key_account source state was model node_id reservation_id event reason generation_id`.split(
    " ",
  ),
);

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
    const values = rows.map((row) => (row as Record<string, string | number | null>)[key] ?? null);
    if (textColumns.has(column)) {
      return `unnest(${textArrayLiteral(values as readonly (string | null)[])}) AS ${column}`;
    }
    const literals = values.map((value) => (typeof value === "number" ? integerLiteral(value) : String(value)));
    return `unnest(CAST('{${literals.join(",")}}' AS bigint[])) AS ${column}`;
  });
  return `SELECT ${arrays.join(",\n")}`;
}

function counted(expected: number, update: string): string {
  return `WITH written AS (${update} RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = ${expected} THEN 1 ELSE 0 END) FROM written`;
}
