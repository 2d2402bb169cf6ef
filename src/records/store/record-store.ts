import { openLargeStore, type Statement, type StoreDatabase } from "#db/store-database.ts";
import { chargedOf, partsOfReservationId, type ReservationState } from "#ledger/rules/rows.ts";
import type { MemoryLimits } from "#platform/lru-map.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock } from "#platform/time.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import {
  type ClosedReservation,
  correctedRecord,
  type PageRequest,
  placeholders,
  type RecordFilter,
  type RecordPage,
  type ReportedOutcome,
  type RollupFilter,
  type TimeRange,
} from "#records/records.ts";
import { completeRecord, type StoredRecord } from "#records/stored-record.ts";
import { type Block, blockColumns, blockIn, blockStatements, matchesIn, nextBlock, seqFrom } from "./blocks.ts";
import { blocksWith, findPage, follow } from "./search.ts";
import { type GroupBy, minutesKeptMs, readGroups, readSeries, type SeriesRequest, summarize } from "./summaries.ts";
import { dayMs, hourMs, minuteMs, NamesOfHours, sumBytes, sumStatements } from "./sums.ts";

/** How long sums by hour are kept, whatever the retention of the records. */
const hoursKeptMs = 400 * dayMs;
/** Blocks that are deleted at a time; the ledger waits meanwhile. */
const deletesAtOnce = 8;
/** The part of the records' bytes that sums by callers' names may take. */
const namesShare = 0.1;
/** How often a change is tried whose block another process changes at the same time. */
const changeTries = 4;

/** The records in the database that a URL names. Rejects when it cannot be reached. */
export async function openRecordStore(databaseUrl: string): Promise<RecordStore> {
  return new RecordStore(await openLargeStore(databaseUrl));
}

/** The records of all nodes in a database, which it closes with itself. Every method rejects when the database does not answer. */
export class RecordStore {
  readonly #db: StoreDatabase;
  readonly #clock: Pick<Clock, "now">;
  /** The last block of this process. Undefined while nobody knows whether it was written. */
  #last: Block | undefined;
  #salt: number | undefined;
  readonly #names = new NamesOfHours();
  /** What the sums by callers' names took when they were last trimmed. */
  #nameBytes = 0;

  constructor(db: StoreDatabase, clock: Pick<Clock, "now"> = systemClock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Salt of the hashes that stand for conversations and tasks; different in each database. */
  async salt(): Promise<number> {
    this.#salt ??= Number(await this.#text("SELECT salt AS text FROM decision_store"));
    return this.#salt;
  }

  /** Writes new records, at most a block of them, with their sums, in one transaction. */
  async append(records: readonly StoredRecord[]): Promise<void> {
    const block = nextBlock(this.#last, records);
    this.#last = undefined;
    try {
      await this.#write(...blockStatements(block), ...sumStatements(records, [], this.#names));
    } catch (error) {
      // A record in that block has been changed meanwhile: then these get a block of their own.
      if (block.version === 1 || !isConflict(error)) throw error;
      return this.append(records);
    }
    this.#last = block;
  }

  async #write(...statements: readonly Statement[]): Promise<void> {
    // Orders the nodes' transactions, so that two never wait for each other's rows, and blocks are numbered as they become visible.
    const lock: Statement = ["SELECT 1 FROM decision_store FOR UPDATE"];
    await this.#db.write(...(this.#db.kind === "postgres" ? [lock] : []), ...statements);
  }

  /** One page, the newest first; with `after`, the oldest of those after it first. */
  readonly query = (filter: RecordFilter, page: PageRequest) => findPage(this.#db, filter, page);

  /** All records that pass, the oldest first, in batches; reads on as it is consumed. */
  async *export(filter: RecordFilter): AsyncGenerator<readonly DecisionRecord[]> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { records, more }: RecordPage = await this.query(filter, { after, limit: 500 });
      if (records.length > 0) yield records;
      after = more ? records.at(-1)?.seq : undefined;
    }
  }

  /** A function that reads what any process has written since its call before, from the first on. */
  readonly follow = () => follow(this.#db);

  /** By decision id, else the newest with that request id. */
  async get(id: string): Promise<DecisionRecord | undefined> {
    const [found] = await blocksWith(this.#db, [id]);
    const match = found?.matches[0];
    return match !== undefined
      ? completeRecord(match.record)
      : (await this.query({ requestId: id }, { limit: 1 })).records[0];
  }

  readonly summary = (range: TimeRange, filter: RollupFilter = {}, nowMs = this.#clock.now()) =>
    summarize(this.#db, range, filter, nowMs);
  readonly series = (request: SeriesRequest, nowMs = this.#clock.now()) => readSeries(this.#db, request, nowMs);
  readonly groups = (by: GroupBy, range: TimeRange, limit: number) => readGroups(this.#db, by, range, limit);

  async size(): Promise<{ readonly rows: number; readonly bytes: number }> {
    const [rows] = await this.#db.read(["SELECT SUM(records) AS records, SUM(bytes) AS bytes FROM decision_block"]);
    return { rows: Number(rows?.[0]?.["records"] ?? 0), bytes: Number(rows?.[0]?.["bytes"] ?? 0) };
  }

  /**
   * Deletes some of the oldest records, where they are from before `fromMs` or all of them take more than `maxBytes`.
   * Returns how many; 0 when there is nothing to delete. In whole blocks, so some are kept for up to an hour longer.
   */
  async prune(fromMs: number, maxBytes: number): Promise<number> {
    let excess = (await this.size()).bytes + this.#nameBytes - maxBytes;
    const sql = "SELECT last_seq, records, bytes FROM decision_block ORDER BY last_seq LIMIT ?";
    const [oldest = []] = await this.#db.read([sql, deletesAtOnce]);
    const due = oldest.filter(({ last_seq, bytes }) => {
      const isDue = excess > 0 || Number(last_seq) < seqFrom(fromMs);
      excess -= Number(bytes);
      return isDue;
    });
    if (due.length === 0) return 0;
    const upTo = Number(due.at(-1)?.["last_seq"]);
    if (this.#last !== undefined && this.#last.lastSeq <= upTo) this.#last = undefined;
    await this.#write(["DELETE FROM decision_block WHERE last_seq <= ?", upTo]);
    return due.reduce((sum, { records }) => sum + Number(records), 0);
  }

  /** Deletes sums, configurations and states of tasks that nothing needs any more. Rows that are few, so in one go. */
  async pruneOthers(fromMs: number, nowMs: number, tasks: MemoryLimits, maxBytes: number): Promise<void> {
    const recordsFrom = Math.round(fromMs);
    const named = "FROM decision_sum WHERE dimension = ? AND span_ms = ?";
    const trimmed = ["goal", "session"].map(
      (dimension): Statement => [
        `DELETE ${named} AND at_ms < (SELECT at_ms ${named} ORDER BY at_ms DESC LIMIT 1 OFFSET ?)`,
        ...[dimension, hourMs, dimension, hourMs, Math.floor((maxBytes * namesShare) / 2 / sumBytes)],
      ],
    );
    await this.#write(
      ["DELETE FROM decision_sum WHERE span_ms = ? AND at_ms < ?", minuteMs, Math.round(nowMs - minutesKeptMs)],
      ["DELETE FROM decision_sum WHERE span_ms = ? AND at_ms < ?", hourMs, Math.round(nowMs - hoursKeptMs)],
      ["DELETE FROM decision_sum WHERE dimension IN ('goal', 'session') AND at_ms < ?", recordsFrom],
      ...trimmed,
      // The last configuration before that moment was still in force after it.
      [
        "DELETE FROM decision_config WHERE at_ms < (SELECT MAX(at_ms) FROM decision_config WHERE at_ms < ?)",
        recordsFrom,
      ],
      ["DELETE FROM task_state WHERE changed_ms < ?", Math.round(nowMs - tasks.remembered_ms)],
      [
        `DELETE FROM task_state WHERE changed_ms <=
           (SELECT changed_ms FROM task_state ORDER BY changed_ms DESC LIMIT 1 OFFSET ?)`,
        tasks.remembered,
      ],
    );
    const count = "SELECT COUNT(*) AS text FROM decision_sum WHERE dimension IN ('goal', 'session')";
    this.#nameBytes = Number(await this.#text(count)) * sumBytes;
  }

  /** Keeps a configuration, once. */
  async saveConfig(hash: string, config: string, atMs: number): Promise<void> {
    await this.#write([
      "INSERT INTO decision_config (hash, at_ms, config) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET at_ms = excluded.at_ms",
      ...[hash, Math.round(atMs), config],
    ]);
  }

  /** The policy and the models that a record's `policy_hash` names, as JSON; undefined when they are not kept any more. */
  config(hash: string): Promise<string | undefined> {
    return this.#text("SELECT config AS text FROM decision_config WHERE hash = ?", hash);
  }

  async saveTask(key: string, value: string, nowMs: number): Promise<void> {
    const hash = await this.#taskHash(key);
    await this.#write([
      `INSERT INTO task_state (key_hash, value, changed_ms) VALUES (?, ?, ?)
       ON CONFLICT (key_hash) DO UPDATE SET value = excluded.value, changed_ms = excluded.changed_ms`,
      ...[hash, value, Math.round(nowMs)],
    ]);
  }

  async task(key: string): Promise<string | undefined> {
    return this.#text("SELECT value AS text FROM task_state WHERE key_hash = ?", await this.#taskHash(key));
  }

  async #text(...statement: Statement): Promise<string | undefined> {
    const [rows] = await this.#db.read(statement);
    const text = rows?.[0]?.["text"];
    return text === undefined ? undefined : String(text);
  }

  /** Half a SHA-256: nobody who reads the store can tell ids from it without trying them with the salt. */
  async #taskHash(key: string): Promise<string> {
    return Bun.SHA256.hash(`${await this.salt()}\n${key}`, "hex").slice(0, 32);
  }

  /**
   * Keeps what callers report, in place of earlier reports: of `all` what stands in the blocks of the `first`, each
   * block in one go. Returns those that are known as answers to a user's work.
   */
  async reportOutcomes(
    first: readonly string[],
    all: ReadonlyMap<string, ReportedOutcome>,
  ): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    const changed = (record: StoredRecord) => {
      const report = all.get(record.decision_id);
      if (report === undefined || record.model == null || record.housekeeping != null) return undefined;
      known.add(record.decision_id);
      const { outcome, score } = report;
      const isSame = record.reported?.outcome === outcome && record.reported.score === score;
      return isSame ? undefined : { ...record, reported: { outcome, score } };
    };
    await this.#change(first, changed, [...all.keys()]);
    return known;
  }

  /** Writes the final costs of attempts. Repeating it changes nothing, also on two nodes at once. Returns how many records it has changed. */
  async correct(closed: readonly ClosedReservation[]): Promise<number> {
    const byDecision = Map.groupBy(closed, ({ id }) => partsOfReservationId(id).requestId);
    return this.#change([...byDecision.keys()], (record) => {
      const after = (byDecision.get(record.decision_id) ?? []).reduce(correctedRecord, record);
      return after === record ? undefined : after;
    });
  }

  /** Writes other records in the place of those in the blocks of `ids`, with their sums, block by block. Returns how many. */
  async #change(
    ids: readonly string[],
    changed: (record: StoredRecord) => StoredRecord | undefined,
    idsInBlocks = ids,
  ): Promise<number> {
    for (let tries = 1; ; tries++) {
      let count = 0;
      try {
        for (const { block } of await blocksWith(this.#db, ids)) {
          const changes = matchesIn(block, [["decisionId", idsInBlocks]]).flatMap(({ line, record }) => {
            const after = changed(record);
            return after === undefined ? [] : [{ line, record, after }];
          });
          if (changes.length === 0) continue;
          const next = nextBlock(block, [], new Map(changes.map(({ line, after }) => [line, after])));
          const [after, before] = [changes.map((each) => each.after), changes.map(({ record }) => record)];
          await this.#write(...blockStatements(next), ...sumStatements(after, before, this.#names));
          if (this.#last?.id === block.id) this.#last = next;
          count += changes.length;
        }
        return count;
      } catch (error) {
        if (tries === changeTries || !isConflict(error)) throw error;
      }
    }
  }

  /**
   * Corrects records whose cost is open by what the ledger knows by now: whoever has closed their attempts, an
   * operator, another node or this one before a restart.
   */
  async correctOpenCosts(): Promise<void> {
    for (let number = 0; ; ) {
      const [rows] = await this.#db.read([
        `SELECT ${blockColumns} FROM decision_block WHERE open_costs > 0 AND number > ? ORDER BY number LIMIT 1`,
        number,
      ]);
      const row = rows?.[0];
      if (row === undefined) return;
      number = Number(row["number"]);
      const ids = matchesIn(blockIn(row), [["costState", ["unknown"]]]).flatMap(({ record }) =>
        record.attempts.map((attempt) => `${record.decision_id}.${attempt.number}`),
      );
      const [closed = []] = await this.#db.read([
        `SELECT id, hold, actual, state FROM reservation WHERE id IN (${placeholders(ids)}) AND closed_ms IS NOT NULL`,
        ...ids,
      ]);
      const corrections = closed.map(({ id, hold, actual, state: text }) => {
        const state = String(text) as ReservationState; // the ledger writes no other
        const charged = chargedOf({ state, actual: actual == null ? null : Number(actual), hold: Number(hold) });
        return { id: String(id), state, charged };
      });
      await this.correct(corrections);
    }
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

/** Whether the next version of a block is there already: another write has changed it meanwhile. */
function isConflict(error: unknown): boolean {
  return /unique/i.test(String(error));
}
