import type { Database } from "bun:sqlite";

/** `blob` is base64, so that a write is JSON. */
export type SqlValue = string | number | null | { readonly blob: string };

/** One statement, run for each row, with `?` for each value. In `VALUES (?)` the `(?)` is replaced by the whole row. */
export interface SqlWrite {
  readonly sql: string;
  readonly rows: readonly (readonly SqlValue[])[];
}

/** Runs writes as one transaction, all or none of them. */
export type WriteTransaction = (writes: readonly SqlWrite[]) => Promise<void>;

/** Rows that one insert takes; more are divided. */
const rowsPerInsert = 16;
const rowMarker = "VALUES (?)";

/**
 * Writes without a sync to disk: a power failure may lose them, but never half of them. On a connection that syncs, the next commit
 * makes them durable. Throws when the database is busy or full; then nothing was written.
 */
export function runSqliteWrites(db: Database, writes: readonly SqlWrite[]): void {
  db.run("PRAGMA synchronous = NORMAL");
  try {
    db.run("BEGIN IMMEDIATE");
    for (const { sql, rows } of writes) runRows(db, sql, rows);
    db.run("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  } finally {
    db.run("PRAGMA synchronous = FULL");
  }
}

function runRows(db: Database, sql: string, rows: SqlWrite["rows"]): void {
  const width = rows[0]?.length ?? 0;
  if (!sql.includes(rowMarker)) {
    for (const row of rows) db.query(sql).run(...row.map(bound));
    return;
  }
  const one = `(${"?,".repeat(width).slice(0, -1)})`;
  for (let at = 0; at < rows.length; ) {
    const count = rows.length - at >= rowsPerInsert ? rowsPerInsert : 1;
    const values: (string | number | null | Uint8Array)[] = [];
    for (const row of rows.slice(at, at + count)) for (const value of row) values.push(bound(value));
    // Two forms of each statement, so that both stay prepared.
    db.query(sql.replace(rowMarker, `VALUES ${Array(count).fill(one).join(",")}`)).run(...values);
    at += count;
  }
}

function bound(value: SqlValue): string | number | null | Uint8Array {
  return typeof value === "object" && value !== null ? Buffer.from(value.blob, "base64") : value;
}
