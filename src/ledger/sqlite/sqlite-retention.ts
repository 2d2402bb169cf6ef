import type { Database } from "bun:sqlite";
import type { ReservationId } from "#ledger/ledger.ts";
import { type AccountId, accountsOf, type EntryRow, expiryGraceMs, type ReservationRow } from "#ledger/rules/rows.ts";
import { deleteOldDaysSql } from "#ledger/shared-sql.ts";
import { utcDayOf } from "#platform/time.ts";

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

/** A reservation with its place in the table, and the batch of its newest entry. */
export interface StoredReservation extends ReservationRow {
  readonly seq: number;
  readonly lastEntry: number;
}

type OldReservation = Pick<
  StoredReservation,
  "seq" | "id" | "goalAccount" | "dayAccount" | "keyAccount" | "createdMs" | "closedMs" | "lastEntry"
>;

/** Rows that one query reads. */
const readRows = 500;

/** `LedgerStore.prune`, inside of a transaction. `self`: the node that asks, whose own row stays. Answers how many reservations were removed. */
export function prune(db: Database, self: string, nowMs: number, retentionMs: number, limit: number): number {
  const before = nowMs - Math.max(retentionMs, expiryGraceMs);
  const old = prunable(db, before, limit, nowMs);
  removeEntries(db, old);
  const places = JSON.stringify(old.map(({ seq }) => seq));
  db.query("DELETE FROM reservation WHERE seq IN (SELECT value FROM json_each(?))").run(places);
  db.query(deleteOldDaysSql("?")).run(utcDayOf(before));
  db.query(
    `DELETE FROM node WHERE heartbeat_ms < ? AND id <> ?
       AND NOT EXISTS (SELECT 1 FROM reservation r WHERE r.node_id = node.id AND r.closed_ms IS NULL)`,
  ).run(before, self);
  return old.length;
}

/** Reservations are stored in the order they were made: old ones come first, and the search ends at the first recent one. */
function prunable(db: Database, before: number, limit: number, nowMs: number): OldReservation[] {
  const found: OldReservation[] = [];
  const oldest = db.query<OldReservation, [number, number]>(
    `SELECT seq, id, goal_account AS goalAccount, day_account AS dayAccount, key_account AS keyAccount,
       created_ms AS createdMs, closed_ms AS closedMs, last_entry AS lastEntry
     FROM reservation WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  for (let after = 0; ; ) {
    const rows = oldest.all(after, readRows);
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
function removeEntries(db: Database, old: readonly OldReservation[]): void {
  const entriesOf = db.query<{ entries: string }, [number]>("SELECT entries FROM ledger_batch WHERE seq = ?");
  const keep = db.query("UPDATE ledger_batch SET entries = ? WHERE seq = ?");
  const remove = db.query("DELETE FROM ledger_batch WHERE seq = ?");
  const carry = db.query(
    "UPDATE account SET carried_spent = carried_spent + ?, carried_overrun = carried_overrun + ? WHERE id = ?",
  );
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
    if (kept.length === 0) remove.run(batch);
    else keep.run(JSON.stringify(kept), batch);
  }
  for (const [account, { spent, overrun }] of sums) carry.run(spent, overrun, account);
}
