import type { ReservationId } from "#ledger/ledger.ts";
import type { EntryRow } from "#ledger/rules/rows.ts";

/** An entry in the row of its batch. `previous`: the batch with the entry before it of the same reservation. */
type StoredEntry = readonly [
  reservation: ReservationId,
  event: EntryRow["event"],
  held: number,
  spent: number,
  overrun: number,
  reason: string,
  previous: number | null,
];

/** The entries of one batch as the JSON of its row; `previousOf` is asked once for each, in their order. */
export function entriesJson(
  entries: readonly EntryRow[],
  previousOf: (reservation: ReservationId) => number | null,
): string {
  const stored: StoredEntry[] = [];
  for (const { reservationId, event, held, spent, overrun, reason } of entries) {
    stored.push([reservationId, event, held, spent, overrun, reason, previousOf(reservationId)]);
  }
  return JSON.stringify(stored);
}

/** Reads what `entriesJson` wrote. */
export function storedEntriesOf(json: string): StoredEntry[] {
  return JSON.parse(json) as StoredEntry[];
}
