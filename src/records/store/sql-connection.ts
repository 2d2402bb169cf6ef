import type { WriteTransaction } from "#db/sql-writes.ts";
import { lineOf } from "#records/compact/columns.ts";
import type { BlockSearch, FoundInBlocks } from "./blocks/block-search.ts";
import { type OpenBlock, openBlock } from "./blocks/record-block.ts";

import type { SqlRow } from "./sql-row.ts";
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
  /** What `searchBlocks` finds: its rows, with their contents. */
  search(search: BlockSearch): Promise<readonly SqlRow[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}

/** The blocks that rows name, each once: it has a hundred times what a row needs of it. */
export function blocksIn(rows: readonly SqlRow[]): readonly number[] {
  return [...new Set(rows.map((row) => Number(row["block"])))];
}

/** From so many rows on a block travels between threads whole: taking it apart and writing it anew costs several times as much. */
const denseRows = 8;

/** What `withContents` makes of rows that travel no further. */
export function contentsOf({ rows, opened }: Pick<FoundInBlocks, "rows" | "opened">): readonly SqlRow[] {
  return rows.map((row) => {
    const block = opened.get(Number(row["block"]));
    return block === undefined ? row : { ...row, content: block.contents, at: row["line"] };
  });
}

/**
 * Adds to each row the content of its line in its block: a column, and its line in that (`at`). Blocks of many rows travel as they
 * are, in one of their rows, for `unpacked` on the other side.
 */
export function withContents({ rows, packed, opened }: FoundInBlocks): readonly SqlRow[] {
  const rowsOf = Map.groupBy(rows, (row) => Number(row["block"]));
  const sent = new Set<number>();
  return rows.map((row) => {
    const id = Number(row["block"]);
    if ((rowsOf.get(id)?.length ?? 0) >= denseRows) {
      if (sent.has(id)) return row;
      sent.add(id);
      return { ...row, packed: base64Of(packed.get(id)) };
    }
    const block = opened.get(id);
    return block === undefined ? row : { ...row, content: lineOf(block.contents, Number(row["line"])), at: 0 };
  });
}

/** The same rows with the contents of the blocks that came whole. */
export function unpacked(rows: readonly SqlRow[]): readonly SqlRow[] {
  const opened = new Map<number, OpenBlock>();
  return rows.map(({ packed, ...row }) => {
    const id = Number(row["block"]);
    const whole = packed === undefined ? undefined : openBlock(packed);
    if (whole !== undefined) opened.set(id, whole);
    const block = opened.get(id);
    return block === undefined ? row : { ...row, content: block.contents, at: row["line"] };
  });
}

/** Rows with their blocks (`id`, `data`), each opened once. */
export function openedFor(rows: readonly SqlRow[], blocks: readonly SqlRow[]): FoundInBlocks {
  const packed = new Map(blocks.map(({ id, data }) => [Number(id), data]));
  const opened = new Map<number, OpenBlock>();
  for (const [id, data] of packed) {
    const block = openBlock(data);
    if (block !== undefined) opened.set(id, block);
  }
  return { rows, packed, opened };
}

function base64Of(data: unknown): string {
  return typeof data === "string" ? data : Buffer.from(data as Uint8Array).toString("base64"); // as the dialect gives it
}
