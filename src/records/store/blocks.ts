import type { Statement, StoreRow } from "#db/store-database.ts";
import { Cause } from "#domain/routing.ts";
import { hasWanted, termsIn, type Wanted } from "#records/records.ts";
import type { StoredRecord } from "#records/stored-record.ts";

/** Numbers (`seq`) per millisecond. */
export const seqPerMs = 1024;

export function seqFrom(atMs: number): number {
  return Math.ceil(atMs) * seqPerMs;
}

/**
 * Records that are written together are one row: their JSON, one a line, compressed (zstd, base64). Beside it stands a
 * short hash of each value that a filter can ask a record in it for, once: so the blocks that can have a match are
 * found without opening them.
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

/**
 * Records of a block, which the main thread makes in some two milliseconds. Fewer, and each batch writes more rows;
 * more, and a single record takes longer to read.
 */
export const maxLines = 128;
/** Up to so many, and within an hour, a small batch is added to the block before. Each time all of its records are written again. */
const maxLinesAgain = 64;
const maxSpan = 3_600_000 * seqPerMs;

/**
 * The next version of `last`: with more records at its end, and with others in some lines. What only replaced records
 * had stays in its terms. A new block where there is none, or the records do not fit into it.
 */
export function nextBlock(
  last: Block | undefined,
  added: readonly StoredRecord[],
  changed: ReadonlyMap<number, StoredRecord> = new Map(),
): Block {
  const before = last !== undefined && hasRoom(last, added) ? last : undefined;
  const lines = [...(before?.lines ?? []), ...added.map((record) => JSON.stringify(record))];
  let openCosts = before?.openCosts ?? 0;
  for (const { cost_state } of added) if (cost_state === "unknown") openCosts += 1;
  for (const [line, record] of changed) {
    // Inside a value, quotation marks are escaped.
    if (lines[line]?.includes('"cost_state":"unknown"')) openCosts -= 1;
    if (record.cost_state === "unknown") openCosts += 1;
    lines[line] = JSON.stringify(record);
  }
  const numbers = added.map(({ seq }) => seq);
  return {
    id: before?.id ?? added[0]?.decision_id ?? "",
    version: (before?.version ?? 0) + 1,
    firstSeq: Math.min(before?.firstSeq ?? Number.MAX_SAFE_INTEGER, ...numbers),
    lastSeq: Math.max(before?.lastSeq ?? 0, ...numbers),
    openCosts,
    terms: new Set([...(before?.terms ?? []), ...termsIn([...added, ...changed.values()]).map(termHash)]),
    lines,
  };
}

function hasRoom({ lines, firstSeq }: Block, added: readonly StoredRecord[]): boolean {
  const isNear = ({ seq }: StoredRecord) => Math.abs(seq - firstSeq) < maxSpan;
  return added.length === 0 || (lines.length + added.length <= maxLinesAgain && added.every(isNear));
}

/** The statements that write it, in place of the version before. They fail if that has been replaced by another meanwhile. */
export function blockStatements(block: Block): readonly Statement[] {
  const { id, version, firstSeq, lastSeq, openCosts, terms: hashes, lines } = block;
  const terms = ` ${[...hashes].join(" ")} `;
  // Not in another thread: handing it over takes longer than compressing it.
  const data = Bun.zstdCompressSync(lines.join("\n"), { level: 1 }).toString("base64");
  const bytes = data.length + terms.length + rowBytes;
  return [
    ...(version === 1 ? [] : [["DELETE FROM decision_block WHERE id = ? AND version = ?", id, version - 1] as const]),
    [
      `INSERT INTO decision_block (id, version, first_seq, last_seq, records, bytes, open_costs, terms, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, version, firstSeq, lastSeq, lines.length, bytes, openCosts, terms, data],
    ],
  ];
}

/** Bytes that a block's row takes beside its texts. */
const rowBytes = 200;
export const blockColumns = "number, id, version, first_seq, last_seq, open_costs, terms, data";

/** A block as `blockColumns` reads it. */
export function blockIn(row: StoreRow): Block {
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
  readonly record: StoredRecord;
}

/** The records of a block with these values, numbered `from` (inclusive) to `to` (exclusive). */
export function matchesIn(
  { lines }: Block,
  wanted: readonly Wanted[],
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
): Match[] {
  return lines.flatMap((text, line): Match[] => {
    const record = parsedRecord(text);
    if (record === undefined || record.seq < from || record.seq >= to) return [];
    return hasWanted(record, wanted) ? [{ line, record }] : [];
  });
}

/** What stands in the terms of a block for `field=value`. */
export function termHash(text: string): string {
  return Bun.hash.xxHash32(text).toString(36);
}

function linesIn(data: string): readonly string[] {
  try {
    return Bun.zstdDecompressSync(Buffer.from(data, "base64")).toString("utf8").split("\n");
  } catch {
    return []; // Not written by this program: its records are left out.
  }
}

/** Not validated further, because only this program writes it. Undefined for a record that this release cannot read. */
function parsedRecord(line: string): StoredRecord | undefined {
  const record = JSON.parse(line) as StoredRecord; // as `nextBlock` wrote it
  return record.cause == null || causes.has(record.cause) ? record : undefined;
}

const causes: ReadonlySet<string> = new Set(Cause.options);
