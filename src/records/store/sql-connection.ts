import type { WriteTransaction } from "#db/sql-writes.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordFilter } from "#records/records.ts";
import type { FilterField } from "./filter.ts";

export type Dialect = "sqlite" | "postgres";
export type SqlRow = Readonly<Record<string, unknown>>;
export type SqlRead = readonly [sql: string, values: readonly (string | number)[]];

/** Which of a record's ids. */
export type IdKind = "decision" | "request";

/** Which records are wanted. Travels between threads as JSON. */
export interface BlockSearch {
  /** Without its times, which are in the numbers. */
  readonly filter: Pick<RecordFilter, FilterField>;
  readonly ids?: { readonly kind: IdKind; readonly anyOf: readonly string[] };
  /** `seq`: from inclusive, to exclusive. */
  readonly from: number;
  readonly to: number;
  readonly newestFirst: boolean;
  /** Records of a page (as `pageLength`); one more is found where there is one. */
  readonly limit: number;
}

/** The database that holds the records. SQL with `?` for values, and no more than both dialects understand. */
export interface SqlConnection {
  readonly kind: Dialect;
  /** Rows of a query. Rejects when the database does not answer. */
  read(sql: string, values?: readonly (string | number)[]): Promise<readonly SqlRow[]>;
  /** What `searchBlocks` finds. */
  search(search: BlockSearch): Promise<readonly DecisionRecord[]>;
  readonly write: WriteTransaction;
  close(): Promise<void>;
}
