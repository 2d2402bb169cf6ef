import { hourMs } from "./sums.ts";

/** Numbers (`seq`) per millisecond. */
export const seqPerMs = 1024;

const seqPerHour = hourMs * seqPerMs;

export function seqFrom(atMs: number): number {
  return Math.ceil(atMs) * seqPerMs;
}

/** The first number of the hour that a number is in. */
export function hourOf(seq: number): number {
  return Math.floor(seq / seqPerHour) * seqPerHour;
}

/** The first number after that hour. */
export function hourAfter(seq: number): number {
  return hourOf(seq) + seqPerHour;
}

/**
 * How many of the rows, in their order, are on a page of `limit`. Two processes may give two records one number. The next page begins
 * behind the last number of this one, so this one has all records with that number.
 */
export function pageLength(rows: readonly { readonly seq?: unknown }[], limit: number): number {
  let length = Math.min(limit, rows.length);
  if (length === 0) return 0;
  const last = Number(rows[length - 1]?.seq);
  while (length < rows.length && Number(rows[length]?.seq) === last) length += 1;
  return length;
}

/** The oldest record that is kept, as SQL; null where there is none. */
export const oldestSeq = "(SELECT MIN(id) FROM decision_block)";
