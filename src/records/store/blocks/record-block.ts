import { type Column, columnOf, valueAt } from "#records/compact/columns.ts";
import { ColumnPacker, ColumnReader, type PackedColumn } from "#records/compact/packed-columns.ts";
import { rulesIn, statusClass } from "#records/store/filter-sql.ts";
import type { RecordEntry, RecordHead } from "#records/store/record-head.ts";

/** The fields of a head that a filter names; they are columns of the block, so that no record is made to be compared. */
export const headFields = [
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
  "refused_by",
  "error_class",
  "cost_state",
] as const satisfies readonly (keyof RecordHead)[];
export type HeadField = (typeof headFields)[number];

/** A block as it is read. */
export interface OpenBlock {
  /** Absent in blocks of the releases that had a row for each record. */
  readonly heads?: { readonly [F in HeadField | "seq"]?: Column };
  readonly contents: Column;
}

/** Records that are written together. */
export interface WrittenBlock {
  /** Of `OpenBlock`: JSON, compressed (zstd), base64. */
  readonly data: string;
  /** Each value that a record has in a field, once. */
  readonly terms: string;
  /** The hashes of the records' ids. Base64. */
  readonly ids: string;
}

/** The first byte of a block of which some columns are bytes. What earlier releases wrote is JSON alone: it begins with a brace. */
const packedForm = 1;
/** Then follows the size of the JSON. */
const jsonFrom = 5;
/** Of the columns of a record; there may be more. */
const usualBytes = 96;

/** The JSON of a block. The bytes of its columns follow: first those of `seqs`, then those of `contents`. */
interface PackedBlock {
  readonly records: number;
  /** Without `seq`. */
  readonly heads: OpenBlock["heads"];
  readonly seqs: PackedColumn;
  readonly contents: PackedColumn;
}

export function blockOf(entries: readonly RecordEntry[]): WrittenBlock {
  const { heads, terms } = headsOf(entries);
  const packer = new ColumnPacker(entries.length * usualBytes);
  const block: PackedBlock = {
    records: entries.length,
    heads,
    seqs: packer.packed({ each: entries.map(({ head }) => head.seq) }),
    contents: packer.packed(columnOf(entries.map(({ content }) => content))),
  };
  const json = Buffer.from(JSON.stringify(block));
  const start = Buffer.alloc(jsonFrom, packedForm);
  start.writeUInt32LE(json.length, 1);
  // Not in another thread: handing it over takes longer than compressing the few kilobytes.
  const data = Bun.zstdCompressSync(Buffer.concat([start, json, packer.bytes]), { level: 1 });
  return { data: data.toString("base64"), terms, ids: idsOf(entries).toString("base64") };
}

/** `data` as the database gives it: bytes, or base64. Undefined where this release cannot read it. */
export function openBlock(data: unknown): OpenBlock | undefined {
  const packed = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array); // as the dialect gives it
  try {
    const body = Bun.zstdDecompressSync(packed);
    if (body[0] === packedForm) return openPacked(body);
    const block = JSON.parse(body.toString("utf8")) as OpenBlock | Column; // earlier releases wrote it
    return "contents" in block ? block : { contents: block };
  } catch {
    // Another release wrote it in a form of its own: its records are left out.
    return undefined;
  }
}

function openPacked(body: Buffer): OpenBlock {
  const bytesFrom = jsonFrom + body.readUInt32LE(1);
  const block = JSON.parse(body.toString("utf8", jsonFrom, bytesFrom)) as PackedBlock; // only `blockOf` writes it
  const reader = new ColumnReader(body.subarray(bytesFrom));
  const seq = reader.column(block.seqs, block.records);
  return { heads: { ...block.heads, seq }, contents: reader.column(block.contents, block.records) };
}

function headsOf(entries: readonly RecordEntry[]): { readonly heads: OpenBlock["heads"]; readonly terms: string } {
  const heads: { [F in HeadField]?: Column } = {};
  let terms = "\n";
  // Of records that follow each other, most have the same values.
  const distinct = entries.filter(({ head }, at) => at === 0 || !haveSameFields(head, entries[at - 1]?.head));
  for (const field of headFields) {
    const first = distinct[0]?.head[field] ?? null;
    const isSame = distinct.every(({ head }) => head[field] === first);
    heads[field] = isSame ? { same: first } : { each: entries.map(({ head }) => head[field]) };
    terms += termsOf(field, isSame ? [first] : distinct.map(({ head }) => head[field]));
  }
  return { heads, terms };
}

/** Each of `headFields`; by name one by one takes several times as long. */
function haveSameFields(a: RecordHead, b: RecordHead | undefined): boolean {
  return (
    a.session === b?.session &&
    a.goal === b.goal &&
    a.task === b.task &&
    a.model === b.model &&
    a.tier === b.tier &&
    a.cause === b.cause &&
    a.rule === b.rule &&
    a.kind === b.kind &&
    a.alias === b.alias &&
    a.action === b.action &&
    a.outcome === b.outcome &&
    a.status === b.status &&
    a.refused_by === b.refused_by &&
    a.error_class === b.error_class &&
    a.cost_state === b.cost_state
  );
}

/** How many records a block with heads has, and the `seq` of each. */
export function seqsIn({ heads }: OpenBlock, records: number): readonly number[] {
  const seqs = heads?.seq ?? {};
  if ("each" in seqs) return seqs.each as readonly number[]; // `blockOf` has written them
  return Array.from({ length: records }, (_, line) => Number(valueAt(seqs, line)));
}

/** A value of a record in a block with heads, as text. */
export function headValue({ heads }: OpenBlock, field: HeadField, line: number): string | null {
  const value = valueAt(heads?.[field] ?? {}, line);
  return value == null ? null : String(value);
}

/** What stands in `terms` for a value: a line of its own. JSON has no line breaks. */
export function termOf(field: HeadField, value: string): string {
  return `\n${field}=${JSON.stringify(value)}\n`;
}

function termsOf(field: HeadField, values: readonly (string | number | null)[]): string {
  const names = new Set<string>();
  for (const value of new Set(values)) {
    const text = value === null ? "" : String(value);
    if (field === "rule") for (const rule of rulesIn(text)) names.add(rule);
    else names.add(text);
    if (field === "status") names.add(statusClass(text));
  }
  let terms = "";
  for (const name of names) terms += termOf(field, name).slice(1);
  return terms;
}

/** Which of a record's ids. */
export type IdKind = "decision" | "request";

const hashBytes = 4;
const bytesPerRecord = 2 * hashBytes;

function idsOf(entries: readonly RecordEntry[]): Buffer {
  const hashes = new Uint32Array(2 * entries.length);
  let at = 0;
  for (const { head } of entries) {
    hashes[at++] = Bun.hash.xxHash32(head.decision_id);
    hashes[at++] = Bun.hash.xxHash32(head.request_id);
  }
  return Buffer.from(hashes.buffer);
}

/** The bytes that stand in `ids` for an id, in hexadecimal. */
export function idHash(id: string): string {
  const hash = Buffer.alloc(hashBytes);
  hash.writeUInt32LE(Bun.hash.xxHash32(id));
  return hash.toString("hex");
}

/** Whether the line's id has that hash. `ids` is hexadecimal. */
export function hasIdHash(ids: string, line: number, kind: IdKind, hash: string): boolean {
  const at = 2 * (line * bytesPerRecord + (kind === "decision" ? 0 : hashBytes));
  return ids.startsWith(hash, at);
}
