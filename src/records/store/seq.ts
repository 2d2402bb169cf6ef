import { hourMs } from "./record-sums.ts";

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

/** The oldest record that is kept, as SQL; null where there is none. */
export const oldestSeq =
  "(SELECT MIN(seq) FROM (SELECT MIN(seq) AS seq FROM decision_record UNION ALL SELECT MIN(id) FROM decision_block_head) kept)";
