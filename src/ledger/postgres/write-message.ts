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
 * The second message of a batch. The rows are locked and their new values are decided, so each update also names values
 * that it expects; a row count that differs divides by zero, and the whole message is rolled back.
 */
export function writeMessage(changes: LedgerChanges, last: string): string {
  const { accounts, shares, grants, inserted, updated, entries, lookups } = changes;
  const statements = ["RELEASE SAVEPOINT locked"];
  if (inserted.length > 0) statements.push(insert("reservation", inserted));
  statements.push(...update("reservation", ["id"], ["state"], ["actual", "source", "closedMs"], updated));
  if (entries.length > 0) statements.push(insert("ledger_entry", entries));
  if (lookups.length > 0) {
    statements.push(`${insert("generation_lookup", lookups)} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  statements.push(
    ...update("account", ["id"], ["held", "spent"], ["overrun", "unproven", "hard"], accounts),
    ...update("account", ["id"], ["granted"], ["hard"], grants),
    ...update("account_share", ["account", "slot"], ["held", "spent", "granted"], ["overrun", "unproven"], shares),
  );
  return [...statements, last, "COMMIT"].join(";\n");
}

/** Writes the fields `checked` and `others` of rows that still have the values of `checked` from before: all rows, or none. */
function update<Row extends object, Field extends keyof Row & string>(
  table: string,
  keys: readonly Field[],
  checked: readonly Field[],
  others: readonly Field[],
  changes: readonly { readonly before: Row; readonly after: Row }[],
): string[] {
  if (changes.length === 0) return [];
  const written = [...checked, ...others];
  const rows = changes.map(({ before, after }) => ({
    ...Object.fromEntries([...keys, ...written].map((field) => [field, after[field]])),
    ...Object.fromEntries(checked.map((field) => [`was_${field}`, before[field]])),
  }));
  const conditions = [
    ...keys.map((field) => `${table}.${field} = v.${field}`),
    ...checked.map((field) => `${table}.${field} = v.was_${field}`),
  ];
  const sets = written.map(columnOf).map((column) => `${column} = v.${column}`);
  // A row count that differs divides by zero.
  return [
    `WITH written AS (UPDATE ${table} SET ${sets.join(", ")} FROM (${select(rows)}) AS v
       WHERE ${conditions.join(" AND ")} RETURNING 1)
     SELECT 1 / (CASE WHEN count(*) = ${rows.length} THEN 1 ELSE 0 END) FROM written`,
  ];
}

/** All other columns hold whole numbers. */
const textColumns = new Set(
  `id account goal_account day_account key_account source state was_state model node_id reservation_id event reason generation_id`.split(
    " ",
  ),
);

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function insert(table: string, rows: readonly object[]): string {
  const columns = Object.keys(rows[0] ?? {}).map(columnOf);
  return `INSERT INTO ${table} (${columns.join(", ")}) ${select(rows)}`;
}

/** Rows as arrays to unnest side by side: the server parses literals of many rows several times slower. */
function select(rows: readonly object[]): string {
  const arrays = Object.keys(rows[0] ?? {}).map((field) => {
    const column = columnOf(field);
    // All rows are of one type, whose values are these.
    const values = rows.map((row) => (row as Record<string, string | number | null>)[field] ?? null);
    if (textColumns.has(column)) {
      return `unnest(${textArrayLiteral(values as readonly (string | null)[])}) AS ${column}`;
    }
    const literals = values.map((value) => (typeof value === "number" ? integerLiteral(value) : String(value)));
    return `unnest(CAST('{${literals.join(",")}}' AS bigint[])) AS ${column}`;
  });
  return `SELECT ${arrays.join(",\n")}`;
}
