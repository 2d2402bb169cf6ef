import type { SqlValue, SqlWrite } from "#db/sql-writes.ts";
import type { PageRequest, RecordFilter } from "#records/records.ts";
import type { RecordEntry, RecordHead } from "#records/store/record-head.ts";
import { hourOf, seqFrom, seqPerMs } from "#records/store/seq.ts";
import type { SqlConnection } from "#records/store/sql-connection.ts";
import type { SqlRow } from "#records/store/sql-row.ts";
import { blockOf, type IdKind } from "./record-block.ts";

/** Records of a block. Less, and each batch writes more heads; more, and a single record takes longer to read. */
const maxLines = 256;
/** Up to so many, a small batch is added to the block before. Each time all of its records are written again. */
const maxLinesAgain = 128;
/** Bytes that a block and its head take beside their texts. */
const headBytes = 150;
/** A record's number may be so many milliseconds later than it counts, where many records count at once. */
const seqDriftMs = 2_000;
/** Records with one hash of an id: all but the wanted one have it by chance. */
const sameHash = 8;

interface Times {
  readonly from: number;
  readonly to: number;
}

const allTimes: Times = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** A block that has room for more records. */
interface Unfilled {
  readonly id: number;
  readonly lastSeq: number;
  readonly entries: readonly RecordEntry[];
}

/** The records in blocks: of one process, which writes them one batch after the other, and of all that share its database. */
export class BlockRecords {
  readonly #sql: SqlConnection;
  /** The last block of this process; a small batch is added to it. Undefined while nobody knows whether it was written. */
  #unfilled: Unfilled | undefined;

  constructor(sql: SqlConnection) {
    this.#sql = sql;
  }

  /** Writes records, and whatever belongs into the same transaction. */
  async write(entries: readonly RecordEntry[], more: readonly SqlWrite[]): Promise<void> {
    let unfilled = this.#unfilled;
    const writes: SqlWrite[] = [];
    for (const group of grouped(entries)) {
      const added = unfilled !== undefined && fits(group, unfilled) ? unfilled : undefined;
      const all = added === undefined ? group : [...added.entries, ...group];
      const id = added?.id ?? seqOf(group[0]);
      const lastSeq = seqOf(group.at(-1));
      writes.push(...blockWrites(id, lastSeq, all, added !== undefined), ...openCostWrites(id, group));
      // Nothing is added to a full block, so its records need not live until the next one.
      unfilled = all.length < maxLinesAgain ? { id, lastSeq, entries: all } : undefined;
    }
    this.#unfilled = undefined;
    await this.#sql.write([...writes, ...more]);
    this.#unfilled = unfilled;
  }

  /** The rows of a page, and of one record more if there is one. */
  page(filter: RecordFilter, { before, after, limit }: PageRequest, fromSeq = 0): Promise<readonly SqlRow[]> {
    const { fromMs = 0, toMs, ...fields } = filter;
    return this.#sql.search({
      filter: fields,
      from: Math.max(seqFrom(fromMs), fromSeq, after === undefined ? 0 : after + 1),
      to: Math.min(toMs === undefined ? Number.MAX_SAFE_INTEGER : seqFrom(toMs), before ?? Number.MAX_SAFE_INTEGER),
      newestFirst: after === undefined,
      limit,
    });
  }

  /** The newest with that id, and some that only seem to have it. `from`, `to`: of their times, in milliseconds. */
  find(kind: IdKind, id: string, { from, to }: Times = allTimes): Promise<readonly SqlRow[]> {
    return this.#sql.search({
      filter: {},
      ids: { kind, anyOf: [id] },
      from: Math.max(0, seqFrom(from)),
      to: Math.min(seqFrom(to), Number.MAX_SAFE_INTEGER),
      newestFirst: true,
      limit: sameHash,
    });
  }

  /** Those that were written of records that may have been; some that only seem to be. */
  known(heads: readonly Pick<RecordHead, "decision_id" | "recorded_ms">[]): Promise<readonly SqlRow[]> {
    const times = heads.map(({ recorded_ms }) => recorded_ms);
    return this.#sql.search({
      filter: {},
      ids: { kind: "decision", anyOf: heads.map(({ decision_id }) => decision_id) },
      from: Math.floor(Math.min(...times)) * seqPerMs,
      to: seqFrom(Math.max(...times) + seqDriftMs),
      newestFirst: true,
      limit: heads.length * 2,
    });
  }

  /**
   * Deletes the oldest blocks, so many that they have `limit` records, where all of their records are from before `fromMs`, or
   * until `excess` bytes are deleted. Returns how many records it has deleted.
   */
  async prune(fromMs: number, excess: number, limit: number): Promise<number> {
    const oldest = await this.#sql.read(
      "SELECT id, last_seq, records, bytes FROM decision_block_head ORDER BY last_seq LIMIT ?",
      [limit],
    );
    const deleted: number[] = [];
    let [records, bytes] = [0, 0];
    for (const row of oldest) {
      if (records >= limit || (bytes >= excess && Number(row["last_seq"]) >= seqFrom(fromMs))) break;
      deleted.push(Number(row["id"]));
      records += Number(row["records"]);
      bytes += Number(row["bytes"]);
    }
    if (deleted.length === 0) return 0;
    const ids = `(${deleted.join(",")})`;
    if (deleted.includes(this.#unfilled?.id ?? -1)) this.#unfilled = undefined;
    await this.#sql.write([
      {
        // As they are now: another node may have deleted them meanwhile.
        sql: `UPDATE decision_store SET
                records = records - (SELECT COALESCE(SUM(h.records), 0) FROM decision_block_head h WHERE h.id IN ${ids}),
                bytes = bytes - (SELECT COALESCE(SUM(h.bytes), 0) FROM decision_block_head h WHERE h.id IN ${ids}) WHERE id = 1`,
        rows: [[]],
      },
      { sql: `DELETE FROM decision_block_head WHERE id IN ${ids}`, rows: [[]] },
      { sql: `DELETE FROM decision_block WHERE id IN ${ids}`, rows: [[]] },
      { sql: `DELETE FROM decision_late_cost WHERE block IN ${ids}`, rows: [[]] },
    ]);
    return records;
  }
}

function seqOf(entry: RecordEntry | undefined): number {
  return entry?.head.seq ?? 0; // no group is empty
}

/** The entries in their order, at most a block's together, and only those of one hour. */
function grouped(entries: readonly RecordEntry[]): readonly (readonly RecordEntry[])[] {
  return byHour(entries).flatMap((group) =>
    group.length <= maxLines
      ? [group]
      : Array.from({ length: Math.ceil(group.length / maxLines) }, (_, at) =>
          group.slice(at * maxLines, (at + 1) * maxLines),
        ),
  );
}

/** The entries in their order, those of an hour together. */
function byHour(entries: readonly RecordEntry[]): readonly (readonly RecordEntry[])[] {
  const isSorted = entries.every((entry, at) => at === 0 || seqOf(entries[at - 1]) <= seqOf(entry));
  const sorted = isSorted ? entries : entries.toSorted((a, b) => seqOf(a) - seqOf(b));
  if (hourOf(seqOf(sorted[0])) === hourOf(seqOf(sorted.at(-1)))) return [sorted];
  return [...Map.groupBy(sorted, (entry) => hourOf(seqOf(entry))).values()];
}

function fits(group: readonly RecordEntry[], { lastSeq, entries }: Unfilled): boolean {
  const first = seqOf(group[0]);
  return first > lastSeq && hourOf(first) === hourOf(lastSeq) && entries.length + group.length <= maxLinesAgain;
}

/** Writes a block, in place of the one with that id where it has been written with fewer records. */
function blockWrites(
  id: number,
  lastSeq: number,
  entries: readonly RecordEntry[],
  isAgain: boolean,
): readonly SqlWrite[] {
  const { data, terms, ids } = blockOf(entries);
  const bytes = Buffer.byteLength(data, "base64") + Buffer.byteLength(ids, "base64") + terms.length + headBytes;
  const before = (name: string) => `COALESCE((SELECT h.${name} FROM decision_block_head h WHERE h.id = ?), 0)`;
  return [
    {
      sql: isAgain
        ? `UPDATE decision_store SET records = records + ? - ${before("records")}, bytes = bytes + ? - ${before("bytes")} WHERE id = 1`
        : "UPDATE decision_store SET records = records + ?, bytes = bytes + ? WHERE id = 1",
      rows: [isAgain ? [entries.length, id, bytes, id] : [entries.length, bytes]],
    },
    ...(isAgain ? ["decision_block_head", "decision_block"] : []).map((table) => ({
      sql: `DELETE FROM ${table} WHERE id = ?`,
      rows: [[id]],
    })),
    {
      sql: "INSERT INTO decision_block_head (id, last_seq, records, bytes, terms, ids) VALUES (?)",
      rows: [[id, lastSeq, entries.length, bytes, terms, { blob: ids }]],
    },
    { sql: "INSERT INTO decision_block (id, last_seq, data) VALUES (?)", rows: [[id, lastSeq, { blob: data }]] },
  ];
}

/** The records whose cost is open, so that they are found without opening blocks. */
function openCostWrites(block: number, entries: readonly RecordEntry[]): readonly SqlWrite[] {
  const rows: SqlValue[][] = [];
  for (const { head } of entries) {
    if (head.cost_state === "unknown") rows.push([head.decision_id, head.seq, block, 0, head.cost_state]);
  }
  if (rows.length === 0) return [];
  return [
    { sql: "INSERT INTO decision_late_cost (decision_id, seq, block, delta_nano_usd, cost_state) VALUES (?)", rows },
  ];
}
