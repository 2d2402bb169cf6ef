import type { PageRequest, RecordFilter } from "#records/records.ts";
import { seqFrom } from "#records/store/seq.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";
import type { SqlRow } from "#records/store/sql-row.ts";
import { recordCondition, ruleSetsWith } from "./row-condition.ts";

/** Bytes of a record's row and index entries, without its part of the block. Measured over a million records. */
const rowBytes = 360;

const selectedRecord = "r.seq, r.cost_nano_usd, r.cost_state, r.block, r.line";

/** The records that earlier releases have written, with a row for each. They are read and deleted, and their costs corrected. */
export class RowRecords {
  readonly #sql: SqlConnection;

  constructor(sql: SqlConnection) {
    this.#sql = sql;
  }

  /** The rows of a page, and of one record more if there is one. */
  async page(
    filter: RecordFilter,
    { before, after, limit }: PageRequest,
    fromSeq?: number,
  ): Promise<readonly SqlRow[]> {
    const ruleSets = filter.rule === undefined ? undefined : await ruleSetsWith(this.#sql, filter.rule);
    const condition = recordCondition(filter, ruleSets);
    const values = [...condition.values];
    let where = condition.sql;
    for (const [comparison, seq] of [
      ["<", before],
      [">", after],
      [">=", fromSeq],
    ] as const) {
      if (seq === undefined) continue;
      where += ` AND r.seq ${comparison} ?`;
      values.push(seq);
    }
    const order = after === undefined ? "DESC" : "ASC";
    // The page first, then its rows: all that pass would be read and carried along while they are sorted.
    return this.#sql.readWithContent(
      `SELECT ${selectedRecord} FROM (SELECT r.seq FROM decision_record r WHERE ${where} ORDER BY r.seq ${order} LIMIT ?) page
       JOIN decision_record r ON r.seq = page.seq ORDER BY r.seq ${order}`,
      [...values, limit + 1],
    );
  }

  /** The newest with that id. */
  find(column: "decision_id" | "request_id", id: string): Promise<readonly SqlRow[]> {
    return this.#sql.readWithContent(
      `SELECT ${selectedRecord} FROM decision_record r WHERE r.${column} = ? ORDER BY r.seq DESC LIMIT 1`,
      [id],
    );
  }

  /** Deletes about `limit` of the oldest records, where they are from before `fromMs` or `tooMany`. Returns how many. */
  async prune(fromMs: number, tooMany: boolean, limit: number): Promise<number> {
    const oldest = await this.#sql.read("SELECT seq FROM decision_record ORDER BY seq LIMIT ?", [limit]);
    const old = tooMany ? oldest : oldest.filter((row) => Number(row["seq"]) < seqFrom(fromMs));
    const newest = old.at(-1);
    if (newest === undefined) return 0;
    const upTo = Number(newest["seq"]);
    const data = this.#sql.kind === "sqlite" ? "LENGTH(data)" : "OCTET_LENGTH(data)";
    const deleted = "(SELECT COUNT(*) FROM decision_record WHERE seq <= ?)";
    // Blocks with a head are not of these records. Others end behind their id, by which they are found.
    const blocks =
      "id <= ? AND last_seq <= ? AND NOT EXISTS (SELECT 1 FROM decision_block_head h WHERE h.id = decision_block.id)";
    await this.#sql.write([
      {
        sql: `UPDATE decision_store SET records = records - ${deleted}, bytes = bytes - ${deleted} * ?
                - (SELECT COALESCE(SUM(${data}), 0) FROM decision_block WHERE ${blocks}) WHERE id = 1`,
        rows: [[upTo, upTo, rowBytes, upTo, upTo]],
      },
      { sql: "DELETE FROM decision_record WHERE seq <= ?", rows: [[upTo]] },
      { sql: `DELETE FROM decision_block WHERE ${blocks}`, rows: [[upTo, upTo]] },
    ]);
    return old.length;
  }
}
