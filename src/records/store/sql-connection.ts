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
   * The same for rows with `block` and `line`: `content` has what that line of the block holds, as a column and the line in it
   * (`at`), because rows travel between threads as JSON, which has no `undefined`. Absent where the block is gone.
   */
  readWithContent(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}

/** The blocks that rows name, each once: it has a hundred times what a row needs of it. */
export function blocksIn(rows: readonly SqlRow[]): readonly number[] {
  return [...new Set(rows.map((row) => Number(row["block"])))];
}

/** From so many rows on a block travels between threads whole: taking it apart and writing it anew costs several times as much. */
const denseRows = 8;

/**
 * Adds to each row the content of its line in its block: a column, and its line in that (`at`). `blocks`: their `id` and `data`.
 * Each is decompressed once, those of many rows by `unpacked` on the other side.
 */
export function withContents(rows: readonly SqlRow[], blocks: readonly SqlRow[]): readonly SqlRow[] {
  const rowsOf = Map.groupBy(rows, (row) => Number(row["block"]));
  const packed = new Map<number, unknown>();
  const opened = new Map<number, Column>();
  for (const { id, data } of blocks) {
    const isDense = (rowsOf.get(Number(id))?.length ?? 0) >= denseRows;
    if (isDense) packed.set(Number(id), typeof data === "string" ? data : base64Of(data));
    else opened.set(Number(id), openBlock(data));
  }
  return rows.map((row) => {
    const id = Number(row["block"]);
    const whole = packed.get(id);
    // Once in all rows of the block.
    packed.delete(id);
    if (whole !== undefined) return { ...row, packed: whole };
    const block = opened.get(id);
    return block === undefined ? row : { ...row, content: columnOf([valueAt(block, Number(row["line"]))]), at: 0 };
  });
}

/** The same rows with the contents of the blocks that came whole. */
export function unpacked(rows: readonly SqlRow[]): readonly SqlRow[] {
  const opened = new Map<number, Column>();
  return rows.map(({ packed, ...row }) => {
    const id = Number(row["block"]);
    if (packed !== undefined) opened.set(id, openBlock(packed));
    const content = opened.get(id);
    return content === undefined ? row : { ...row, content, at: row["line"] };
  });
}

function base64Of(data: unknown): string {
  return Buffer.from(data as Uint8Array).toString("base64"); // as SQLite gives it
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
