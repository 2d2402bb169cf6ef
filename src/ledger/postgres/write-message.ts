import { integerLiteral, type PostgresRow, textArrayLiteral } from "#db/postgres.ts";
import type { LedgerChanges } from "#ledger/rules/operations.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Rows as the server sends them and takes them, and as the rules have them. A bigint arrives as text. */

export const reservationColumns = `id, goal_account, day_account, key_account, slot, hold, actual, source, state, model,
  node_id, node_epoch, created_ms, expires_ms, closed_ms`;

/** A row as the rules have it. The columns that a query selects are the fields of its type. */
export function recordOf<T>(row: PostgresRow): T {
  const fields = Object.keys(row).map((column) => {
    const field = column.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
    if (row[column] === null) return [field, null];
    return [field, textColumns.has(column) ? textOf(row, column) : numberOf(row, column)];
  });
  return Object.fromEntries(fields) as T;
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
export function writeMessage(changes: LedgerChanges, last: string): string {
  const { accounts, shares, grants, inserted, updated, entries, lookups } = changes;
  const statements = ["RELEASE SAVEPOINT locked"];
  if (inserted.length > 0) statements.push(insert("reservation", inserted));
  const reservations = updated.map(({ before: { state: was }, after }) => {
    const { id, state, actual, source, closedMs } = after;
    return { id, was, state, actual, source, closedMs };
  });
  statements.push(...update("reservation", ["id"], { state: "was" }, reservations));
  if (entries.length > 0) statements.push(insert("ledger_entry", entries));
  if (lookups.length > 0) {
    statements.push(`${insert("generation_lookup", lookups)} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  const balances = accounts.map(({ before, after: { id, held, spent, overrun, unproven, hard } }) => {
    return { id, wasHeld: before.held, wasSpent: before.spent, held, spent, overrun, unproven, hard };
  });
  const taken = shares.map(({ before, after }) => {
    return { ...after, wasHeld: before.held, wasSpent: before.spent, wasGranted: before.granted };
  });
  const wasTaken = { held: "was_held", spent: "was_spent" };
  statements.push(
    ...update("account", ["id"], wasTaken, balances),
    ...update("account", ["id"], { granted: "was_granted" }, grants),
    ...update("account_share", ["account", "slot"], { ...wasTaken, granted: "was_granted" }, taken),
  );
  return [...statements, last, "COMMIT"].join(";\n");
}

/** All columns of the rows but their keys and those that hold what is expected, where it is there: all rows, or none. */
function update(table: string, keys: readonly string[], expected: Record<string, string>, rows: readonly object[]) {
  if (rows.length === 0) return [];
  const were = Object.entries(expected);
  const columns = columnsOf(rows[0] ?? {}).flatMap(({ column }) => column);
  const written = columns.filter((column) => !keys.includes(column) && !were.some(([, was]) => was === column));
  const conditions = [...keys.map((key) => [key, key] as const), ...were];
  return [
    counted(
      rows.length,
      `UPDATE ${table} SET ${written.map((column) => `${column} = v.${column}`).join(", ")} FROM (${select(rows)}) AS v
        WHERE ${conditions.map(([column, value]) => `${table}.${column} = v.${value}`).join(" AND ")}`,
    ),
  ];
}

/** All other columns hold whole numbers. */
const textColumns = new Set(
  `id account goal_account day_account key_account source state was model node_id reservation_id event reason generation_id`.split(
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
