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

/** Replaces the block of each row by the row's line in it. Each block is decompressed once. */
export function withLines(rows: readonly SqlRow[]): readonly SqlRow[] {
  if (rows[0]?.["data"] === undefined) return rows;
  const blocks = new Map<string, (line: number) => string | undefined>();
  return rows.map(({ data, ...row }) => {
    const id = String(row["block"]);
    let lineOf = blocks.get(id);
    if (lineOf === undefined) {
      lineOf = linesOf(data);
      blocks.set(id, lineOf);
    }
    return { ...row, text: lineOf(Number(row["line"])) };
  });
}

/** Decodes only the lines that are asked for: with a filter there is often one per block. */
function linesOf(data: unknown): (line: number) => string | undefined {
  const packed = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array); // as the dialect gives it
  const bytes = Bun.zstdDecompressSync(packed);
  const starts = [0];
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) starts.push(at + 1);
  starts.push(bytes.length + 1);
  return (line) => {
    const [start, next] = [starts[line], starts[line + 1]];
    return start === undefined || next === undefined ? undefined : bytes.toString("utf8", start, next - 1);
  };
}

const newline = 10;
