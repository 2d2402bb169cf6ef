import type { WriteTransaction } from "#db/sql-writes.ts";
import { type Column, columnOf, valueAt } from "#records/compact/columns.ts";

/** A row as the database gives it: a bigint may be text. */
export type SqlRow = Record<string, unknown>;

/** The database that holds the records. SQL with `?` for values, and no more than both dialects understand. */
export interface SqlConnection {
  readonly kind: "sqlite" | "postgres";
  /**
   * Rows of a query. Where they have `data`, a block, and `line`, the block is opened and `content` has what that line holds, as
   * a column of one line: rows travel between threads as JSON, which has no `undefined`.
   * Rejects when the database does not answer.
   */
  read(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}

/** Replaces the block of each row by the content of the row's line in it. Each block is decompressed once. */
export function withContents(rows: readonly SqlRow[]): readonly SqlRow[] {
  if (rows[0]?.["data"] === undefined) return rows;
  const blocks = new Map<string, Column>();
  return rows.map(({ data, ...row }) => {
    const id = String(row["block"]);
    let block = blocks.get(id);
    if (block === undefined) {
      block = openBlock(data);
      blocks.set(id, block);
    }
    return { ...row, content: columnOf([valueAt(block, Number(row["line"]))]) };
  });
}

function openBlock(data: unknown): Column {
  const packed = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array); // as the dialect gives it
  try {
    return JSON.parse(Bun.zstdDecompressSync(packed).toString("utf8")) as Column; // only `blockOf` writes blocks
  } catch {
    // Another release wrote it in a form of its own: its records are left out.
    return {};
  }
}
