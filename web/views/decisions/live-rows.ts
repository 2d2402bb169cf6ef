import type { DecisionRow } from "#operator/records.ts";

/**
 * The rows that came live, above the pages that were read. Held back while somebody reads the list. Bounded: when there are
 * too many, the list must be read again from its newest page.
 */
export interface LiveRows {
  /** The newest first. */
  readonly shown: readonly DecisionRow[];
  readonly waiting: readonly DecisionRow[];
}

export const noRows: LiveRows = { shown: [], waiting: [] };
/** Live rows above a page of 100: together no more than 200. */
export const mostLive = 100;

/** A row replaces an older state of the same decision. */
export function received(rows: LiveRows, row: DecisionRow, paused: boolean): LiveRows {
  const other = ({ decision_id }: DecisionRow): boolean => decision_id !== row.decision_id;
  if (rows.shown.some((shown) => !other(shown))) {
    return { ...rows, shown: rows.shown.map((shown) => (other(shown) ? shown : row)) };
  }
  if (paused) return { ...rows, waiting: [row, ...rows.waiting.filter(other)].slice(0, mostLive + 1) };
  return { shown: [row, ...rows.waiting, ...rows.shown].slice(0, mostLive + 1), waiting: [] };
}

/** Shows the rows that were held back. */
export function released(rows: LiveRows): LiveRows {
  return { shown: [...rows.waiting, ...rows.shown].slice(0, mostLive + 1), waiting: [] };
}

/** The list as it is shown: live rows, then the pages; each decision once, in its newest state. */
export function merged(live: readonly DecisionRow[], pages: readonly DecisionRow[]): DecisionRow[] {
  const seen = new Set<string>();
  return [...live, ...pages].filter(({ decision_id }) => !seen.has(decision_id) && seen.add(decision_id));
}
