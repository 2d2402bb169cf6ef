import { integerLiteral, type PostgresRow, textArrayLiteral } from "#db/postgres.ts";
import { maxUsd } from "#domain/money/money.ts";
import type { ActualSource } from "#ledger/ledger.ts";
import { saturatedAccount } from "#ledger/rules/accounts.ts";
import type { LedgerChanges } from "#ledger/rules/operations.ts";
import type { AccountRow, ReservationRow, ReservationState } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Rows as the server sends them and takes them, and as the rules have them. A bigint arrives as text. */

export const accountColumns = "id, held, spent, overrun, hard, own_hard";

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

export function hasChanges({ accounts, inserted, updated, entries }: LedgerChanges): boolean {
  return accounts.length + inserted.length + updated.length + entries.length > 0;
}

/**
 * The second message of a batch. The rows are locked and their new values are decided, so each update also names the values it
 * expects; a row count that differs divides by zero, and the whole message is rolled back.
 */
export function writeMessage({ accounts, inserted, updated, entries, lookups }: LedgerChanges): string {
  const statements = ["RELEASE SAVEPOINT locked"];
  if (inserted.length > 0) statements.push(insert("reservation", inserted, reservationColumns));
  if (updated.length > 0) {
    statements.push(
      counted(
        updated.length,
        `UPDATE reservation SET state = v.state, actual = v.actual, source = v.source, dispatched = v.dispatched,
          closed_ms = v.closed_ms FROM (${select(updated, updatedColumns)}) AS v
          WHERE reservation.id = v.id AND reservation.state = v.was`,
      ),
    );
  }
  if (entries.length > 0) statements.push(insert("ledger_entry", entries, entryColumns));
  if (lookups.length > 0) {
    statements.push(`${insert("generation_lookup", lookups, lookupColumns)} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  if (accounts.length > 0) {
    statements.push(
      counted(
        accounts.length,
        `UPDATE account SET held = v.held, spent = v.spent, overrun = v.overrun, hard = v.hard
          FROM (${select(accounts, accountChangeColumns)}) AS v
          WHERE account.id = v.id AND account.held = v.was_held AND least(account.spent, ${maxUsd}) = v.was_spent`,
      ),
    );
  }
  return [...statements, "COMMIT"].join(";\n");
}

type Columns<Row> = Readonly<
  Record<
    string,
    | readonly ["text", (row: Row) => string | null]
    | readonly ["bigint", (row: Row) => number | null]
    | readonly ["boolean", (row: Row) => boolean]
  >
>;

/** An element of a list of the ledger's changes. */
type Changed<List extends keyof LedgerChanges> = LedgerChanges[List][number];

const reservationColumns: Columns<Changed<"inserted">> = {
  id: ["text", (row) => row.id],
  request_id: ["text", (row) => row.requestId],
  attempt: ["bigint", (row) => row.attempt],
  goal_account: ["text", (row) => row.goalAccount],
  day_account: ["text", (row) => row.dayAccount],
  hold: ["bigint", (row) => row.hold],
  actual: ["bigint", (row) => row.actual],
  source: ["text", (row) => row.source],
  state: ["text", (row) => row.state],
  model: ["text", (row) => row.model],
  node_id: ["text", (row) => row.nodeId],
  node_epoch: ["bigint", (row) => row.nodeEpoch],
  dispatched: ["boolean", (row) => row.dispatched],
  created_ms: ["bigint", (row) => row.createdMs],
  expires_ms: ["bigint", (row) => row.expiresMs],
  closed_ms: ["bigint", (row) => row.closedMs],
};
export const reservationColumnNames = Object.keys(reservationColumns).join(", ");

/** `was` is expected, the rest is written. */
const updatedColumns: Columns<Changed<"updated">> = {
  id: ["text", ({ after }) => after.id],
  was: ["text", ({ before }) => before.state],
  state: ["text", ({ after }) => after.state],
  actual: ["bigint", ({ after }) => after.actual],
  source: ["text", ({ after }) => after.source],
  dispatched: ["boolean", ({ after }) => after.dispatched],
  closed_ms: ["bigint", ({ after }) => after.closedMs],
};

const entryColumns: Columns<Changed<"entries">> = {
  reservation_id: ["text", (entry) => entry.reservationId],
  event: ["text", (entry) => entry.event],
  held: ["bigint", (entry) => entry.held],
  spent: ["bigint", (entry) => entry.spent],
  overrun: ["bigint", (entry) => entry.overrun],
  reason: ["text", (entry) => entry.reason],
  node_id: ["text", (entry) => entry.nodeId],
  at_ms: ["bigint", (entry) => entry.atMs],
};

const lookupColumns: Columns<Changed<"lookups">> = {
  reservation_id: ["text", (row) => row.reservationId],
  generation_id: ["text", (row) => row.generationId],
  next_ms: ["bigint", (row) => row.nextMs],
};

/** `was_held` and `was_spent` are expected, the rest is written. */
const accountChangeColumns: Columns<Changed<"accounts">> = {
  id: ["text", ({ after }) => after.id],
  was_held: ["bigint", ({ before }) => before.held],
  was_spent: ["bigint", ({ before }) => before.spent],
  held: ["bigint", ({ after }) => after.held],
  spent: ["bigint", ({ after }) => after.spent],
  overrun: ["bigint", ({ after }) => after.overrun],
  hard: ["bigint", ({ after }) => after.hard],
};

function insert<Row>(table: string, rows: readonly Row[], columns: Columns<Row>): string {
  return `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) ${select(rows, columns)}`;
}

/** Rows as arrays to unnest side by side: the server parses literals of many rows several times slower. */
function select<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const arrays = Object.entries(columns).map(([name, [type, get]]) => {
    const read: (row: Row) => string | number | boolean | null = get;
    const values = rows.map(read);
    // Read from a column of texts.
    if (type === "text") return `unnest(${textArrayLiteral(values as readonly (string | null)[])}) AS ${name}`;
    const literals = values.map((value) => (typeof value === "number" ? integerLiteral(value) : String(value)));
    return `unnest(CAST('{${literals.join(",")}}' AS ${type}[])) AS ${name}`;
  });
  return `SELECT ${arrays.join(",\n")}`;
}

function counted(expected: number, update: string): string {
  return `WITH written AS (${update} RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = ${expected} THEN 1 ELSE 0 END) FROM written`;
}
