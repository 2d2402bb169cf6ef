import type { SqlWrite } from "#db/sql-writes.ts";
import { chargedOf, partsOfReservationId, type ReservationState } from "#ledger/rules/rows.ts";
import type { CostState, DecisionRecord } from "#records/decision-record.ts";
import type {
  PageRequest,
  RecordFilter,
  RecordGroup,
  RecordPage,
  RecordSeries,
  RecordSummary,
  RollupFilter,
  SeriesRequest,
  TimeRange,
} from "#records/records.ts";
import { BlockRecords } from "./blocks/block-records.ts";
import { recordOf } from "./found-record.ts";
import { headOf, type RecordEntry, type RecordHead } from "./record-head.ts";
import { correctionWrites, hourMs, minuteMs, sumWrites } from "./record-sums.ts";
import { RowRecords } from "./rows/row-records.ts";
import { type SearchRange, searchRange } from "./search-range.ts";
import { oldestSeq, pageLength, seqFrom, seqPerMs } from "./seq.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { SqlRow } from "./sql-row.ts";
import { groupsOf, minutesKeptMs, seriesOf, summaryOf } from "./summaries.ts";

/** How long hourly sums are kept, whatever the retention of the records. */
const hoursKeptMs = 400 * 86_400_000;
const exportPage = 500;

/** A policy and a model registry that decisions were made by. */
export interface StoredConfig {
  readonly hash: string;
  readonly atMs: number;
  /** JSON. */
  readonly config: string;
}

/** The final cost of one attempt, as the ledger learned it later. */
export interface CostCorrection {
  readonly decisionId: string;
  /** Its number in the reservation's id. */
  readonly attempt: number;
  readonly costNanoUsd: number;
  readonly state: CostState;
}

/** A reservation that has been closed, in the ledger's words. */
interface ClosedReservation {
  readonly requestId: string;
  readonly attempt: number;
  readonly state: ReservationState;
  /** In nano-USD. */
  readonly charged: number;
}

/** What a closed reservation says of its record. */
export function correctionOf({ requestId, attempt, state, charged }: ClosedReservation): CostCorrection {
  return {
    decisionId: requestId,
    attempt,
    costNanoUsd: charged,
    state: state === "EXPIRED_CHARGED" ? "estimated" : "known",
  };
}

export interface OpenCosts {
  readonly corrections: readonly CostCorrection[];
  /** Behind which decision id the next look begins; empty when this one has seen all there are. */
  readonly next: string;
}

/** The numbers that an attempt may have: the scout's is 1, and the policy allows ten more. */
const attemptNumbers = Array.from({ length: 11 }, (_, index) => index + 1);

/** The records of all nodes in a database. Every method rejects when the database does not answer. */
export class RecordStore {
  readonly #sql: SqlConnection;
  readonly #blocks: BlockRecords;
  readonly #rows: RowRecords;

  /** Salt of the hashes that stand for conversations; different in each database. */
  readonly salt: number;

  static async open(sql: SqlConnection): Promise<RecordStore> {
    const [row] = await sql.read("SELECT salt FROM decision_store");
    return new RecordStore(sql, Number(row?.["salt"] ?? 0));
  }

  private constructor(sql: SqlConnection, salt: number) {
    this.#sql = sql;
    this.#blocks = new BlockRecords(sql);
    this.#rows = new RowRecords(sql);
    this.salt = salt;
  }

  get kind(): "sqlite" | "postgres" {
    return this.#sql.kind;
  }

  /** Writes new records with their sums, in one transaction. */
  append(records: readonly DecisionRecord[]): Promise<void> {
    return this.write(records.map((record) => ({ head: headOf(record), content: record })));
  }

  /** As `append`, for records in the form in which they are written. */
  async write(entries: readonly RecordEntry[]): Promise<void> {
    if (entries.length > 0) await this.#blocks.write(entries, sumWrites(entries.map(({ head }) => head)));
  }

  /** The decision ids of those that have been written; for a batch that was sent and got no answer. */
  async known(heads: readonly Pick<RecordHead, "decision_id" | "recorded_ms">[]): Promise<ReadonlySet<string>> {
    const asked = new Set(heads.map(({ decision_id }) => decision_id));
    const known = recordsOf(await this.#blocks.known(heads)).map(({ decision_id }) => decision_id);
    return new Set(known.filter((id) => asked.has(id)));
  }

  async query(filter: RecordFilter, page: PageRequest): Promise<RecordPage> {
    const { fromSeq, more }: SearchRange =
      page.after === undefined ? await searchRange(this.#sql, filter, page) : { more: true };
    let rows: readonly SqlRow[] = [];
    if (fromSeq !== undefined) rows = await this.#page(filter, page, fromSeq);
    // Fewer than the sums count: floods of refusals have one record for many requests.
    if (more && rows.length <= pageLength(rows, page.limit)) rows = await this.#page(filter, page);
    const length = pageLength(rows, page.limit);
    const records = recordsOf(rows.slice(0, length));
    const { requestId } = filter;
    return {
      // In blocks they are found by a hash of it.
      records: requestId === undefined ? records : records.filter(({ request_id }) => request_id === requestId),
      more: rows.length > length,
    };
  }

  /** The rows of a page, and of one record more if there is one. */
  async #page(filter: RecordFilter, page: PageRequest, fromSeq?: number): Promise<readonly SqlRow[]> {
    const rows = await Promise.all([this.#blocks.page(filter, page, fromSeq), this.#rows.page(filter, page, fromSeq)]);
    const sorted = rows.flat().toSorted(page.after === undefined ? newestFirst : (a, b) => newestFirst(b, a));
    return sorted.slice(0, pageLength(sorted, page.limit) + 1);
  }

  /** All records that pass, the oldest first, in batches; reads one batch ahead of what is consumed. */
  async *export(filter: RecordFilter): AsyncGenerator<readonly DecisionRecord[]> {
    const pageAfter = (after: number) => {
      const page = this.query(filter, { after, limit: exportPage });
      page.catch(() => {}); // A consumer that awaits the page gets the error; one that has stopped does not await it.
      return page;
    };
    for (let next: Promise<RecordPage> | undefined = pageAfter(0); next !== undefined; ) {
      const { records, more }: RecordPage = await next;
      const last: number | undefined = records.at(-1)?.seq;
      next = more && last !== undefined ? pageAfter(last) : undefined;
      if (records.length > 0) yield records;
    }
  }

  /** By decision id, else the newest with that request id. */
  async get(id: string): Promise<DecisionRecord | undefined> {
    return (await this.#find(id))?.record;
  }

  async #find(id: string): Promise<FoundRecord | undefined> {
    const row = await this.#rowOf(id);
    const record = row === undefined ? undefined : recordOf(row);
    if (row !== undefined && record !== undefined) {
      const corrections = await this.#corrections(record.decision_id);
      const attempts = record.attempts.map((attempt) => {
        const cost = corrections.get(attempt.number);
        return cost === undefined ? attempt : { ...attempt, cost_nano_usd: cost, cost_source: "ledger" };
      });
      // Only rows have the cost itself.
      const block = "cost_nano_usd" in row ? undefined : Number(row["block"]);
      return { record: { ...record, attempts, reported: await this.#reported(record.decision_id) }, block };
    }
    return undefined;
  }

  async #rowOf(id: string): Promise<SqlRow | undefined> {
    // Where a decision id tells its time, few heads are read instead of all. Records of long streams may be later than that.
    const times = timesOf(id);
    const near = times === undefined ? [] : await this.#blocks.find("decision", id, times);
    const found = near.find((row) => recordOf(row)?.decision_id === id);
    if (found !== undefined) return found;
    for (const kind of ["decision", "request"] as const) {
      const column = `${kind}_id` as const;
      const rows = await Promise.all([this.#blocks.find(kind, id), this.#rows.find(column, id)]);
      const row = rows
        .flat()
        .toSorted(newestFirst)
        .find((each) => recordOf(each)?.[column] === id);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  async summary(range: TimeRange, filter: RollupFilter, nowMs: number): Promise<RecordSummary> {
    const summary = await summaryOf(this.#sql, range, filter, nowMs);
    const [oldest] = await this.#sql.read(`SELECT ${oldestSeq} AS seq`);
    const seq = oldest?.["seq"];
    return { ...summary, oldest_record_ms: seq == null ? null : Math.floor(Number(seq) / seqPerMs) };
  }

  series(request: SeriesRequest, nowMs: number): Promise<RecordSeries> {
    return seriesOf(this.#sql, request, nowMs);
  }

  groups(by: "goal" | "session", range: TimeRange, limit: number): Promise<readonly RecordGroup[]> {
    return groupsOf(this.#sql, by, range, limit);
  }

  async size(): Promise<{ readonly rows: number; readonly bytes: number }> {
    const [row] = await this.#sql.read("SELECT records, bytes FROM decision_store");
    return { rows: Number(row?.["records"] ?? 0), bytes: Number(row?.["bytes"] ?? 0) };
  }

  /**
   * Deletes about `limit` of the oldest records, where they are from before `fromMs` or all of them take more than `maxBytes`.
   * Returns how many; 0 when there is nothing to delete. In whole blocks, so some are kept for up to an hour longer.
   */
  async prune(fromMs: number, maxBytes: number, limit: number): Promise<number> {
    const excess = (await this.size()).bytes - maxBytes;
    const ofRows = await this.#rows.prune(fromMs, excess > 0, limit);
    return ofRows > 0 ? ofRows : this.#blocks.prune(fromMs, excess, limit);
  }

  /** Deletes sums, corrections and configurations that nothing needs any more. Rows that are few, so in one go. */
  async pruneSums(fromMs: number, nowMs: number): Promise<void> {
    await this.#sql.write([
      {
        sql: "DELETE FROM decision_sum WHERE span_ms = ? AND at_ms < ?",
        rows: [
          [minuteMs, nowMs - minutesKeptMs],
          [hourMs, nowMs - hoursKeptMs],
        ],
      },
      { sql: "DELETE FROM decision_goal_sum WHERE at_ms < ?", rows: [[fromMs]] },
      // A day that the bound cuts stays until all of it is past.
      { sql: "DELETE FROM decision_goal_day_sum WHERE at_ms < ?", rows: [[fromMs - 24 * hourMs]] },
      { sql: "DELETE FROM decision_correction WHERE at_ms < ?", rows: [[fromMs]] },
      // Of blocks that another node has deleted while this one corrected a cost.
      { sql: "DELETE FROM decision_late_cost WHERE seq < ?", rows: [[seqFrom(fromMs - hourMs)]] },
      // Of an earlier release: nothing reads it any more.
      { sql: "DELETE FROM decision_cost WHERE seq < ?", rows: [[seqFrom(fromMs - hourMs)]] },
      {
        // The last configuration before that moment was still in force after it.
        sql: `DELETE FROM decision_config WHERE at_ms < (SELECT MAX(at_ms) FROM decision_config WHERE at_ms < ?)`,
        rows: [[fromMs]],
      },
    ]);
  }

  /** Keeps a configuration, once. */
  async saveConfig({ hash, atMs, config }: StoredConfig): Promise<void> {
    await this.#sql.write([
      {
        sql: "INSERT INTO decision_config (hash, at_ms, config) VALUES (?) ON CONFLICT (hash) DO UPDATE SET at_ms = excluded.at_ms",
        rows: [[hash, Math.round(atMs), config]],
      },
    ]);
  }

  async config(hash: string): Promise<string | undefined> {
    const [row] = await this.#sql.read("SELECT config FROM decision_config WHERE hash = ?", [hash]);
    return row === undefined ? undefined : String(row["config"]);
  }

  /** Writes the final cost of an attempt. Repeating it changes nothing, also on two nodes at once. False when there was nothing to correct. */
  async correct({ decisionId, attempt, costNanoUsd, state }: CostCorrection, nowMs: number): Promise<boolean> {
    const found = await this.#find(decisionId);
    const record = found?.record;
    const before = record?.attempts.find(({ number }) => number === attempt);
    if (found === undefined || record === undefined || before === undefined || before.cost_nano_usd === costNanoUsd)
      return false;
    const delta = costNanoUsd - (before.cost_nano_usd ?? 0);
    const open = record.attempts.some(({ number, cost_nano_usd }) => number !== attempt && cost_nano_usd === null);
    const resolved = record.cost_state === "unknown" && !open;
    const isFirst = before.cost_source !== "ledger";
    const costState = open ? record.cost_state : state;
    const writes = [
      {
        sql: isFirst
          ? "INSERT INTO decision_correction (decision_id, attempt, cost_nano_usd, at_ms) VALUES (?)"
          : `INSERT INTO decision_correction (decision_id, attempt, cost_nano_usd, at_ms) VALUES (?)
             ON CONFLICT (decision_id, attempt) DO UPDATE SET cost_nano_usd = excluded.cost_nano_usd`,
        rows: [[decisionId, attempt, costNanoUsd, Math.round(nowMs)]],
      },
      found.block === undefined
        ? {
            sql: "UPDATE decision_record SET cost_nano_usd = cost_nano_usd + ?, cost_state = ? WHERE seq = ?",
            rows: [[delta, costState, record.seq]],
          }
        : {
            sql: `INSERT INTO decision_late_cost (decision_id, seq, block, delta_nano_usd, cost_state) VALUES (?)
                  ON CONFLICT (decision_id) DO UPDATE SET
                    delta_nano_usd = decision_late_cost.delta_nano_usd + excluded.delta_nano_usd, cost_state = excluded.cost_state`,
            rows: [[decisionId, record.seq, found.block, delta, costState]],
          },
      ...correctionWrites(headOf(record), delta, resolved),
    ] satisfies readonly SqlWrite[];
    try {
      await this.#sql.write(writes);
    } catch (error) {
      // Another node may have been quicker: its row of the same key has undone this transaction, and the sums are right.
      if (isFirst && (await this.#corrections(decisionId)).has(attempt)) return false;
      throw error;
    }
    return true;
  }

  /**
   * What the ledger knows by now of up to `limit` records whose cost is open, of those behind the decision id `after`: whoever has
   * closed their attempts, an operator, another node or this one before a restart.
   */
  async openCosts(after: string, limit: number): Promise<OpenCosts> {
    const open = await this.#sql.read(
      // The first condition of the rows is that of their index.
      `SELECT decision_id FROM (
         SELECT decision_id FROM decision_late_cost WHERE cost_state = 'unknown' AND decision_id > ?
         UNION ALL
         SELECT decision_id FROM decision_record WHERE cost_state <> 'known' AND cost_state = 'unknown' AND decision_id > ?
       ) open_cost ORDER BY decision_id LIMIT ?`,
      [after, after, limit],
    );
    if (open.length === 0) return { corrections: [], next: "" };
    const ids = open.flatMap((row) => attemptNumbers.map((number) => `${row["decision_id"]}.${number}`));
    const closed = await this.#sql.read(
      `SELECT id, hold, actual, state FROM reservation
       WHERE id IN (${ids.map(() => "?").join(",")}) AND closed_ms IS NOT NULL`,
      ids,
    );
    const corrections = closed.map((row) => {
      const state = String(row["state"]) as ReservationState; // the ledger writes no other
      const actual = row["actual"] == null ? null : Number(row["actual"]);
      const charged = chargedOf({ state, actual, hold: Number(row["hold"]) });
      return correctionOf({ ...partsOfReservationId(String(row["id"])), state, charged });
    });
    return { corrections, next: open.length < limit ? "" : String(open.at(-1)?.["decision_id"]) };
  }

  close(): Promise<void> {
    return this.#sql.close();
  }

  async #corrections(decisionId: string): Promise<ReadonlyMap<number, number>> {
    const rows = await this.#sql.read("SELECT attempt, cost_nano_usd FROM decision_correction WHERE decision_id = ?", [
      decisionId,
    ]);
    return new Map(rows.map((row) => [Number(row["attempt"]), Number(row["cost_nano_usd"])]));
  }

  /** The outcome that a caller has reported; it is only in the table of outcomes. */
  async #reported(decisionId: string): Promise<DecisionRecord["reported"]> {
    const [row] = await this.#sql.read(
      "SELECT outcome, outcome_score FROM routing_outcome WHERE decision_id = ? AND outcome IS NOT NULL",
      [decisionId],
    );
    const outcome = row?.["outcome"];
    if (outcome !== "solved" && outcome !== "failed") return null;
    const score = row?.["outcome_score"];
    return { outcome, score: score == null ? null : Number(score) };
  }
}

/** When a record with this UUIDv7 counts, nearly always: within two hours, or on the day before by the ledger's clock. */
function timesOf(id: string): { readonly from: number; readonly to: number } | undefined {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const madeMs = Number.parseInt(high + low, 16);
  return { from: madeMs - hourMs, to: madeMs + 2 * hourMs };
}

interface FoundRecord {
  readonly record: DecisionRecord;
  /** Undefined for a record with a row. */
  readonly block: number | undefined;
}

function newestFirst(a: SqlRow, b: SqlRow): number {
  return Number(b["seq"]) - Number(a["seq"]);
}

function recordsOf(rows: readonly SqlRow[]): readonly DecisionRecord[] {
  return rows.flatMap((row) => recordOf(row) ?? []);
}
