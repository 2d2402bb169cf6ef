import type { WriteTransaction } from "#db/sql-writes.ts";
import { type Column, columnOf, valueAt } from "#records/compact/columns.ts";

/** A row as the database gives it: a bigint may be text. */
export type SqlRow = Record<string, unknown>;

/** The database that holds the records. SQL with `?` for values, and no more than both dialects understand. */
export interface SqlConnection {
  readonly kind: "sqlite" | "postgres";
  /** Rows of a query. Rejects when the database does not answer. */
  read(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  /**
   * The same for rows with `block` and `line`: `content` has what that line of the block holds, as a column of one line, because
   * rows travel between threads as JSON, which has no `undefined`. An empty column where the block is gone.
   */
  readWithContent(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}

/** The blocks that rows name, each once: it has a hundred times what a row needs of it. */
export function blocksIn(rows: readonly SqlRow[]): readonly number[] {
  return [...new Set(rows.map((row) => Number(row["block"])))];
}

/** Adds to each row the content of its line in its block. `blocks`: their `id` and `data`. Each is decompressed once. */
export function withContents(rows: readonly SqlRow[], blocks: readonly SqlRow[]): readonly SqlRow[] {
  const opened = new Map(blocks.map(({ id, data }) => [Number(id), openBlock(data)]));
  return rows.map((row) => {
    const block = opened.get(Number(row["block"]));
    return { ...row, content: block === undefined ? {} : columnOf([valueAt(block, Number(row["line"]))]) };
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
