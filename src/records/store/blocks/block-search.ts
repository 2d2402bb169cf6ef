import type { RecordFilter } from "#records/records.ts";
import { type Condition, type FilterField, fieldPasses, fieldsIn, joined } from "#records/store/filter-sql.ts";
import { hourAfter, hourOf, pageLength } from "#records/store/seq.ts";
import type { SqlRow } from "#records/store/sql-row.ts";
import {
  type HeadField,
  hasIdHash,
  headValue,
  type IdKind,
  idHash,
  type OpenBlock,
  openBlock,
  seqsIn,
  termOf,
} from "./record-block.ts";

/** Which records of the blocks are wanted. Travels between threads as JSON. */
export interface BlockSearch {
  /** Without its times, which are in the numbers. */
  readonly filter: Pick<RecordFilter, FilterField>;
  /** Records whose id has the hash of one of these; another id may have it too. */
  readonly ids?: { readonly kind: IdKind; readonly anyOf: readonly string[] };
  /** `seq`: from inclusive, to exclusive. */
  readonly from: number;
  readonly to: number;
  readonly newestFirst: boolean;
  /** Records of a page (as `pageLength`); one more is found where there is one. */
  readonly limit: number;
}

/** Rows of `seq`, `block`, `line`, and where the cost has changed `delta_nano_usd` and `cost_state`. */
export interface FoundInBlocks {
  readonly rows: readonly SqlRow[];
  /** The blocks that rows name, as the database gives them, and opened. */
  readonly packed: ReadonlyMap<number, unknown>;
  readonly opened: ReadonlyMap<number, OpenBlock>;
}

export type SqlRead = readonly [sql: string, values: readonly (string | number)[]];

/** Blocks that are opened at first, and then at a time. With PostgreSQL that is the main thread's work: some milliseconds. */
const opensFirst = 8;
const opensAtOnce = 16;
/** Heads that are read first; the rest is read where these do not suffice. */
const firstHeads = 16;

/**
 * Searches the blocks: of the heads that may have records that pass, in their order, opens the blocks until enough is found. It
 * yields what is to be read, so that it runs beside SQLite as well as over a network.
 */
export function* searchBlocks(
  search: BlockSearch,
  dialect: "sqlite" | "postgres",
): Generator<SqlRead, FoundInBlocks, readonly SqlRow[]> {
  const { newestFirst, limit } = search;
  const found: { readonly seq: number; readonly row: SqlRow }[] = [];
  const packed = new Map<number, unknown>();
  const opened = new Map<number, OpenBlock>();
  let heads = yield headsFor(search, dialect, firstHeads);
  let isWhole = heads.length < firstHeads;
  for (let at = 0; ; ) {
    if (at >= heads.length) {
      if (isWhole) break;
      const seen = new Set(heads.map(({ id }) => Number(id)));
      heads = (yield headsFor(search, dialect)).filter(({ id }) => !seen.has(Number(id)));
      isWhole = true;
      at = 0;
      continue;
    }
    const next = heads.slice(at, at + (at === 0 ? opensFirst : opensAtOnce));
    at += next.length;
    for (const { seq, row, block, data } of yield* recordsIn(next, search, dialect)) {
      found.push({ seq, row });
      packed.set(block.id, data);
      opened.set(block.id, block);
    }
    found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq));
    const last = found[pageLength(found, limit)];
    const head = heads[at];
    // Blocks of several processes may overlap: a later one may still have a record that comes before those found.
    if (last === undefined || head === undefined) continue;
    if (newestFirst ? Number(head["last_seq"]) < last.seq : Number(head["id"]) > last.seq) break;
  }
  return { rows: found.slice(0, pageLength(found, limit) + 1).map(({ row }) => row), packed, opened };
}

interface Match {
  readonly seq: number;
  readonly row: SqlRow;
  readonly block: OpenBlock & { readonly id: number };
  readonly data: unknown;
}

/** Opens the blocks of the heads. The records in them that pass. */
function* recordsIn(
  heads: readonly SqlRow[],
  search: BlockSearch,
  dialect: "sqlite" | "postgres",
): Generator<SqlRead, readonly Match[], readonly SqlRow[]> {
  const ids = heads.map((head) => Number(head["id"]));
  const content = dialect === "sqlite" ? "data" : "encode(data, 'base64') AS data";
  // The same text each time, so that the statement stays prepared.
  const list = dialect === "sqlite" ? "(SELECT value FROM json_each(?))" : `(${ids.join(",")})`;
  const values = dialect === "sqlite" ? [JSON.stringify(ids)] : [];
  const blocks = yield [`SELECT id, ${content} FROM decision_block WHERE id IN ${list}`, values];
  const haveCosts = heads.some((head) => Number(head["has_costs"]) === 1);
  const costs = haveCosts
    ? yield [
        `SELECT decision_id, seq, block, delta_nano_usd, cost_state FROM decision_late_cost WHERE block IN ${list}`,
        values,
      ]
    : [];
  const costsOf = Map.groupBy(costs, ({ block }) => Number(block));
  const hashes =
    costs.length > 0
      ? yield [`SELECT h.id, ${hashesIn(dialect)} AS hashes FROM decision_block_head h WHERE h.id IN ${list}`, values]
      : [];
  const hashesOf = new Map(hashes.map((row) => [Number(row["id"]), String(row["hashes"])]));
  const headOf = new Map(heads.map((head) => [Number(head["id"]), head]));
  const matches: Match[] = [];
  for (const { id, data } of blocks) {
    const block = openBlock(data);
    const head = headOf.get(Number(id));
    if (block === undefined || head === undefined) continue;
    const costOf = costFinder(costsOf.get(Number(id)) ?? [], hashesOf.get(Number(id)) ?? "");
    const isWanted = lineTest(search, block, head, costOf);
    for (const [line, seq] of seqsIn(block, Number(head["records"])).entries()) {
      if (seq < search.from || seq >= search.to || !isWanted(line, seq)) continue;
      const row = { seq, block: Number(id), line, ...costOf(line, seq) };
      matches.push({ seq, row, block: { ...block, id: Number(id) }, data });
    }
  }
  return matches;
}

type CostOf = (line: number, seq: number) => SqlRow | undefined;

/** What has changed in the cost of a line. Records of one block can have one number; the hashes of their ids tell them apart. */
function costFinder(costs: readonly SqlRow[], hashes: string): CostOf {
  if (costs.length === 0) return () => undefined;
  const bySeq = Map.groupBy(costs, ({ seq }) => Number(seq));
  return (line, seq) => {
    const cost = bySeq
      .get(seq)
      ?.find(({ decision_id }) => hasIdHash(hashes, line, "decision", idHash(String(decision_id))));
    return cost && { delta_nano_usd: cost["delta_nano_usd"], cost_state: cost["cost_state"] };
  };
}

function lineTest(
  { filter, ids }: BlockSearch,
  block: OpenBlock,
  head: SqlRow,
  costOf: CostOf,
): (line: number, seq: number) => boolean {
  const wanted = idsWanted({ filter, ...(ids === undefined ? {} : { ids }) });
  const hashes = String(head["hashes"]);
  const tests = fieldsIn(filter).map(([field, anyOf]) => {
    if (field === "requestId") return () => true; // by its hash
    const headField = headFieldOf(field);
    if (field === "costState") {
      return (line: number, seq: number) =>
        fieldPasses(field, anyOf, String(costOf(line, seq)?.["cost_state"] ?? headValue(block, headField, line)));
    }
    // Most blocks have one value in most fields.
    const isSame = !("each" in (block.heads?.[headField] ?? {}));
    const samePasses = isSame && fieldPasses(field, anyOf, headValue(block, headField, 0));
    return (line: number) => (isSame ? samePasses : fieldPasses(field, anyOf, headValue(block, headField, line)));
  });
  return (line, seq) =>
    wanted.every(({ kind, anyOf }) => anyOf.some((hash) => hasIdHash(hashes, line, kind, hash))) &&
    tests.every((passes) => passes(line, seq));
}

/** The hashes of the ids that records must have. */
function idsWanted({ filter, ids }: Pick<BlockSearch, "filter" | "ids">) {
  const wanted = ids === undefined ? [] : [{ kind: ids.kind, anyOf: ids.anyOf.map(idHash) }];
  if (filter.requestId !== undefined) wanted.push({ kind: "request", anyOf: [idHash(filter.requestId)] });
  return wanted;
}

/** The heads of blocks that may have records that pass, in the order of the search. */
function headsFor(search: BlockSearch, dialect: "sqlite" | "postgres", limit?: number): SqlRead {
  const { from, to, newestFirst } = search;
  const wanted = idsWanted(search);
  const parts: Condition[] = wanted.map(({ anyOf }) => ({
    sql: `(${anyOf.map((hash) => hasBytes(hash, dialect)).join(" OR ")})`,
    values: [],
  }));
  // SQLite looks for bytes twice as quickly as for characters.
  const contains =
    dialect === "sqlite" ? "instr(CAST(h.terms AS BLOB), CAST(? AS BLOB)) > 0" : "strpos(h.terms, ?) > 0";
  for (const [field, values] of fieldsIn(search.filter)) {
    if (field === "requestId") continue;
    const alternatives: string[] = values.map(() => contains);
    // What a correction has made of a record's state is not in the terms.
    if (field === "costState") alternatives.push(hasCosts);
    parts.push({
      sql: alternatives.length === 0 ? "1 = 0" : `(${alternatives.join(" OR ")})`,
      values: values.map((each) => termOf(headFieldOf(field), each)),
    });
  }
  // A block is of one hour: that bounds both ends of it, where an index has only one.
  const bounds = newestFirst ? "h.last_seq >= ? AND h.last_seq < ?" : "h.id >= ? AND h.id < ?";
  const range = newestFirst ? [from, Math.min(hourAfter(to), Number.MAX_SAFE_INTEGER)] : [hourOf(from), to];
  parts.push({ sql: `${bounds} AND h.id < ? AND h.last_seq >= ?`, values: [...range, to, from] });
  const { sql, values } = joined(parts);
  const hashes = wanted.length === 0 ? "" : `, ${hashesIn(dialect)} AS hashes`;
  return [
    `SELECT h.id, h.last_seq, h.records, CASE WHEN ${hasCosts} THEN 1 ELSE 0 END AS has_costs${hashes} FROM decision_block_head h WHERE ${sql}
     ORDER BY ${newestFirst ? "h.last_seq DESC" : "h.id"}${limit === undefined ? "" : ` LIMIT ${limit}`}`,
    values,
  ];
}

const hasCosts = "EXISTS (SELECT 1 FROM decision_late_cost c WHERE c.block = h.id)";

/** The hashes of the ids in a block, hexadecimal. */
function hashesIn(dialect: "sqlite" | "postgres"): string {
  return dialect === "sqlite" ? "lower(hex(h.ids))" : "encode(h.ids, 'hex')";
}

function hasBytes(hash: string, dialect: "sqlite" | "postgres"): string {
  return dialect === "sqlite" ? `instr(h.ids, x'${hash}') > 0` : `position(decode('${hash}', 'hex') IN h.ids) > 0`;
}

function headFieldOf(field: Exclude<FilterField, "requestId">): HeadField {
  switch (field) {
    case "refusedBy":
      return "refused_by";
    case "errorClass":
      return "error_class";
    case "costState":
      return "cost_state";
    default:
      return field;
  }
}
