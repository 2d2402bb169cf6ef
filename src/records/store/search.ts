import type { StoreDatabase } from "#db/store-database.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { type Wanted, wantedBy } from "#records/filter.ts";
import type { PageRequest, RecordFilter, RecordPage } from "#records/records.ts";
import { type Block, blockColumns, blockOf, type Match, matchesIn, seqFrom, termOf } from "./blocks.ts";
import { hourMs } from "./sums.ts";

/** Blocks that are opened at a time, which takes the main thread some milliseconds. */
const opensAtOnce = 8;

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

/** One page of the records that pass. */
export async function findPage(
  db: StoreDatabase,
  filter: RecordFilter,
  { before = Number.MAX_SAFE_INTEGER, after, limit }: PageRequest,
): Promise<RecordPage> {
  const { fromMs = 0, toMs } = filter;
  const newestFirst = after === undefined;
  const found: DecisionRecord[] = [];
  const search = {
    wanted: wantedBy(filter),
    from: Math.max(seqFrom(fromMs), after === undefined ? 0 : after + 1),
    to: Math.min(toMs === undefined ? before : seqFrom(toMs), before),
    newestFirst,
    // A page is seldom in more blocks than these.
    atOnce: Math.min(opensAtOnce, 1 + Math.ceil(limit / 64)),
  };
  for await (const { block, matches } of searchBlocks(db, search)) {
    // Blocks of several processes may overlap: a later one may still have a record that comes before those found.
    const last = found[pageLength(found, limit)]?.seq;
    if (last !== undefined && (newestFirst ? block.lastSeq < last : block.firstSeq > last)) break;
    found.push(...matches.map(({ record }) => record));
    found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq));
  }
  const length = pageLength(found, limit);
  return { records: found.slice(0, length), more: found.length > length };
}

/** The blocks that have these decisions. Where ids tell their times, no earlier block is read. */
export async function blocksWith(db: StoreDatabase, ids: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  const search: Search = {
    wanted: [["decisionId", ids]],
    from: seqFrom(Math.max(0, Math.min(...ids.map(timeIn)) - hourMs)),
    newestFirst: false,
    atOnce: Math.min(ids.length, opensAtOnce),
  };
  let missing = ids.length;
  for await (const each of missing === 0 ? [] : searchBlocks(db, search)) {
    if (each.matches.length > 0) found.push(each);
    missing -= each.matches.length;
    if (missing <= 0) break;
  }
  return found;
}

/** The blocks that may have wanted records, in their order, with these. */
async function* searchBlocks(db: StoreDatabase, search: Search): AsyncGenerator<Found> {
  const { wanted, from = 0, to = Number.MAX_SAFE_INTEGER, newestFirst, atOnce = opensAtOnce } = search;
  const [order, direction, beyond] = newestFirst
    ? (["last_seq", "DESC", "<"] as const)
    : (["first_seq", "ASC", ">"] as const);
  const contains = db.kind === "sqlite" ? "instr(terms, ?) > 0" : "strpos(terms, ?) > 0";
  const terms = wanted.map(([, anyOf]) => `AND (${anyOf.map(() => contains).join(" OR ") || "1 = 0"})`);
  const values = wanted.flatMap(([field, anyOf]) => anyOf.map((value) => termOf(field, value)));
  const sql = `SELECT ${blockColumns} FROM decision_block WHERE last_seq >= ? AND first_seq < ? ${terms.join(" ")}
     AND (${order}, number) ${beyond} (?, ?) ORDER BY ${order} ${direction}, number ${direction} LIMIT ?`;
  for (let place = newestFirst ? [Number.MAX_SAFE_INTEGER, 0] : [-1, 0]; ; ) {
    const [rows = []] = await db.read([sql, from, to, ...values, ...place, atOnce]);
    for (const row of rows) {
      const block = blockOf(row);
      yield { block, matches: matchesIn(block, wanted, from, to) };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < atOnce) return;
    place = [Number(last[order]), Number(last["number"])];
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

/** A record is new up to this time after it counts: its store may not have answered for a while, or its process's clock be behind. */
const maxLateMs = 60_000;
/** Decision ids that are kept to give out each record once. */
const maxSeen = 50_000;

/** Reads what any process writes from its first reading on, each record once. Blocks are numbered as they are written, so no clock matters. */
export class Follower {
  readonly #db: StoreDatabase;
  /** The number of the last block that was read. */
  #number: number | undefined;
  readonly #seen = new Set<string>();

  constructor(db: StoreDatabase) {
    this.#db = db;
  }

  /** What is new since the reading before, in the order of writing. Rejects when the store does not answer; the next reading goes on there. */
  async read(nowMs: number): Promise<readonly DecisionRecord[]> {
    const fromMs = nowMs - maxLateMs;
    if (this.#number === undefined) {
      const [rows] = await this.#db.read(["SELECT COALESCE(MAX(number), 0) AS number FROM decision_block"]);
      this.#number = Number(rows?.[0]?.["number"]);
      // Records are added to the last block of each process: those that it has already are not new.
      this.#add((await findPage(this.#db, { fromMs }, { limit: 1_000 })).records);
      return [];
    }
    const fresh: DecisionRecord[] = [];
    for (;;) {
      const [rows = []] = await this.#db.read([
        `SELECT ${blockColumns} FROM decision_block WHERE number > ? ORDER BY number LIMIT ?`,
        ...[this.#number, opensAtOnce],
      ]);
      const records = rows.flatMap((row) => matchesIn(blockOf(row), []).map(({ record }) => record));
      fresh.push(...this.#add(records.filter(({ recorded_ms }) => recorded_ms >= fromMs)));
      const last = rows.at(-1);
      if (last === undefined) return fresh;
      this.#number = Number(last["number"]);
    }
  }

  /** Those that were not seen before. */
  #add(records: readonly DecisionRecord[]): readonly DecisionRecord[] {
    const fresh = records.filter(({ decision_id }) => !this.#seen.has(decision_id));
    for (const { decision_id } of fresh) this.#seen.add(decision_id);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= maxSeen) break;
      this.#seen.delete(oldest);
    }
    return fresh;
  }
}
