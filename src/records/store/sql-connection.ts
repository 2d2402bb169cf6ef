import type { WriteTransaction } from "#db/sql-writes.ts";

/** A row as the database gives it: a bigint may be text. */
export type SqlRow = Record<string, unknown>;

/** The database that holds the records. SQL with `?` for values, and no more than both dialects understand. */
export interface SqlConnection {
  readonly kind: "sqlite" | "postgres";
  /**
   * Rows of a query. Where they have `data`, the content of a block, and `line`, the block is opened and `text` has that line.
   * Rejects when the database does not answer.
   */
  read(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}

/** Rows with the lines of their blocks in the place of the blocks, each of which is opened once. */
export function withLines(rows: readonly SqlRow[]): readonly SqlRow[] {
  if (rows[0]?.["data"] === undefined) return rows;
  const blocks = new Map<string, readonly string[]>();
  return rows.map(({ data, ...row }) => {
    const id = String(row["block"]);
    let lines = blocks.get(id);
    if (lines === undefined) {
      lines = linesOf(data);
      blocks.set(id, lines);
    }
    return { ...row, text: lines[Number(row["line"])] };
  });
}

function linesOf(data: unknown): readonly string[] {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array); // as the dialect gives it
  return Bun.zstdDecompressSync(bytes).toString("utf8").split("\n");
}
