import { openLargeStore, type Statement, type StoreDatabase, type WriteTransaction } from "#db/store-database.ts";
import { chargedOf, partsOfReservationId, type ReservationState } from "#ledger/rules/rows.ts";
import type { CostState, DecisionRecord } from "#records/decision-record.ts";
import { placeholders, type Wanted, wantedBy } from "#records/filter.ts";
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
import {
  type Block,
  blockChanged,
  blockColumns,
  blockOf,
  blockStatements,
  blockWith,
  hasRoom,
  type Match,
  matchesIn,
  maxLines,
  seqFrom,
  seqPerMs,
  termOf,
} from "./blocks.ts";
import { minutesKeptMs, readGroups, readSeries, summarize } from "./summaries.ts";
import { dayMs, hourMs, minuteMs, sumStatements } from "./sums.ts";

/** How long sums by hour are kept, whatever the retention of the records. */
const hoursKeptMs = 400 * dayMs;
const exportPage = 500;
/** Blocks that are opened at a time, which takes the main thread some milliseconds. */
const opensAtOnce = 8;
/** Blocks that are deleted at a time; the ledger waits meanwhile. */
const deletesAtOnce = 8;
/** How often a change is tried whose block another process changes at the same time. */
const changeTries = 4;

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

/** What a caller has reported of a decision. */
export interface ReportedOutcome {
  readonly decisionId: string;
  readonly outcome: "solved" | "failed";
  /** From 0 to 1. */
  readonly score: number | null;
}

/** Which records are wanted, by their numbers (from inclusive, to exclusive), and in which order. */
interface Search {
  readonly wanted: readonly Wanted[];
  readonly from?: number;
  readonly to?: number;
  readonly newestFirst: boolean;
  /** Blocks that are read at a time. */
  readonly atOnce?: number;
}

interface Found {
  readonly block: Block;
  readonly matches: readonly Match[];
}

/**
 * The store of decision records in the database that a URL names. `sharedWrite` writes over the ledger's connection to the same
 * SQLite file. Rejects when the database cannot be reached.
 */
export async function openRecordStore(databaseUrl: string, sharedWrite?: WriteTransaction): Promise<RecordStore> {
  const db = await openLargeStore(databaseUrl, sharedWrite);
  try {
    return await RecordStore.open(db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** The records of all nodes in a database. Every method rejects when the database does not answer. */
export class RecordStore {
  readonly #db: StoreDatabase;
  /** The last block of this process, while it has room. Undefined while nobody knows whether it was written. */
  #unfilled: Block | undefined;

  /** Salt of the hashes that stand for conversations; different in each database. */
  readonly salt: number;

  static async open(db: StoreDatabase): Promise<RecordStore> {
    const [rows] = await db.read(["SELECT salt FROM decision_store"]);
    return new RecordStore(db, Number(rows?.[0]?.["salt"] ?? 0));
  }

  private constructor(db: StoreDatabase, salt: number) {
    this.#db = db;
    this.salt = salt;
  }

  get kind(): "sqlite" | "postgres" {
    return this.#db.kind;
  }

  /** Writes new records with their sums, in one transaction. */
  async append(records: readonly DecisionRecord[]): Promise<void> {
    const statements: Statement[] = [];
    let unfilled = this.#unfilled;
    for (let from = 0; from < records.length; from += maxLines) {
      const [first, ...others] = records.slice(from, from + maxLines);
      if (first === undefined) break;
      const group = [first, ...others] as const;
      unfilled = blockWith(group, unfilled !== undefined && hasRoom(unfilled, group) ? unfilled : undefined);
      statements.push(...blockStatements(unfilled));
    }
    this.#unfilled = undefined;
    await this.#write(...statements, ...sumStatements(records));
    this.#unfilled = unfilled !== undefined && hasRoom(unfilled, []) ? unfilled : undefined;
  }

  async #write(...statements: readonly Statement[]): Promise<void> {
    if (statements.length === 0) return;
    // Orders the nodes' transactions, so that two never wait for each other's rows, and blocks are numbered as they become visible.
    const lock: Statement = ["SELECT 1 FROM decision_store FOR UPDATE"];
    await this.#db.write(...(this.kind === "postgres" ? [lock] : []), ...statements);
  }

  async query(filter: RecordFilter, { before, after, limit }: PageRequest): Promise<RecordPage> {
    const { fromMs = 0, toMs } = filter;
    const newestFirst = after === undefined;
    const found: DecisionRecord[] = [];
    const search = {
      wanted: wantedBy(filter),
      from: Math.max(seqFrom(fromMs), after === undefined ? 0 : after + 1),
      to: Math.min(toMs === undefined ? Number.MAX_SAFE_INTEGER : seqFrom(toMs), before ?? Number.MAX_SAFE_INTEGER),
      newestFirst,
    };
    for await (const { block, matches } of this.#search(search)) {
      // Blocks of several processes may overlap: a later one may still have a record that comes before those found.
      const last = found[pageLength(found, limit)]?.seq;
      if (last !== undefined && (newestFirst ? block.lastSeq < last : block.firstSeq > last)) break;
      found.push(...matches.map(({ record }) => record));
      found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq));
    }
    const length = pageLength(found, limit);
    return { records: found.slice(0, length), more: found.length > length };
  }

  /** The blocks that may have wanted records, in their order, with these. */
  async *#search({ wanted, from = 0, to = Number.MAX_SAFE_INTEGER, newestFirst, atOnce = opensAtOnce }: Search) {
    const contains = this.kind === "sqlite" ? "instr(terms, ?) > 0" : "strpos(terms, ?) > 0";
    const order = newestFirst ? "last_seq" : "first_seq";
    const terms = wanted.map(([, anyOf]) => `(${anyOf.map(() => contains).join(" OR ") || "1 = 0"})`);
    const values = wanted.flatMap(([field, anyOf]) => anyOf.map((value) => termOf(field, value)));
    const sql = `SELECT ${blockColumns} FROM decision_block WHERE ${["last_seq >= ? AND first_seq < ?", ...terms].join(" AND ")}
       AND (${order}, number) ${newestFirst ? "<" : ">"} (?, ?)
       ORDER BY ${order} ${newestFirst ? "DESC" : ""}, number ${newestFirst ? "DESC" : ""} LIMIT ?`;
    for (let place = newestFirst ? [Number.MAX_SAFE_INTEGER, 0] : [-1, 0]; ; ) {
      const [rows = []] = await this.#db.read([sql, from, to, ...values, ...place, atOnce]);
      for (const row of rows) {
        const block = blockOf(row);
        yield { block, matches: matchesIn(block, wanted, from, to) } satisfies Found;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < atOnce) return;
      place = [Number(last[order]), Number(last["number"])];
    }
  }

  /** The blocks that have these decisions. Where ids tell their times, no earlier block is read. */
  async #blocksWith(ids: readonly string[]): Promise<readonly Found[]> {
    const found: Found[] = [];
    let missing = ids.length;
    const from = seqFrom(Math.max(0, Math.min(...ids.map(timeIn)) - hourMs));
    const wanted: readonly Wanted[] = [["decisionId", ids]];
    for await (const each of this.#search({
      wanted,
      from,
      newestFirst: false,
      atOnce: Math.min(ids.length, opensAtOnce),
    })) {
      if (each.matches.length > 0) found.push(each);
      missing -= each.matches.length;
      if (missing <= 0) break;
    }
    return found;
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

  /** What was written behind a block with that number: its records, and the number to go on with. */
  async newer(number: number): Promise<{ readonly records: readonly DecisionRecord[]; readonly number: number }> {
    const [rows = []] = await this.#db.read([
      `SELECT ${blockColumns} FROM decision_block WHERE number > ? ORDER BY number LIMIT ?`,
      ...[number, opensAtOnce],
    ]);
    const records = rows.flatMap((row) => matchesIn(blockOf(row), []).map(({ record }) => record));
    return { records, number: Number(rows.at(-1)?.["number"] ?? number) };
  }

  /** The number of the last block. */
  async lastNumber(): Promise<number> {
    const [rows] = await this.#db.read(["SELECT COALESCE(MAX(number), 0) AS number FROM decision_block"]);
    return Number(rows?.[0]?.["number"]);
  }

  /** By decision id, else the newest with that request id. */
  async get(id: string): Promise<DecisionRecord | undefined> {
    const [found] = await this.#blocksWith([id]);
    const match = found?.matches[0];
    return match?.record ?? (await this.query({ requestId: id }, { limit: 1 })).records[0];
  }

  async summary(range: TimeRange, filter: RollupFilter, nowMs: number): Promise<RecordSummary> {
    const summary = await summarize(this.#db, range, filter, nowMs);
    const [rows] = await this.#db.read(["SELECT MIN(first_seq) AS seq FROM decision_block"]);
    const seq = rows?.[0]?.["seq"];
    return { ...summary, oldest_record_ms: seq == null ? null : Math.floor(Number(seq) / seqPerMs) };
  }

  series(request: SeriesRequest, nowMs: number): Promise<RecordSeries> {
    return readSeries(this.#db, request, nowMs);
  }

  groups(by: "goal" | "session", range: TimeRange, limit: number): Promise<readonly RecordGroup[]> {
    return readGroups(this.#db, by, range, limit);
  }

  async size(): Promise<{ readonly rows: number; readonly bytes: number }> {
    const [rows] = await this.#db.read(["SELECT SUM(records) AS records, SUM(bytes) AS bytes FROM decision_block"]);
    return { rows: Number(rows?.[0]?.["records"] ?? 0), bytes: Number(rows?.[0]?.["bytes"] ?? 0) };
  }

  /**
   * Deletes some of the oldest records, where they are from before `fromMs` or all of them take more than `maxBytes`. Returns how many;
   * 0 when there is nothing to delete. In whole blocks, so some are kept for up to an hour longer.
   */
  async prune(fromMs: number, maxBytes: number): Promise<number> {
    const excess = (await this.size()).bytes - maxBytes;
    const [oldest = []] = await this.#db.read([
      "SELECT last_seq, records, bytes FROM decision_block ORDER BY last_seq LIMIT ?",
      deletesAtOnce,
    ]);
    let [upTo, records, bytes] = [0, 0, 0];
    for (const row of oldest) {
      const lastSeq = Number(row["last_seq"]);
      if (bytes >= excess && lastSeq >= seqFrom(fromMs)) break;
      upTo = lastSeq;
      records += Number(row["records"]);
      bytes += Number(row["bytes"]);
    }
    if (records === 0) return 0;
    if (this.#unfilled !== undefined && this.#unfilled.lastSeq <= upTo) this.#unfilled = undefined;
    await this.#write(["DELETE FROM decision_block WHERE last_seq <= ?", upTo]);
    return records;
  }

  /** Deletes sums and configurations that nothing needs any more. Rows that are few, so in one go. */
  async pruneSums(fromMs: number, nowMs: number): Promise<void> {
    const sums = "DELETE FROM decision_sum WHERE dimension = ? AND span_ms = ? AND at_ms < ?";
    await this.#write(
      [sums, "outcome", minuteMs, Math.round(nowMs - minutesKeptMs)],
      [sums, "outcome", hourMs, Math.round(nowMs - hoursKeptMs)],
      [sums, "goal", hourMs, Math.round(fromMs)],
      // The last configuration before that moment was still in force after it.
      [
        "DELETE FROM decision_config WHERE at_ms < (SELECT MAX(at_ms) FROM decision_config WHERE at_ms < ?)",
        Math.round(fromMs),
      ],
    );
  }

  /** Keeps a configuration, once. */
  async saveConfig({ hash, atMs, config }: StoredConfig): Promise<void> {
    await this.#write([
      "INSERT INTO decision_config (hash, at_ms, config) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET at_ms = excluded.at_ms",
      ...[hash, Math.round(atMs), config],
    ]);
  }

  async config(hash: string): Promise<string | undefined> {
    return this.#text("SELECT config AS text FROM decision_config WHERE hash = ?", hash);
  }

  /** Writes the states of tasks, by their keys. */
  async saveTasks(tasks: ReadonlyMap<string, string>, nowMs: number): Promise<void> {
    const upsert = `INSERT INTO task_state (key_hash, value, changed_ms) VALUES (?, ?, ?)
      ON CONFLICT (key_hash) DO UPDATE SET value = excluded.value, changed_ms = excluded.changed_ms`;
    await this.#write(
      ...[...tasks].map(([key, value]): Statement => [upsert, this.#taskHash(key), value, Math.round(nowMs)]),
    );
  }

  async task(key: string): Promise<string | undefined> {
    return this.#text("SELECT value AS text FROM task_state WHERE key_hash = ?", this.#taskHash(key));
  }

  async #text(sql: string, key: string): Promise<string | undefined> {
    const [rows] = await this.#db.read([sql, key]);
    const text = rows?.[0]?.["text"];
    return text === undefined ? undefined : String(text);
  }

  /** Deletes states that have not changed since `fromMs`, and of the rest the oldest above `most`. */
  async pruneTasks(fromMs: number, most: number): Promise<void> {
    await this.#write(
      ["DELETE FROM task_state WHERE changed_ms < ?", Math.round(fromMs)],
      [
        `DELETE FROM task_state WHERE changed_ms <=
           (SELECT changed_ms FROM task_state ORDER BY changed_ms DESC LIMIT 1 OFFSET ?)`,
        most,
      ],
    );
  }

  /** Half a SHA-256: nobody who reads the store can tell ids from it without trying them with the salt. */
  #taskHash(key: string): string {
    return Bun.SHA256.hash(`${this.salt}\n${key}`, "hex").slice(0, 32);
  }

  /** Keeps what a caller reports, in place of an earlier report; false where no answer to a user's work is known by that id. */
  async reportOutcome({ decisionId, outcome, score }: ReportedOutcome): Promise<boolean> {
    const changed = await this.#change([decisionId], (record) =>
      record.model === null || record.housekeeping !== null ? undefined : { ...record, reported: { outcome, score } },
    );
    return changed > 0;
  }

  /** Writes the final costs of attempts. Repeating it changes nothing, also on two nodes at once. Returns how many records it has changed. */
  async correct(corrections: readonly CostCorrection[]): Promise<number> {
    const byDecision = Map.groupBy(corrections, ({ decisionId }) => decisionId);
    return this.#change([...byDecision.keys()], (record) =>
      (byDecision.get(record.decision_id) ?? []).reduce<DecisionRecord | undefined>(
        (before, correction) => corrected(before ?? record, correction) ?? before,
        undefined,
      ),
    );
  }

  /** Writes other records in the place of these, with their sums, block by block. Returns how many. */
  async #change(
    ids: readonly string[],
    changed: (record: DecisionRecord) => DecisionRecord | undefined,
  ): Promise<number> {
    for (let tries = 1; ; tries++) {
      let count = 0;
      try {
        for (const { block, matches } of ids.length === 0 ? [] : await this.#blocksWith(ids)) {
          const changes = matches.flatMap(({ line, record }) => {
            const after = changed(record);
            return after === undefined ? [] : [{ line, record, after }];
          });
          if (changes.length === 0) continue;
          const next = blockChanged(block, new Map(changes.map(({ line, after }) => [line, after])));
          const [after, before] = [changes.map((each) => each.after), changes.map(({ record }) => record)];
          await this.#write(...blockStatements(next), ...sumStatements(after, before));
          if (this.#unfilled?.id === block.id) this.#unfilled = next;
          count += changes.length;
        }
        return count;
      } catch (error) {
        // The same version of the block is there already: another process has changed it meanwhile.
        if (tries === changeTries || !/unique/i.test(String(error))) throw error;
      }
    }
  }

  /**
   * What the ledger knows by now of records whose cost is open: whoever has closed their attempts, an operator, another node or this one
   * before a restart. Of the blocks behind that number; `next` is undefined when there are no more.
   */
  async openCosts(number = 0): Promise<{ readonly corrections: readonly CostCorrection[]; readonly next?: number }> {
    const [rows = []] = await this.#db.read([
      `SELECT ${blockColumns} FROM decision_block WHERE open_costs > 0 AND number > ? ORDER BY number LIMIT 1`,
      number,
    ]);
    const [row] = rows;
    if (row === undefined) return { corrections: [] };
    const ids = matchesIn(blockOf(row), [["costState", ["unknown"]]]).flatMap(({ record }) =>
      record.attempts.map((attempt) => `${record.decision_id}.${attempt.number}`),
    );
    const [closed = []] = await this.#db.read([
      `SELECT id, hold, actual, state FROM reservation WHERE id IN (${placeholders(ids)}) AND closed_ms IS NOT NULL`,
      ...ids,
    ]);
    const corrections = closed.map((reservation) => {
      const state = String(reservation["state"]) as ReservationState; // the ledger writes no other
      const actual = reservation["actual"] == null ? null : Number(reservation["actual"]);
      const charged = chargedOf({ state, actual, hold: Number(reservation["hold"]) });
      return correctionOf({ ...partsOfReservationId(String(reservation["id"])), state, charged });
    });
    return { corrections, next: Number(row["number"]) };
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

/**
 * How many of the records, in their order, are on a page of `limit`. Two processes may give two records one number. The next page begins
 * behind the last number of this one, so this one has all records with that number.
 */
function pageLength(records: readonly DecisionRecord[], limit: number): number {
  let length = Math.min(limit, records.length);
  const last = records[length - 1]?.seq;
  while (length > 0 && length < records.length && records[length]?.seq === last) length += 1;
  return length;
}

/** When a UUIDv7 was made, in milliseconds since the epoch; 0 for other ids. */
function timeIn(id: string): number {
  const [, high = "", low = ""] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  return Number.parseInt(high + low, 16) || 0;
}

/** The record with that cost; undefined where it has it already. */
function corrected(
  record: DecisionRecord,
  { attempt, costNanoUsd, state }: CostCorrection,
): DecisionRecord | undefined {
  const before = record.attempts.find(({ number }) => number === attempt);
  if (before === undefined || before.cost_nano_usd === costNanoUsd) return undefined;
  const attempts = record.attempts.map((each) =>
    each === before ? { ...each, cost_nano_usd: costNanoUsd, cost_source: "ledger" } : each,
  );
  const isOpen = attempts.some(({ cost_nano_usd }) => cost_nano_usd === null);
  return {
    ...record,
    attempts,
    cost_nano_usd: record.cost_nano_usd + costNanoUsd - (before.cost_nano_usd ?? 0),
    cost_state: isOpen ? record.cost_state : state,
  };
}
