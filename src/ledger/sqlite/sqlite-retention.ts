import type { ReservationId } from "#ledger/ledger.ts";
import { type AccountId, accountsOf, type EntryRow, expiryGraceMs } from "#ledger/rules/rows.ts";
import { utcDayOf } from "#platform/time.ts";
import type { OldReservation, SqliteStatements } from "./sqlite-statements.ts";

/** An entry in the row of its batch. `previous`: the batch with the entry before it of the same reservation. */
export type StoredEntry = readonly [
  reservation: ReservationId,
  event: EntryRow["event"],
  held: number,
  spent: number,
  overrun: number,
  reason: string,
  previous: number | null,
];

/** Rows that one query reads. */
const readRows = 500;

export interface Retention {
  readonly retentionMs: number;
  /** Reservations that are removed at most. */
  readonly limit: number;
  readonly nowMs: number;
  /** The node that asks: its own row stays. */
  readonly nodeId: string;
}

/** `LedgerStore.prune`, inside of a transaction. Answers how many reservations were removed. */
export function prune(statements: SqliteStatements, { retentionMs, limit, nowMs, nodeId }: Retention): number {
  const before = nowMs - Math.max(retentionMs, expiryGraceMs);
  const old = prunable(statements, before, limit, nowMs);
  removeEntries(statements, old);
  const { changes } = statements.pruneReservations.run(JSON.stringify(old.map(({ seq }) => seq)));
  statements.pruneAccounts.run({ day: utcDayOf(before) });
  statements.pruneNodes.run({ before, self: nodeId });
  return changes;
}

/** Reservations are stored in the order they were made: old ones come first, and the search ends at the first recent one. */
function prunable(statements: SqliteStatements, before: number, limit: number, nowMs: number): OldReservation[] {
  const found: OldReservation[] = [];
  for (let after = 0; ; ) {
    const rows = statements.oldest.all(after, readRows);
    for (const row of rows) {
      const { seq, createdMs, closedMs } = row;
      after = seq;
      if (closedMs !== null && closedMs < before) found.push(row);
      // One from the future was made while the clock was ahead: those behind it may be old.
      else if (createdMs >= before && createdMs <= nowMs) return found;
      if (found.length === limit) return found;
    }
    if (rows.length < readRows) return found;
  }
}

/** Takes the entries of these reservations out of their batches, and carries their sums into the accounts. */
function removeEntries(statements: SqliteStatements, old: readonly OldReservation[]): void {
  const { entriesOf, keepEntries, pruneBatch, carry } = statements;
  const byId = new Map(old.map((reservation) => [reservation.id, reservation]));
  const sums = new Map<AccountId, { spent: bigint; overrun: bigint }>();
  const add = (account: AccountId, spent: number, overrun: number) => {
    const sum = sums.get(account) ?? { spent: 0n, overrun: 0n };
    sum.spent += BigInt(spent);
    sum.overrun += BigInt(overrun);
    sums.set(account, sum);
  };
  // Each entry names the batch with the one before it: a batch that is found is visited too, once.
  const batches = new Set(old.map(({ lastEntry }) => lastEntry));
  for (const batch of batches) {
    const entries = JSON.parse(entriesOf.get(batch)?.entries ?? "[]") as StoredEntry[];
    const kept = entries.filter(([id, , , spent, overrun, , previous]) => {
      const reservation = byId.get(id);
      if (reservation === undefined) return true;
      for (const account of accountsOf(reservation)) add(account, spent, overrun);
      if (previous !== null) batches.add(previous);
      return false;
    });
    if (kept.length === 0) pruneBatch.run(batch);
    else keepEntries.run(JSON.stringify(kept), batch);
  }
  for (const [account, { spent, overrun }] of sums) carry.run(spent, overrun, account);
}
