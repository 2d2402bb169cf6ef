import type { Database } from "bun:sqlite";
import type { ReservationId } from "#ledger/ledger.ts";
import { openHoldsSql } from "#ledger/open-holds.ts";
import { staleLookupMs } from "#ledger/rules/limits.ts";
import type { AccountId, AccountRow, ReservationRow } from "#ledger/rules/rows.ts";
import type { DueReservation } from "#ledger/store.ts";

/** The statements of the engine, prepared once. */
export type SqliteStatements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: Database) {
  return {
    ...batchStatements(db),
    ...nodeStatements(db),
    ...lookupStatements(db),
    ...pruneStatements(db),
  };
}

/** Without the parts of the id, which is `<request>.<attempt>`. */
interface StoredReservation extends Omit<ReservationRow, "requestId" | "attempt" | "dispatched"> {
  readonly seq: number;
  readonly lastEntry: number;
  readonly dispatched: number;
}

type Value = string | number | null;

const accountColumns = `id, held, spent, overrun, hard, own_hard AS "ownHard"`;
const isDayAccount = `(id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__')`;

function batchStatements(db: Database) {
  return {
    begin: db.query<unknown, []>("BEGIN IMMEDIATE"),
    commit: db.query<unknown, []>("COMMIT"),
    lastBatch: db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM ledger_batch"),
    account: db.query<AccountRow, [string]>(`SELECT ${accountColumns} FROM account WHERE id = ?`),
    insertAccount: db.query<unknown, [string, number, number, number, number | null]>(
      "INSERT INTO account (id, held, spent, overrun, hard) VALUES (?, ?, ?, ?, ?)",
    ),
    updateAccount: db.query<unknown, [number, number, number, number | null, string]>(
      "UPDATE account SET held = ?, spent = ?, overrun = ?, hard = ? WHERE id = ?",
    ),
    reservation: db.query<StoredReservation, [string]>(
      `SELECT seq, last_entry AS lastEntry, id, goal_account AS goalAccount, day_account AS dayAccount, hold, actual,
         source, state, model, node_id AS nodeId, node_epoch AS nodeEpoch, dispatched, created_ms AS createdMs,
         expires_ms AS expiresMs, closed_ms AS closedMs
       FROM reservation WHERE id = ?`,
    ),
    insertReservation: db.query<unknown, Value[]>(
      `INSERT INTO reservation (id, goal_account, day_account, hold, actual, source, state, model, node_id, node_epoch,
         dispatched, created_ms, expires_ms, closed_ms, last_entry)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateReservation: db.query<unknown, Value[]>(
      `UPDATE reservation SET state = ?, actual = ?, source = ?, dispatched = ?, closed_ms = ?, last_entry = ?
       WHERE seq = ? AND state = ?`,
    ),
    insertBatch: db.query<unknown, [number, string, number, string]>(
      "INSERT INTO ledger_batch (seq, node_id, at_ms, entries) VALUES (?, ?, ?, ?)",
    ),
    day: db.query<{ day: string }, []>("SELECT day FROM ledger_day WHERE only = 1"),
    setDay: db.query<unknown, [string]>(
      "INSERT INTO ledger_day (only, day) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET day = excluded.day",
    ),
  };
}

function nodeStatements(db: Database) {
  const [heldSums, unresolvedRows] = openHoldsSql("$now");
  return {
    join: db.query<{ epoch: number }, [string, number]>(
      `INSERT INTO node (id, epoch, heartbeat_ms) VALUES (?, 1, ?)
       ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch`,
    ),
    liveNodes: db.query<{ id: string }, [number]>("SELECT id FROM node WHERE heartbeat_ms > ?"),
    endNode: db.query<unknown, [number, string]>("UPDATE node SET heartbeat_ms = ? WHERE id = ?"),
    used: db.query<{ used: number }, []>("SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1"),
    nodeEpoch: db.query<{ epoch: number }, [string]>("SELECT epoch FROM node WHERE id = ?"),
    heartbeat: db.query<unknown, [number, string, number]>(
      "UPDATE node SET heartbeat_ms = ? WHERE id = ? AND epoch = ?",
    ),
    due: db.query<DueReservation, { now: number; silent: number; node: string; epoch: number; limit: number }>(
      `SELECT r.id, CASE WHEN r.expires_ms <= $now THEN 'expired' ELSE 'owner_dead' END AS why
       FROM reservation r LEFT JOIN node n ON n.id = r.node_id
       WHERE r.closed_ms IS NULL AND (
         r.expires_ms <= $now
         OR (r.state = 'HELD' AND CASE WHEN r.node_id = $node THEN r.node_epoch < $epoch
               ELSE n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= $silent END))
       ORDER BY r.expires_ms LIMIT $limit`,
    ),
    heldSums: db.query<Record<string, unknown>, { now: number }>(heldSums),
    unresolvedRows: db.query<Record<string, unknown>, { now: number }>(unresolvedRows),
  };
}

function lookupStatements(db: Database) {
  return {
    addLookup: db.query<unknown, [string, string, number]>(
      "INSERT INTO generation_lookup (reservation_id, generation_id, next_ms) VALUES (?, ?, ?) ON CONFLICT (reservation_id) DO NOTHING",
    ),
    dueLookups: db.query<{ id: string; generationId: string; hold: number; tries: number }, [number, number]>(
      `SELECT g.reservation_id AS id, g.generation_id AS "generationId", g.tries, coalesce(r.hold, 0) AS hold
       FROM generation_lookup g LEFT JOIN reservation r ON r.id = g.reservation_id
       WHERE g.next_ms <= ? ORDER BY g.next_ms LIMIT ?`,
    ),
    spentLookups: db.query<unknown, [number, number]>(
      `DELETE FROM generation_lookup WHERE (tries >= ?1 AND next_ms <= ?2) OR next_ms <= ?2 - ${staleLookupMs}`,
    ),
    excessLookups: db.query<unknown, [number]>(
      `DELETE FROM generation_lookup
       WHERE next_ms <= (SELECT next_ms FROM generation_lookup ORDER BY next_ms DESC LIMIT 1 OFFSET ?)`,
    ),
    claimLookup: db.query<unknown, [number, string]>(
      "UPDATE generation_lookup SET tries = tries + 1, next_ms = ? WHERE reservation_id = ?",
    ),
    dropLookups: db.query<unknown, [string]>(
      "DELETE FROM generation_lookup WHERE reservation_id IN (SELECT value FROM json_each(?))",
    ),
  };
}

/** A reservation as retention reads it. */
export interface OldReservation {
  readonly seq: number;
  readonly id: ReservationId;
  readonly goalAccount: AccountId;
  readonly dayAccount: AccountId;
  readonly createdMs: number;
  readonly closedMs: number | null;
  readonly lastEntry: number;
}

function pruneStatements(db: Database) {
  return {
    oldest: db.query<OldReservation, [number, number]>(
      `SELECT seq, id, goal_account AS goalAccount, day_account AS dayAccount, created_ms AS createdMs, closed_ms AS closedMs,
         last_entry AS lastEntry
       FROM reservation WHERE seq > ? ORDER BY seq LIMIT ?`,
    ),
    entriesOf: db.query<{ entries: string }, [number]>("SELECT entries FROM ledger_batch WHERE seq = ?"),
    keepEntries: db.query<unknown, [string, number]>("UPDATE ledger_batch SET entries = ? WHERE seq = ?"),
    pruneBatch: db.query<unknown, [number]>("DELETE FROM ledger_batch WHERE seq = ?"),
    carry: db.query<unknown, [bigint, bigint, string]>(
      "UPDATE account SET carried_spent = carried_spent + ?, carried_overrun = carried_overrun + ? WHERE id = ?",
    ),
    pruneReservations: db.query<unknown, [string]>(
      "DELETE FROM reservation WHERE seq IN (SELECT value FROM json_each(?))",
    ),
    pruneAccounts: db.query<unknown, { day: string }>(
      `DELETE FROM account WHERE ${isDayAccount} AND substr(id, -10) < $day AND held = 0
         AND spent = carried_spent AND overrun = carried_overrun`,
    ),
    pruneNodes: db.query<unknown, { before: number; self: string }>(
      `DELETE FROM node WHERE heartbeat_ms < $before AND id <> $self
         AND NOT EXISTS (SELECT 1 FROM reservation r WHERE r.node_id = node.id AND r.closed_ms IS NULL)`,
    ),
  };
}
