import type { Database } from "bun:sqlite";
import type { AccountRow, ReservationRow } from "#ledger/rules/rows.ts";
import { deleteOldDaysSql, isOrphanedSql, openHoldsSql, type Row, takeLookupsSql } from "#ledger/shared-sql.ts";
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

interface StoredReservation extends ReservationRow {
  readonly seq: number;
  readonly lastEntry: number;
}

type Value = string | number | null;

function batchStatements(db: Database) {
  return {
    begin: db.query<unknown, []>("BEGIN IMMEDIATE"),
    commit: db.query<unknown, []>("COMMIT"),
    dataVersion: db.query<{ data_version: number }, []>("PRAGMA data_version"),
    newestId: db.query<{ id: string | null }, []>("SELECT max(id) AS id FROM reservation"),
    lastBatch: db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM ledger_batch"),
    account: db.query<AccountRow, [string]>(
      "SELECT id, held, spent, overrun, unproven, hard, own_hard AS ownHard FROM account WHERE id = ?",
    ),
    insertAccount: db.query<unknown, Value[]>(
      "INSERT INTO account (held, spent, overrun, unproven, hard, id) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    updateAccount: db.query<unknown, Value[]>(
      "UPDATE account SET held = ?, spent = ?, overrun = ?, unproven = ?, hard = ? WHERE id = ?",
    ),
    reservation: db.query<StoredReservation, [string]>(
      `SELECT seq, last_entry AS lastEntry, id, goal_account AS goalAccount, day_account AS dayAccount,
         key_account AS keyAccount, 0 AS slot, hold, actual, source, state, model, node_id AS nodeId, node_epoch AS nodeEpoch,
         created_ms AS createdMs, expires_ms AS expiresMs, closed_ms AS closedMs
       FROM reservation WHERE id = ?`,
    ),
    insertReservation: db.query<unknown, Value[]>(
      `INSERT INTO reservation (id, goal_account, day_account, key_account, hold, actual, source, state, model, node_id,
         node_epoch, created_ms, expires_ms, closed_ms, last_entry)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateReservation: db.query<unknown, Value[]>(
      `UPDATE reservation SET state = ?, actual = ?, source = ?, closed_ms = ?, last_entry = ?
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
    due: db.query<DueReservation, { now: number; node: string; epoch: number; limit: number }>(
      `SELECT r.id, CASE WHEN r.expires_ms <= $now THEN 'expired' ELSE 'owner_dead' END AS why
       FROM reservation r LEFT JOIN node n ON n.id = r.node_id
       WHERE r.closed_ms IS NULL AND (
         r.expires_ms <= $now OR (${isOrphanedSql("$now", "$node", "$epoch")}))
       ORDER BY r.expires_ms LIMIT $limit`,
    ),
    heldSums: db.query<Row, { now: number }>(heldSums),
    unresolvedRows: db.query<Row, { now: number }>(unresolvedRows),
  };
}

function lookupStatements(db: Database) {
  const [over, claim] = takeLookupsSql("$now", "$limit");
  return {
    addLookup: db.query<unknown, Value[]>(
      `INSERT INTO generation_lookup (reservation_id, generation_id, hold, next_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (reservation_id) DO NOTHING`,
    ),
    isLookupDue: db.query<unknown, [number]>("SELECT 1 FROM generation_lookup WHERE next_ms <= ? LIMIT 1"),
    deleteOverLookups: db.query<unknown, { now: number }>(over),
    claimLookups: db.query<Row, { now: number; limit: number }>(claim),
    dropLookups: db.query<unknown, [string]>(
      "DELETE FROM generation_lookup WHERE reservation_id IN (SELECT value FROM json_each(?))",
    ),
  };
}

/** A reservation as retention reads it. */
export type OldReservation = Pick<
  StoredReservation,
  "seq" | "id" | "goalAccount" | "dayAccount" | "keyAccount" | "createdMs" | "closedMs" | "lastEntry"
>;

function pruneStatements(db: Database) {
  return {
    oldest: db.query<OldReservation, [number, number]>(
      `SELECT seq, id, goal_account AS goalAccount, day_account AS dayAccount, key_account AS keyAccount,
         created_ms AS createdMs, closed_ms AS closedMs, last_entry AS lastEntry
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
    pruneAccounts: db.query<unknown, { day: string }>(deleteOldDaysSql("$day")),
    pruneNodes: db.query<unknown, { before: number; self: string }>(
      `DELETE FROM node WHERE heartbeat_ms < $before AND id <> $self
         AND NOT EXISTS (SELECT 1 FROM reservation r WHERE r.node_id = node.id AND r.closed_ms IS NULL)`,
    ),
  };
}
