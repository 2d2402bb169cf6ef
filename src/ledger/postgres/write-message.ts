import { integerLiteral, textArrayLiteral, textLiteral } from "#db/postgres.ts";
import { maxUsd } from "#domain/money/money.ts";
import type { LedgerChanges } from "#ledger/rules/operations.ts";

/**
 * Stands for the time in statements that are written before it is known. Nothing else can look like it: literals have no
 * control characters.
 */
export const timePlaceholder = "\u0001";

/**
 * The second message. The rows are locked and their new values are decided, so each update also names the values it
 * expects; a row count that differs divides by zero, and the whole message is rolled back. `since`: what the times of the
 * changes are counted from, as SQL.
 */
export function writeMessage(changes: LedgerChanges, since?: string): string {
  const { accounts, inserted, updated, entries, lookups } = changes;
  const statements = ["RELEASE SAVEPOINT locked"];
  if (inserted.length > 0) statements.push(insertOf("reservation", inserted, since, insertedReservation));
  if (updated.length > 0) statements.push(updateOfReservations(updated, since));
  // Each kind of event on its own: most of their columns are then the same in all rows.
  for (const same of Map.groupBy(entries, ({ event }) => event).values()) {
    statements.push(insertOf("ledger_entry", same, since, insertedEntry));
  }
  if (lookups.length > 0) {
    const insert = insertOf("generation_lookup", lookups, since, insertedLookup);
    statements.push(`${insert} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  if (accounts.length > 0) statements.push(updateOfAccounts(accounts, since));
  statements.push("COMMIT");
  return statements.join(";\n");
}

function updateOfReservations(updated: LedgerChanges["updated"], since: string | undefined): string {
  const { source, value } = rowsOf(updated, since, updatedReservation);
  return counted(
    updated.length,
    `UPDATE reservation SET state = ${value.state}, actual = ${value.actual}, source = ${value.source},
      dispatched = ${value.dispatched}, closed_ms = ${value.closed_ms}
      FROM ${source} WHERE reservation.id = ${value.id} AND reservation.state = ${value.was}`,
  );
}

function updateOfAccounts(accounts: LedgerChanges["accounts"], since: string | undefined): string {
  const { source, value } = rowsOf(accounts, since, updatedAccount);
  return counted(
    accounts.length,
    `UPDATE account SET held = ${value.held}, spent = ${value.spent}, overrun = ${value.overrun}, hard = ${value.hard}
      FROM ${source} WHERE account.id = ${value.id} AND account.held = ${value.was_held}
        AND least(account.spent, ${maxUsd}) = ${value.was_spent}`,
  );
}

type Column<Row> =
  | readonly ["text", (row: Row) => string | null]
  | readonly ["bigint", (row: Row) => number | null]
  | readonly ["boolean", (row: Row) => boolean]
  /** Milliseconds, counted from `since`. */
  | readonly ["moment", (row: Row) => number | null];
type Columns<Name extends string, Row> = Readonly<Record<Name, Column<Row>>>;

/** An element of a list of the ledger's changes. */
type Changed<List extends keyof LedgerChanges> = LedgerChanges[List][number];

const insertedReservation = {
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
  created_ms: ["moment", (row) => row.createdMs],
  expires_ms: ["moment", (row) => row.expiresMs],
  closed_ms: ["moment", (row) => row.closedMs],
} satisfies Columns<string, Changed<"inserted">>;

/** `was` is expected, the rest is written. */
const updatedReservation = {
  id: ["text", ({ after }) => after.id],
  was: ["text", ({ before }) => before.state],
  state: ["text", ({ after }) => after.state],
  actual: ["bigint", ({ after }) => after.actual],
  source: ["text", ({ after }) => after.source],
  dispatched: ["boolean", ({ after }) => after.dispatched],
  closed_ms: ["moment", ({ after }) => after.closedMs],
} satisfies Columns<string, Changed<"updated">>;

const insertedEntry = {
  reservation_id: ["text", (entry) => entry.reservationId],
  event: ["text", (entry) => entry.event],
  held: ["bigint", (entry) => entry.held],
  spent: ["bigint", (entry) => entry.spent],
  overrun: ["bigint", (entry) => entry.overrun],
  reason: ["text", (entry) => entry.reason],
  node_id: ["text", (entry) => entry.nodeId],
  at_ms: ["moment", (entry) => entry.atMs],
} satisfies Columns<string, Changed<"entries">>;

const insertedLookup = {
  reservation_id: ["text", (row) => row.reservationId],
  generation_id: ["text", (row) => row.generationId],
  next_ms: ["moment", (row) => row.nextMs],
} satisfies Columns<string, Changed<"lookups">>;

/** `was_held` and `was_spent` are expected, the rest is written. */
const updatedAccount = {
  id: ["text", ({ after }) => after.id],
  was_held: ["bigint", ({ before }) => before.held],
  was_spent: ["bigint", ({ before }) => before.spent],
  held: ["bigint", ({ after }) => after.held],
  spent: ["bigint", ({ after }) => after.spent],
  overrun: ["bigint", ({ after }) => after.overrun],
  hard: ["bigint", ({ after }) => after.hard],
} satisfies Columns<string, Changed<"accounts">>;

function insertOf<Row>(
  table: string,
  rows: readonly Row[],
  since: string | undefined,
  columns: Columns<string, Row>,
): string {
  const values = Object.values(columns).map((column, index) => sqlOf(column, rows, since, index === 0).sql);
  return `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) SELECT ${values.join(",\n")}`;
}

/** Rows to join with: `value` is how a statement writes each column. */
function rowsOf<Name extends string, Row>(
  rows: readonly Row[],
  since: string | undefined,
  columns: Columns<Name, Row>,
): { source: string; value: Readonly<Record<Name, string>> } {
  const selected: string[] = [];
  const values = Object.entries<Column<Row>>(columns).map(([name, column]) => {
    const { sql, varies } = sqlOf(column, rows, since, selected.length === 0);
    if (varies) selected.push(`${sql} AS ${name}`);
    return [name, varies ? `v.${name}` : sql];
  });
  // An entry for each of the columns, which have these names.
  const value = Object.fromEntries(values) as Record<Name, string>;
  return { source: `(SELECT ${selected.join(",\n")}) AS v`, value };
}

/**
 * A column of many rows in a select list: an array to unnest, as the server parses 256 rows of literals several times slower.
 * (In the select list, arrays of the same length advance together, and their rows are not stored before they are used.) What
 * is the same in all rows is sent once, unless it must vary, so that there are as many rows as there should be.
 */
function sqlOf<Row>(
  [type, get]: Column<Row>,
  rows: readonly Row[],
  since: string | undefined,
  mustVary: boolean,
): { sql: string; varies: boolean } {
  const read: (row: Row) => string | number | boolean | null = get;
  const values = rows.map(read);
  const [first = null] = values;
  const varies = mustVary || values.some((one) => one !== first);
  const sql = varies ? `unnest(${arrayOf(type, values)})` : literalOf(first);
  return {
    sql: type === "moment" && since !== undefined && (varies || first !== null) ? `${since} + ${sql}` : sql,
    varies,
  };
}

function arrayOf(type: Column<never>[0], values: readonly (string | number | boolean | null)[]): string {
  switch (type) {
    case "text":
      // Read from a column of texts.
      return textArrayLiteral(values as (string | null)[]);
    case "bigint":
    case "moment":
      return `CAST('{${(values as (number | null)[]).map(integerLiteral).join(",")}}' AS bigint[])`;
    case "boolean":
      return `CAST('{${values.join(",")}}' AS boolean[])`;
  }
}

function literalOf(value: string | number | boolean | null): string {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? textLiteral(value) : integerLiteral(value);
}

function counted(expected: number, update: string): string {
  return `WITH written AS (${update} RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = ${expected} THEN 1 ELSE 0 END) FROM written`;
}

export function hasChanges({ accounts, inserted, updated, entries }: LedgerChanges): boolean {
  return accounts.length + inserted.length + updated.length + entries.length > 0;
}
