import type { StoreDatabase } from "#db/store-database.ts";
import { LruMap } from "#platform/lru-map.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { type PageRequest, type RecordFilter, type RecordPage, type Wanted, wantedBy } from "#records/records.ts";
import { completeRecord } from "#records/stored-record.ts";
import { type Block, blockColumns, blockIn, type Match, matchesIn, seqFrom, termHash } from "./blocks.ts";
import { hourMs } from "./sums.ts";

/** Blocks that are read at a time; they are opened one by one. */
const readsAtOnce = 4;

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
  const wanted = wantedBy(filter);
  const from = Math.max(seqFrom(fromMs), after === undefined ? 0 : after + 1);
  const to = Math.min(toMs === undefined ? before : seqFrom(toMs), before);
  for await (const { block, matches } of searchBlocks(db, wanted, from, to, newestFirst)) {
    // Blocks of several processes may overlap: a later one may still have a record that comes before those found.
    const last = found[pageLength(found, limit)]?.seq;
    if (last !== undefined && (newestFirst ? block.lastSeq < last : block.firstSeq > last)) break;
    found.push(...matches.map(({ record }) => completeRecord(record)));
    found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq));
  }
  const length = pageLength(found, limit);
  return { records: found.slice(0, length), more: found.length > length };
}

/**
 * How many of the records, in their order, are on a page of `limit`. Two processes may give two records one number. The
 * next page begins behind the last number of this one, so this one has all records with that number.
 */
function pageLength(records: readonly DecisionRecord[], limit: number): number {
  let length = Math.min(limit, records.length);
  const last = records[length - 1]?.seq;
  while (length > 0 && length < records.length && records[length]?.seq === last) length += 1;
  return length;
}

/** A record is written at the end of its request, which takes no longer. */
const longestRequestMs = 48 * hourMs;

/** The blocks that have these decisions. Where ids tell their times, no earlier or much later block is read. */
export async function blocksWith(db: StoreDatabase, ids: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  const wanted: readonly Wanted[] = [["decisionId", ids]];
  const times = ids.map(timeIn);
  const from = seqFrom(Math.max(0, Math.min(...times) - hourMs));
  const to = times.includes(0) ? Number.MAX_SAFE_INTEGER : seqFrom(Math.max(...times) + longestRequestMs);
  let missing = ids.length;
  for await (const each of missing === 0 ? [] : searchBlocks(db, wanted, from, to, false)) {
    if (each.matches.length > 0) found.push(each);
    missing -= each.matches.length;
    if (missing <= 0) break;
  }
  return found;
}

/** When a UUIDv7 was made, in milliseconds since the epoch; 0 for other ids. */
function timeIn(id: string): number {
  const [, high = "", low = ""] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  return Number.parseInt(high + low, 16) || 0;
}

/** The blocks that may have wanted records, numbered `from` (inclusive) to `to` (exclusive), in their order, with these. */
async function* searchBlocks(
  db: StoreDatabase,
  wanted: readonly Wanted[],
  from: number,
  to: number,
  newestFirst: boolean,
): AsyncGenerator<Found> {
  const [order, direction, beyond] = newestFirst
    ? (["last_seq", "DESC", "<"] as const)
    : (["first_seq", "ASC", ">"] as const);
  const contains = db.kind === "sqlite" ? "instr(terms, ?) > 0" : "strpos(terms, ?) > 0";
  const terms = wanted.map(([, anyOf]) => `AND (${anyOf.map(() => contains).join(" OR ") || "1 = 0"})`);
  const values = wanted.flatMap(([field, anyOf]) => anyOf.map((value) => ` ${termHash(`${field}=${value}`)} `));
  const sql = `SELECT ${blockColumns} FROM decision_block WHERE last_seq >= ? AND first_seq < ? ${terms.join(" ")}
     AND (${order}, number) ${beyond} (?, ?) ORDER BY ${order} ${direction}, number ${direction} LIMIT ?`;
  for (let place = newestFirst ? [Number.MAX_SAFE_INTEGER, 0] : [-1, 0]; ; ) {
    const [rows = []] = await db.read([sql, from, to, ...values, ...place, readsAtOnce]);
    for (const row of rows) {
      const block = blockIn(row);
      yield { block, matches: matchesIn(block, wanted, from, to) };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < readsAtOnce) return;
    place = [Number(last[order]), Number(last["number"])];
  }
}

/** Blocks that a follower knows: each process adds records to one at a time, and corrections write older ones again. */
const maxKnown = 10_000;
/** Blocks that one call reads. */
const followsAtOnce = 32;

/**
 * A function that reads what any process has written since its call before, each record once, in the order of writing.
 * The first call only says from where on; one that rejects is repeated by the next. Blocks are numbered as they are
 * written, and records are added at their ends, so no clock matters.
 */
export function follow(db: StoreDatabase): () => Promise<readonly DecisionRecord[]> {
  /** The number of the last block that was read. */
  let number: number | undefined;
  /** Lines that were read, by block. */
  const known = new LruMap<string, number>(maxKnown);
  return async () => {
    if (number === undefined) {
      const sql = "SELECT number, id, records FROM decision_block ORDER BY number DESC LIMIT ?";
      const [rows = []] = await db.read([sql, maxKnown]);
      for (const row of rows) known.set(String(row["id"]), Number(row["records"]));
      number = Number(rows[0]?.["number"] ?? 0);
      return [];
    }
    const fresh: DecisionRecord[] = [];
    const sql = `SELECT ${blockColumns} FROM decision_block WHERE number > ? ORDER BY number LIMIT ?`;
    const [rows = []] = await db.read([sql, number, followsAtOnce]);
    for (const row of rows) {
      const block = blockIn(row);
      const lines = block.lines.slice(known.get(block.id) ?? 0);
      fresh.push(...matchesIn({ ...block, lines }, []).map(({ record }) => completeRecord(record)));
      known.set(block.id, block.lines.length);
      number = Number(row["number"]);
    }
    return fresh;
  };
}
