import type { Statement, StoreRow } from "#db/store-database.ts";
import { Cause } from "#domain/routing.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { addTerms, hasWanted, type Wanted } from "#records/filter.ts";

/** Numbers (`seq`) per millisecond. */
export const seqPerMs = 1024;

export function seqFrom(atMs: number): number {
  return Math.ceil(atMs) * seqPerMs;
}

/**
 * Records that are written together are one row: their JSON, one a line, compressed (zstd, base64). Beside it stands a short hash of each
 * value that a filter can ask a record in it for, once: so the blocks that can have a match are found without opening them.
 */
export interface Block {
  /** The decision id of its first line. */
  readonly id: string;
  /** Each time it is written again it is another row, with the next version. */
  readonly version: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Records whose cost is not known yet. */
  readonly openCosts: number;
  readonly terms: ReadonlySet<string>;
  readonly lines: readonly string[];
}

/** Records of a block. Fewer, and each batch writes more rows; more, and a single record takes longer to read. */
export const maxLines = 128;
/** Up to so many, and within an hour, a small batch is added to the block before. Each time all of its records are written again. */
const maxLinesAgain = 64;
const maxSpan = 3_600_000 * seqPerMs;

/** A new block, or the next version of `before`. */
export function blockWith(records: readonly [DecisionRecord, ...DecisionRecord[]], before?: Block): Block {
  const numbers = records.map(({ seq }) => seq);
  return {
    id: before?.id ?? records[0].decision_id,
    version: (before?.version ?? 0) + 1,
    firstSeq: Math.min(before?.firstSeq ?? Number.MAX_SAFE_INTEGER, ...numbers),
    lastSeq: Math.max(before?.lastSeq ?? 0, ...numbers),
    openCosts: (before?.openCosts ?? 0) + countOpen(records),
    terms: termsWith(records, before),
    lines: [...(before?.lines ?? []), ...records.map((record) => JSON.stringify(record))],
  };
}

export function hasRoom({ lines, firstSeq }: Block, records: readonly DecisionRecord[]): boolean {
  const isNear = ({ seq }: DecisionRecord) => Math.abs(seq - firstSeq) < maxSpan;
  return lines.length + records.length <= maxLinesAgain && records.every(isNear);
}

/** The next version, with other records in some lines. What only the records before had stays in its terms. */
export function blockChanged(block: Block, changes: ReadonlyMap<number, DecisionRecord>): Block {
  const lines = block.lines.map((line, at) => {
    const record = changes.get(at);
    return record === undefined ? line : JSON.stringify(record);
  });
  const before = [...changes.keys()].flatMap((at) => parsedRecord(block.lines[at] ?? "") ?? []);
  const after = [...changes.values()];
  return {
    ...block,
    version: block.version + 1,
    openCosts: block.openCosts + countOpen(after) - countOpen(before),
    terms: termsWith(after, block),
    lines,
  };
}

/** The statements that write it, in place of the version before. They fail if that has been replaced by another meanwhile. */
export function blockStatements(block: Block): readonly Statement[] {
  const { id, version, firstSeq, lastSeq, openCosts } = block;
  const terms = ` ${[...block.terms].join(" ")} `;
  // Not in another thread: handing it over takes longer than compressing it.
  const data = Bun.zstdCompressSync(block.lines.join("\n"), { level: 1 }).toString("base64");
  const bytes = data.length + terms.length + rowBytes;
  return [
    ...(version === 1 ? [] : [["DELETE FROM decision_block WHERE id = ? AND version = ?", id, version - 1] as const]),
    [
      `INSERT INTO decision_block (id, version, first_seq, last_seq, records, bytes, open_costs, terms, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, version, firstSeq, lastSeq, block.lines.length, bytes, openCosts, terms, data],
    ],
  ];
}

/** Bytes that a block's row takes beside its texts. */
const rowBytes = 200;
export const blockColumns = "number, id, version, first_seq, last_seq, open_costs, terms, data";

/** A block as `blockColumns` reads it. */
export function blockOf(row: StoreRow): Block {
  return {
    id: String(row["id"]),
    version: Number(row["version"]),
    firstSeq: Number(row["first_seq"]),
    lastSeq: Number(row["last_seq"]),
    openCosts: Number(row["open_costs"]),
    terms: new Set(String(row["terms"]).trim().split(" ")),
    lines: linesIn(String(row["data"])),
  };
}

export interface Match {
  readonly line: number;
  readonly record: DecisionRecord;
}

/** The records of a block with these values, numbered `from` (inclusive) to `to` (exclusive). */
export function matchesIn(
  { lines }: Block,
  wanted: readonly Wanted[],
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
): Match[] {
  return lines.flatMap((text, line): Match[] => {
    // Most lines need not be parsed: they do not have the text anywhere.
    if (!wanted.every(([field, anyOf]) => field === "status" || anyOf.some((value) => text.includes(inJson(value))))) {
      return [];
    }
    const record = parsedRecord(text);
    if (record === undefined || record.seq < from || record.seq >= to) return [];
    return hasWanted(record, wanted) ? [{ line, record }] : [];
  });
}

/** What stands in the terms of a block that may have a record with this value. */
export function termOf(field: Wanted[0], value: string): string {
  return ` ${hashOf(`${field}=${value}`)} `;
}

function termsWith(records: readonly DecisionRecord[], before?: Block): ReadonlySet<string> {
  const texts = new Set<string>();
  for (const record of records) addTerms(texts, record);
  const terms = new Set(before?.terms);
  for (const text of texts) terms.add(hashOf(text));
  return terms;
}

function hashOf(text: string): string {
  return Bun.hash.xxHash32(text).toString(36);
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function countOpen(records: readonly DecisionRecord[]): number {
  return records.reduce((sum, { cost_state }) => sum + (cost_state === "unknown" ? 1 : 0), 0);
}

function linesIn(data: string): readonly string[] {
  try {
    return Bun.zstdDecompressSync(Buffer.from(data, "base64")).toString("utf8").split("\n");
  } catch {
    return []; // Not written by this program: its records are left out.
  }
}

/** Not validated further, because only this program writes it. Undefined for a record that this release cannot read. */
function parsedRecord(line: string): DecisionRecord | undefined {
  try {
    const record = JSON.parse(line) as DecisionRecord; // as `blockWith` wrote it
    return record.cause === null || causes.has(record.cause) ? record : undefined;
  } catch {
    return undefined;
  }
}

const causes: ReadonlySet<string> = new Set(Cause.options);
