import { columnOf } from "#records/compact/columns.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { headOf } from "#records/store/record-head.ts";
import { sumWrites } from "#records/store/record-sums.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";

/** Writes records as the releases did that had a row for each: what they left must be read. */
export async function writeRows(sql: SqlConnection, records: readonly DecisionRecord[]): Promise<void> {
  const heads = records.map(headOf);
  const [first] = heads;
  if (first === undefined) return;
  const text = JSON.stringify(columnOf(records));
  const data = (await Bun.zstdCompress(text, { level: 1 })).toString("base64");
  const last = heads.reduce((newest, { seq }) => Math.max(newest, seq), 0);
  const bytes = Buffer.byteLength(data, "base64") + heads.length * 360;
  const columns = [
    ...["seq", "decision_id", "request_id", "session", "goal", "task", "model", "tier", "cause", "rule", "kind"],
    ...["alias", "action", "outcome", "status", "refused_by", "error_class", "cost_nano_usd", "cost_state", "repeated"],
  ] as const;
  await sql.write([
    {
      sql: `INSERT INTO decision_record (${columns.join(", ")}, block, line) VALUES (?)`,
      rows: heads.map((head, line) => [...columns.map((name) => head[name as keyof typeof head]), first.seq, line]),
    },
    { sql: "INSERT INTO decision_block (id, last_seq, data) VALUES (?)", rows: [[first.seq, last, { blob: data }]] },
    ...sumWrites(heads),
    {
      sql: "UPDATE decision_store SET records = records + ?, bytes = bytes + ? WHERE id = 1",
      rows: [[heads.length, bytes]],
    },
  ]);
}
