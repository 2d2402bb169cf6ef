import type { Database } from "bun:sqlite";

/** `blob` is base64, so that a write can be JSON. */
export type SqlValue = string | number | null | { readonly blob: string };

/** One statement, run for each row, with `?` for each value. In `VALUES (?)` the `(?)` is replaced by the whole row. */
export interface SqlWrite {
  readonly sql: string;
  readonly rows: readonly (readonly SqlValue[])[];
}

/** Runs writes as one transaction, all or none of them. */
export type WriteTransaction = (writes: readonly SqlWrite[]) => Promise<void>;

/**
 * Rows that one statement inserts: the rest of a write is divided among the smaller ones, all of which stay prepared. Few and small,
 * as those of the ledger are, because bound texts occupy memory that all statements of the connection need.
 */
const rowsPerInsert = [8, 2, 1] as const;
const rowMarker = "VALUES (?)";

/** Appends writes to one array, which a thread receives at a fraction of the cost of nested ones: `sql, rows, columns, values …` each. */
export function pushWrites(flat: SqlValue[], writes: readonly SqlWrite[]): void {
  for (const { sql, rows } of writes) {
    flat.push(sql, rows.length, rows[0]?.length ?? 0);
    for (const row of rows) for (const value of row) flat.push(value);
  }
}

/**
 * Writes that may be lost with the power, but never half: without a sync to disk. On the connection of a part that syncs,
 * they become durable with its next commit. Throws when the database is busy or full; then nothing was written.
 */
export function runSqliteWrites(db: Database, writes: readonly SqlWrite[]): void {
  const flat: SqlValue[] = [];
  pushWrites(flat, writes);
  runFlatWrites(db, flat, 0);
}

/** `runSqliteWrites` with what `pushWrites` appended from that place on. */
export function runFlatWrites(db: Database, flat: readonly SqlValue[], from: number): void {
  // Takes effect when it is compiled, so it cannot be prepared.
  db.run("PRAGMA synchronous = NORMAL");
  try {
    db.query("BEGIN IMMEDIATE").run();
    for (let at = from; at < flat.length; ) {
      // As `pushWrites` wrote them.
      const [sql, rows, columns] = flat.slice(at, at + 3) as [string, number, number];
      const values = flat.slice(at + 3, at + 3 + rows * columns).map(bound);
      runRows(db, sql, rows, columns, values);
      at += 3 + values.length;
    }
    db.query("COMMIT").run();
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  } finally {
    db.run("PRAGMA synchronous = FULL");
  }
}

type Bound = string | number | null | Uint8Array;

function runRows(db: Database, sql: string, count: number, columns: number, values: readonly Bound[]): void {
  if (!sql.includes(rowMarker)) {
    const statement = db.query(sql);
    for (let row = 0; row < count; row++) statement.run(...values.slice(row * columns, (row + 1) * columns));
    return;
  }
  const row = `(${"?,".repeat(columns).slice(0, -1)})`;
  let from = 0;
  for (const rows of rowsPerInsert) {
    if (count - from < rows) continue;
    const statement = db.query(sql.replace(rowMarker, `VALUES ${Array(rows).fill(row).join(",")}`));
    for (; count - from >= rows; from += rows) statement.run(...values.slice(from * columns, (from + rows) * columns));
  }
}

function bound(value: SqlValue): Bound {
  return typeof value === "object" && value !== null ? Buffer.from(value.blob, "base64") : value;
}
