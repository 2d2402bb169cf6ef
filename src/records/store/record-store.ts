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
import { blockWrites } from "./blocks.ts";
import { type SearchRange, searchRange } from "./search-range.ts";
import { hourOf, oldestSeq, pageLength, seqFrom, seqPerMs } from "./seq.ts";
import type { BlockSearch, IdKind, SqlConnection, SqlRow } from "./sql-connection.ts";
import { groupsOf, minutesKeptMs, seriesOf, summaryOf } from "./summaries.ts";
import { correctionWrites, dayMs, hourMs, minuteMs, sumWrites } from "./sums.ts";

/** How long sums by hour and day are kept, whatever the retention of the records. */
const hoursKeptMs = 400 * dayMs;
const exportPage = 500;
/** Records of a block. Fewer, and each batch writes more rows; more, and a single record takes longer to read. */
const maxLines = 128;
/** Up to so many, a small batch is added to the block before. Each time all of its records are written again. */
const maxLinesAgain = 64;
/** A record's number may be so many milliseconds later than it counts, where many records count at once. */
const seqDriftMs = 2_000;

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

/** What a caller has reported of a decision. */
export interface ReportedOutcome {
  readonly decisionId: string;
  readonly outcome: "solved" | "failed";
  /** From 0 to 1. */
  readonly score: number | null;
}

/** The numbers that an attempt may have: the scout's is 1, and the policy allows ten more. */
const attemptNumbers = Array.from({ length: 11 }, (_, index) => index + 1);

/** A block that has room for more records. */
interface Unfilled {
  readonly id: number;
  readonly records: readonly DecisionRecord[];
}

/** The records of all nodes in a database. Every method rejects when the database does not answer. */
export class RecordStore {
  readonly #sql: SqlConnection;
  /** The last block of this process; a small batch is added to it. Undefined while nobody knows whether it was written. */
  #unfilled: Unfilled | undefined;

  /** Salt of the hashes that stand for conversations; different in each database. */
  readonly salt: number;

  static async open(sql: SqlConnection): Promise<RecordStore> {
    const [row] = await sql.read("SELECT salt FROM decision_store");
    return new RecordStore(sql, Number(row?.["salt"] ?? 0));
  }

  private constructor(sql: SqlConnection, salt: number) {
    this.#sql = sql;
    this.salt = salt;
  }

  get kind(): "sqlite" | "postgres" {
    return this.#sql.kind;
  }

  /** Writes new records with their sums, in one transaction. */
  async append(records: readonly DecisionRecord[]): Promise<void> {
    if (records.length === 0) return;
    let unfilled = this.#unfilled;
    const writes: SqlWrite[] = [];
    for (const group of grouped(records)) {
      const added = unfilled !== undefined && fits(group, unfilled.records) ? unfilled : undefined;
      const all = added === undefined ? group : [...added.records, ...group];
      const id = added?.id ?? seqOf(group[0]);
      writes.push(...blockWrites(id, seqOf(group.at(-1)), all, added !== undefined), ...openCostWrites(group));
      // Nothing is added to a full block, so its records need not live until the next one.
      unfilled = all.length < maxLinesAgain ? { id, records: all } : undefined;
    }
    this.#unfilled = undefined;
    await this.#sql.write([...writes, ...sumWrites(records)]);
    this.#unfilled = unfilled;
  }

  /** The decision ids of those that have been written; for a batch that was sent and got no answer. */
  async known(records: readonly Pick<DecisionRecord, "decision_id" | "recorded_ms">[]): Promise<ReadonlySet<string>> {
    const times = records.map(({ recorded_ms }) => recorded_ms);
    const found = await this.#find(
      "decision",
      records.map(({ decision_id }) => decision_id),
      { fromMs: Math.floor(Math.min(...times)), toMs: Math.max(...times) + seqDriftMs },
    );
    return new Set(found.map(({ decision_id }) => decision_id));
  }

  async query(filter: RecordFilter, page: PageRequest): Promise<RecordPage> {
    const { fromSeq, more }: SearchRange =
      page.after === undefined ? await searchRange(this.#sql, filter, page) : { more: true };
    let records: readonly DecisionRecord[] = [];
    if (fromSeq !== undefined) records = await this.#page(filter, page, fromSeq);
    // Fewer than the sums count: floods of refusals have one record for many requests.
    if (more && records.length <= pageLength(records, page.limit)) records = await this.#page(filter, page);
    const length = pageLength(records, page.limit);
    return { records: records.slice(0, length), more: records.length > length };
  }

  /** The records of a page, and one more if there is one. */
  #page(filter: RecordFilter, { before, after, limit }: PageRequest, fromSeq = 0): Promise<readonly DecisionRecord[]> {
    const { fromMs = 0, toMs, ...fields } = filter;
    return this.#sql.search({
      filter: fields,
      from: Math.max(seqFrom(fromMs), fromSeq, after === undefined ? 0 : after + 1),
      to: Math.min(toMs === undefined ? Number.MAX_SAFE_INTEGER : seqFrom(toMs), before ?? Number.MAX_SAFE_INTEGER),
      newestFirst: after === undefined,
      limit,
    });
  }

  #find(kind: IdKind, anyOf: readonly string[], times?: TimeRange): Promise<readonly DecisionRecord[]> {
    return this.#sql.search({
      filter: {},
      ids: { kind, anyOf },
      from: times === undefined ? 0 : Math.max(0, seqFrom(times.fromMs)),
      to: times === undefined ? Number.MAX_SAFE_INTEGER : Math.min(seqFrom(times.toMs), Number.MAX_SAFE_INTEGER),
      newestFirst: true,
      limit: anyOf.length,
    } satisfies BlockSearch);
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
    const record = (await this.#byDecision(id)) ?? (await this.#find("request", [id]))[0];
    if (record === undefined) return undefined;
    const [outcome] = await this.#sql.read("SELECT outcome, score FROM decision_outcome WHERE decision_id = ?", [
      record.decision_id,
    ]);
    const reported = outcome === undefined ? null : reportedIn(record.decision_id, outcome);
    return { ...record, reported: reported && { outcome: reported.outcome, score: reported.score } };
  }

  async #byDecision(id: string): Promise<DecisionRecord | undefined> {
    // Where a decision id tells its time, few blocks are read instead of all. Records of long streams may be later than that.
    const times = timesOf(id);
    const near = times === undefined ? [] : await this.#find("decision", [id], times);
    return near[0] ?? (await this.#find("decision", [id]))[0];
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
    const oldest = await this.#sql.read(
      "SELECT id, last_seq, records, bytes FROM decision_block ORDER BY last_seq LIMIT ?",
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
    // As they are now: another node may have deleted them meanwhile.
    const sum = (name: string) => `(SELECT COALESCE(SUM(b.${name}), 0) FROM decision_block b WHERE b.id IN ${ids})`;
    await this.#sql.write([
      {
        sql: `UPDATE decision_store SET records = records - ${sum("records")}, bytes = bytes - ${sum("bytes")} WHERE id = 1`,
        rows: [[]],
      },
      { sql: `DELETE FROM decision_block WHERE id IN ${ids}`, rows: [[]] },
      {
        sql: `DELETE FROM decision_cost WHERE seq < (SELECT COALESCE(MIN(b.id), ${Number.MAX_SAFE_INTEGER}) FROM decision_block b)`,
        rows: [[]],
      },
    ]);
    return records;
  }

  /** Deletes sums, outcomes and configurations that nothing needs any more. Rows that are few, so in one go. */
  async pruneSums(fromMs: number, nowMs: number): Promise<void> {
    await this.#sql.write([
      {
        sql: "DELETE FROM decision_sum WHERE span_ms = ? AND at_ms < ?",
        rows: [
          [minuteMs, nowMs - minutesKeptMs],
          [hourMs, nowMs - hoursKeptMs],
        ],
      },
      {
        // A day that the bound cuts stays until all of it is past.
        sql: "DELETE FROM decision_goal_sum WHERE span_ms = ? AND at_ms < ?",
        rows: [
          [hourMs, fromMs],
          [dayMs, fromMs - dayMs],
        ],
      },
      { sql: "DELETE FROM decision_outcome WHERE at_ms < ?", rows: [[fromMs]] },
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

  /** Writes the states of tasks, by their keys. */
  async saveTasks(tasks: ReadonlyMap<string, string>, nowMs: number): Promise<void> {
    if (tasks.size === 0) return;
    await this.#sql.write([
      {
        sql: `INSERT INTO task_state (key_hash, value, changed_ms) VALUES (?)
              ON CONFLICT (key_hash) DO UPDATE SET value = excluded.value, changed_ms = excluded.changed_ms`,
        rows: [...tasks].map(([key, value]) => [this.#taskHash(key), value, Math.round(nowMs)]),
      },
    ]);
  }

  async task(key: string): Promise<string | undefined> {
    const [row] = await this.#sql.read("SELECT value FROM task_state WHERE key_hash = ?", [this.#taskHash(key)]);
    return row === undefined ? undefined : String(row["value"]);
  }

  /** Deletes states that have not changed since `fromMs`, and of the rest the oldest above `most`. */
  async pruneTasks(fromMs: number, most: number): Promise<void> {
    await this.#sql.write([
      { sql: "DELETE FROM task_state WHERE changed_ms < ?", rows: [[Math.round(fromMs)]] },
      {
        sql: `DELETE FROM task_state WHERE changed_ms <=
                (SELECT changed_ms FROM task_state ORDER BY changed_ms DESC LIMIT 1 OFFSET ?)`,
        rows: [[most]],
      },
    ]);
  }

  /** Half a SHA-256: nobody who reads the store can tell ids from it without trying them with the salt. */
  #taskHash(key: string): string {
    return Bun.SHA256.hash(`${this.salt}\n${key}`, "hex").slice(0, 32);
  }

  /** Keeps what a caller reports, in place of an earlier report; false where no answer to a user's work is known by that id. */
  async reportOutcome({ decisionId, outcome, score }: ReportedOutcome, nowMs: number): Promise<boolean> {
    const record = await this.#byDecision(decisionId);
    if (record === undefined || record.model === null || record.housekeeping !== null) return false;
    await this.#sql.write([
      {
        sql: `INSERT INTO decision_outcome (decision_id, outcome, score, at_ms) VALUES (?)
              ON CONFLICT (decision_id) DO UPDATE SET outcome = excluded.outcome, score = excluded.score`,
        rows: [[decisionId, outcome, score, Math.round(nowMs)]],
      },
    ]);
    return true;
  }

  /** All outcomes that callers have reported, by decision id. */
  async reportedOutcomes(): Promise<ReadonlyMap<string, ReportedOutcome>> {
    const rows = await this.#sql.read("SELECT decision_id, outcome, score FROM decision_outcome");
    return new Map(rows.map((row) => [String(row["decision_id"]), reportedIn(String(row["decision_id"]), row)]));
  }

  /** Writes the final cost of an attempt. Repeating it changes nothing, also on two nodes at once. False when there was nothing to correct. */
  async correct({ decisionId, attempt, costNanoUsd, state }: CostCorrection): Promise<boolean> {
    const record = await this.#byDecision(decisionId);
    const before = record?.attempts.find(({ number }) => number === attempt);
    if (record === undefined || before === undefined || before.cost_nano_usd === costNanoUsd) return false;
    const delta = costNanoUsd - (before.cost_nano_usd ?? 0);
    const open = record.attempts.some(({ number, cost_nano_usd }) => number !== attempt && cost_nano_usd === null);
    const first = before.cost_source !== "ledger";
    const row = (of: number, cost: number, costState: string) => [decisionId, of, record.seq, cost, costState];
    const insert = "INSERT INTO decision_cost (decision_id, attempt, seq, cost_nano_usd, cost_state) VALUES (?)";
    const again = " ON CONFLICT (decision_id, attempt) DO UPDATE SET cost_nano_usd = excluded.cost_nano_usd";
    const writes = [
      { sql: first ? insert : insert + again, rows: [row(attempt, costNanoUsd, state)] },
      {
        sql: `${insert} ON CONFLICT (decision_id, attempt) DO UPDATE SET cost_state = excluded.cost_state`,
        rows: [row(0, 0, open ? record.cost_state : state)],
      },
      ...correctionWrites(record, delta, record.cost_state === "unknown" && !open),
    ] satisfies readonly SqlWrite[];
    try {
      await this.#sql.write(writes);
    } catch (error) {
      // Another node may have been quicker: its row of the same key has undone this transaction, and the sums are right.
      const [known] = await this.#sql.read("SELECT attempt FROM decision_cost WHERE decision_id = ? AND attempt = ?", [
        decisionId,
        attempt,
      ]);
      if (first && known !== undefined) return false;
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
      `SELECT decision_id FROM decision_cost WHERE attempt = 0 AND cost_state = 'unknown' AND decision_id > ?
       ORDER BY decision_id LIMIT ?`,
      [after, limit],
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
}

function reportedIn(decisionId: string, row: SqlRow): ReportedOutcome {
  const score = row["score"];
  return {
    decisionId,
    outcome: row["outcome"] === "solved" ? "solved" : "failed", // the store writes no other
    score: score == null ? null : Number(score),
  };
}

/** When a record with this UUIDv7 counts, nearly always: within two hours, or on the day before by the ledger's clock. */
function timesOf(id: string): TimeRange | undefined {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const madeMs = Number.parseInt(high + low, 16);
  return { fromMs: madeMs - hourMs, toMs: madeMs + 2 * hourMs };
}

function seqOf(record: DecisionRecord | undefined): number {
  return record?.seq ?? 0; // no group is empty
}

/** The records by number, at most a block's together, and only those of one hour. */
function grouped(records: readonly DecisionRecord[]): readonly (readonly DecisionRecord[])[] {
  const sorted = records.toSorted((a, b) => a.seq - b.seq);
  return [...Map.groupBy(sorted, ({ seq }) => hourOf(seq)).values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / maxLines) }, (_, at) =>
      group.slice(at * maxLines, (at + 1) * maxLines),
    ),
  );
}

function fits(group: readonly DecisionRecord[], before: readonly DecisionRecord[]): boolean {
  const [first, last] = [seqOf(group[0]), seqOf(before.at(-1))];
  return first > last && hourOf(first) === hourOf(last) && before.length + group.length <= maxLinesAgain;
}

/** The records whose cost is open, so that they are found without opening blocks. */
function openCostWrites(records: readonly DecisionRecord[]): readonly SqlWrite[] {
  const open = records.filter(({ cost_state }) => cost_state === "unknown");
  if (open.length === 0) return [];
  return [
    {
      sql: "INSERT INTO decision_cost (decision_id, attempt, seq, cost_nano_usd, cost_state) VALUES (?)",
      rows: open.map(({ decision_id, seq }) => [decision_id, 0, seq, 0, "unknown"]),
    },
  ];
}
