import { type Column, columnOf, valueAt } from "#records/compact/columns.ts";
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

export async function blockOf(entries: readonly RecordEntry[]): Promise<WrittenBlock> {
  const heads: { [F in HeadField | "seq"]?: Column } = { seq: columnOf(entries.map(({ head }) => head.seq)) };
  let terms = "\n";
  for (const field of headFields) {
    const first = entries[0]?.head[field] ?? null;
    // Most fields have one value in all records.
    const isSame = entries.every(({ head }) => head[field] === first);
    const values = isSame ? [first] : entries.map(({ head }) => head[field]);
    heads[field] = isSame ? { same: first } : { each: values };
    terms += termsOf(field, values);
  }
  const block: OpenBlock = { heads, contents: columnOf(entries.map(({ content }) => content)) };
  const data = await Bun.zstdCompress(JSON.stringify(block), { level: 1 });
  return { data: data.toString("base64"), terms, ids: idsOf(entries).toString("base64") };
}

/** `data` as the database gives it: bytes, or base64. Undefined where this release cannot read it. */
export function openBlock(data: unknown): OpenBlock | undefined {
  const packed = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array); // as the dialect gives it
  try {
    const block = JSON.parse(Bun.zstdDecompressSync(packed).toString("utf8")) as OpenBlock | Column; // only `blockOf` writes blocks
    return "contents" in block ? block : { contents: block };
  } catch {
    // Another release wrote it in a form of its own: its records are left out.
    return undefined;
  }
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
  const ids = Buffer.alloc(entries.length * bytesPerRecord);
  for (const [line, { head }] of entries.entries()) {
    ids.writeUInt32LE(Bun.hash.xxHash32(head.decision_id), line * bytesPerRecord);
    ids.writeUInt32LE(Bun.hash.xxHash32(head.request_id), line * bytesPerRecord + hashBytes);
  }
  return ids;
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
