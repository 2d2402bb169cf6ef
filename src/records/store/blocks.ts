import type { SqlWrite } from "#db/sql-writes.ts";
import { Cause } from "#domain/routing.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import {
  type Condition,
  type FilterField,
  fieldOf,
  fieldPasses,
  fieldsIn,
  joined,
  rulesIn,
  statusClass,
} from "./filter.ts";
import { hourAfter, hourOf, pageLength } from "./seq.ts";
import type { BlockSearch, Dialect, SqlRead, SqlRow } from "./sql-connection.ts";

/**
 * Records that are written together are one row: their JSON, one a line, compressed (zstd). Beside it stand each value that a record
 * has in a field of a filter, once (`terms`), and hashes of the records' ids, by which the blocks that can hold a match are found.
 */

/** A row of `decision_block`. The bytes are base64. */
interface EncodedBlock {
  readonly data: string;
  readonly terms: string;
  readonly ids: string;
}

const termFields = [
  "session",
  "goal",
  "task",
  "model",
  "tier",
  "cause",
  "rule",
  "kind",
  "alias",
  "action",
  "outcome",
  "status",
  "refusedBy",
  "errorClass",
  "costState",
] as const satisfies readonly FilterField[];

function encodeBlock(records: readonly DecisionRecord[]): EncodedBlock {
  const text = records.map((record) => JSON.stringify(record)).join("\n");
  const ids = new Uint32Array(records.length * 2);
  for (const [line, { decision_id, request_id }] of records.entries()) {
    ids[line * 2] = Bun.hash.xxHash32(decision_id);
    ids[line * 2 + 1] = Bun.hash.xxHash32(request_id);
  }
  return {
    // Not in another thread: handing it over takes longer than compressing it.
    data: Bun.zstdCompressSync(text, { level: 1 }).toString("base64"),
    terms: termsIn(records),
    ids: Buffer.from(ids.buffer).toString("base64"),
  };
}

function termsIn(records: readonly DecisionRecord[]): string {
  let terms = "\n";
  for (const field of termFields) {
    const values = new Set<string>();
    for (const record of records) {
      const value = fieldOf(record, field) ?? "";
      if (field === "rule") for (const rule of rulesIn(value)) values.add(rule);
      else values.add(value);
      if (field === "status") values.add(statusClass(value));
    }
    for (const value of values) terms += termOf(field, value).slice(1);
  }
  return terms;
}

/** What stands in `terms` for a value: a line of its own. JSON has no line breaks. */
function termOf(field: FilterField, value: string): string {
  return `\n${field}=${JSON.stringify(value)}\n`;
}

/** The statements that write a block, or write it `again` with more records. */
export function blockWrites(
  id: number,
  lastSeq: number,
  records: readonly DecisionRecord[],
  again: boolean,
): readonly SqlWrite[] {
  const { data, terms, ids } = encodeBlock(records);
  const bytes = Buffer.byteLength(data, "base64") + Buffer.byteLength(ids, "base64") + terms.length + rowBytes;
  const before = (name: string) => `COALESCE((SELECT b.${name} FROM decision_block b WHERE b.id = ?), 0)`;
  return [
    {
      sql: again
        ? `UPDATE decision_store SET records = records + ? - ${before("records")}, bytes = bytes + ? - ${before("bytes")} WHERE id = 1`
        : "UPDATE decision_store SET records = records + ?, bytes = bytes + ? WHERE id = 1",
      rows: [again ? [records.length, id, bytes, id] : [records.length, bytes]],
    },
    ...(again ? [{ sql: "DELETE FROM decision_block WHERE id = ?", rows: [[id]] }] : []),
    {
      sql: "INSERT INTO decision_block (id, last_seq, records, bytes, terms, ids, data) VALUES (?)",
      rows: [[id, lastSeq, records.length, bytes, terms, { blob: ids }, { blob: data }]],
    },
  ];
}

/** Bytes that a block's row takes beside its texts. */
const rowBytes = 150;

/** Blocks that are opened at a time. With PostgreSQL that is the main thread's work, some milliseconds. */
const opensAtOnce = 8;
/** Rows that are read first, without their data; the rest is read where these do not suffice. */
const firstRows = 16;

/**
 * Searches the blocks that may have records that pass, in their order, until enough are found. It yields what is to be read, so that it
 * runs beside SQLite as well as over a network.
 */
export function* searchBlocks(
  search: BlockSearch,
  dialect: Dialect,
): Generator<SqlRead, readonly DecisionRecord[], readonly SqlRow[]> {
  const { newestFirst, limit } = search;
  const found: DecisionRecord[] = [];
  let blocks = yield blocksFor(search, dialect, firstRows);
  let complete = blocks.length < firstRows;
  for (let at = 0; ; ) {
    if (at >= blocks.length) {
      if (complete) break;
      const seen = new Set(blocks.map(({ id }) => Number(id)));
      blocks = (yield blocksFor(search, dialect)).filter(({ id }) => !seen.has(Number(id)));
      complete = true;
      at = 0;
      continue;
    }
    const next = blocks.slice(at, at + opensAtOnce);
    at += next.length;
    found.push(...(yield* matchesIn(next, search, dialect)));
    found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq));
    const last = found[pageLength(found, limit)];
    const following = blocks[at];
    // Blocks of several processes may overlap: a later one may still have a record that comes before those found.
    if (last === undefined || following === undefined) continue;
    if (newestFirst ? Number(following["last_seq"]) < last.seq : Number(following["id"]) > last.seq) break;
  }
  return found.slice(0, pageLength(found, limit) + 1);
}

/** The records in these blocks that pass, with the costs that the ledger learned later. */
function* matchesIn(
  rows: readonly SqlRow[],
  search: BlockSearch,
  dialect: Dialect,
): Generator<SqlRead, readonly DecisionRecord[], readonly SqlRow[]> {
  const ids = rows.map((row) => Number(row["id"]));
  // One parameter, so that the statement stays prepared.
  const list = dialect === "sqlite" ? "(SELECT value FROM json_each(?))" : `(${ids.join(",")})`;
  const values = dialect === "sqlite" ? [JSON.stringify(ids)] : [];
  const data = dialect === "sqlite" ? "data" : "encode(data, 'base64') AS data";
  const blocks = yield [`SELECT id, ${data} FROM decision_block WHERE id IN ${list}`, values];
  const costs = rows.some((row) => Number(row["has_costs"]) === 1)
    ? yield [
        "SELECT decision_id, attempt, cost_nano_usd, cost_state FROM decision_cost WHERE seq BETWEEN ? AND ?",
        [Math.min(...ids), Math.max(...rows.map((row) => Number(row["last_seq"])))],
      ]
    : [];
  const costsById = Map.groupBy(costs, (row) => String(row["decision_id"]));
  const fields = fieldsIn(search.filter);
  return blocks.flatMap((block) =>
    linesOf(block["data"]).flatMap((line): readonly DecisionRecord[] => {
      if (!mayPass(line, search)) return [];
      const record = parsedRecord(line);
      if (record === undefined || record.seq < search.from || record.seq >= search.to) return [];
      const { ids: wanted } = search;
      if (wanted !== undefined && !wanted.anyOf.includes(record[`${wanted.kind}_id`])) return [];
      const corrected = withCosts(record, costsById.get(record.decision_id) ?? []);
      return fields.every(([field, anyOf]) => fieldPasses(field, anyOf, fieldOf(corrected, field))) ? [corrected] : [];
    }),
  );
}

/** Whether a line can be a record that passes: it has each wanted text somewhere. Most lines need not be parsed then. */
function mayPass(line: string, { filter, ids }: BlockSearch): boolean {
  if (ids !== undefined && !ids.anyOf.some((id) => line.includes(JSON.stringify(id)))) return false;
  return fieldsIn(filter).every(
    ([field, anyOf]) =>
      field === "status" ||
      field === "costState" ||
      anyOf.some((value) => line.includes(field === "rule" ? value : JSON.stringify(value).slice(1, -1))),
  );
}

function linesOf(data: unknown): readonly string[] {
  // As the dialect gives it: base64 or bytes.
  const packed = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array);
  try {
    return Bun.zstdDecompressSync(packed).toString("utf8").split("\n");
  } catch {
    return []; // Not written by this program: its records are left out.
  }
}

/** Not validated further, because only this program writes it. Undefined for a record that this release cannot read. */
function parsedRecord(line: string): DecisionRecord | undefined {
  try {
    const record = JSON.parse(line) as DecisionRecord; // as `encodeBlock` wrote it
    return record.cause === null || causes.has(record.cause) ? record : undefined;
  } catch {
    return undefined;
  }
}

const causes: ReadonlySet<string> = new Set(Cause.options);

/** The record with the costs of `decision_cost`: those of its attempts, and of attempt 0 its state. */
function withCosts(record: DecisionRecord, costs: readonly SqlRow[]): DecisionRecord {
  if (costs.length === 0) return record;
  const byAttempt = new Map(costs.map((row) => [Number(row["attempt"]), row]));
  let cost = record.cost_nano_usd;
  const attempts = record.attempts.map((attempt) => {
    const row = byAttempt.get(attempt.number);
    if (row === undefined) return attempt;
    const later = Number(row["cost_nano_usd"]);
    cost += later - (attempt.cost_nano_usd ?? 0);
    return { ...attempt, cost_nano_usd: later, cost_source: "ledger" };
  });
  const state = String(byAttempt.get(0)?.["cost_state"] ?? record.cost_state);
  // The store writes no other.
  return { ...record, attempts, cost_nano_usd: cost, cost_state: state as DecisionRecord["cost_state"] };
}

/** The blocks that may have records that pass, in the order of the search. */
function blocksFor(search: BlockSearch, dialect: Dialect, limit?: number): SqlRead {
  const { from, to, newestFirst, filter, ids } = search;
  const hashes = [...(ids?.anyOf ?? []), ...(filter.requestId === undefined ? [] : [filter.requestId])];
  const parts: Condition[] =
    hashes.length === 0 ? [] : [{ sql: `(${hashes.map((id) => hasHash(id, dialect)).join(" OR ")})`, values: [] }];
  // SQLite looks for bytes twice as quickly as for characters.
  const contains =
    dialect === "sqlite" ? "instr(CAST(b.terms AS BLOB), CAST(? AS BLOB)) > 0" : "strpos(b.terms, ?) > 0";
  for (const [field, values] of fieldsIn(filter)) {
    if (field === "requestId") continue;
    const alternatives: string[] = values.map(() => contains);
    // What a correction has made of a record's state is not in the terms.
    if (field === "costState") alternatives.push(hasCosts);
    parts.push({
      sql: alternatives.length === 0 ? "1 = 0" : `(${alternatives.join(" OR ")})`,
      values: values.map((each) => termOf(field, each)),
    });
  }
  // A block is of one hour: that bounds both ends of it, where an index has only one.
  const bounds = newestFirst ? "b.last_seq >= ? AND b.last_seq < ?" : "b.id >= ? AND b.id < ?";
  const range = newestFirst ? [from, Math.min(hourAfter(to), Number.MAX_SAFE_INTEGER)] : [hourOf(from), to];
  parts.push({ sql: `${bounds} AND b.id < ? AND b.last_seq >= ?`, values: [...range, to, from] });
  const { sql, values } = joined(parts);
  return [
    `SELECT b.id, b.last_seq, b.records, CASE WHEN ${hasCosts} THEN 1 ELSE 0 END AS has_costs FROM decision_block b WHERE ${sql}
     ORDER BY ${newestFirst ? "b.last_seq DESC" : "b.id"}${limit === undefined ? "" : ` LIMIT ${limit}`}`,
    values,
  ];
}

const hasCosts = "EXISTS (SELECT 1 FROM decision_cost c WHERE c.seq BETWEEN b.id AND b.last_seq)";

function hasHash(id: string, dialect: Dialect): string {
  const hash = Buffer.alloc(4);
  hash.writeUInt32LE(Bun.hash.xxHash32(id));
  const hex = hash.toString("hex");
  return dialect === "sqlite" ? `instr(b.ids, x'${hex}') > 0` : `position(decode('${hex}', 'hex') IN b.ids) > 0`;
}
