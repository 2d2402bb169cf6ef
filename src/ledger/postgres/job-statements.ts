import { integerLiteral, textLiteral } from "#db/postgres.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import { lookupPauseMs, maxKeptLookups, maxLookups, staleLookupMs } from "#ledger/rules/limits.ts";
import type { AccountId, NodeIdentity } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";

/** The messages beside batches: several statements each, in the simple protocol. `now`: the database's clock as SQL. */

/** Rows: whether the store was used, the commit setting, the node's epoch, the time with the mark of the other nodes. */
export function joinSql(nodeId: string, now: string): string {
  return `SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1;
    SHOW synchronous_commit;
    INSERT INTO node (id, epoch, heartbeat_ms) VALUES (${textLiteral(nodeId)}, 1, ${now})
      ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch;
    SELECT ${now} AS now_ms, (SELECT max(swept_ms) FROM node) AS swept_ms`;
}

/** Rows: the node's epoch. */
export function heartbeatSql(node: NodeIdentity, sweptMs: number, now: string): string {
  const id = textLiteral(node.id);
  return `UPDATE node SET heartbeat_ms = ${now}, swept_ms = ${integerLiteral(sweptMs)} WHERE id = ${id} AND epoch = ${node.epoch};
    SELECT epoch FROM node WHERE id = ${id}`;
}

/** Rows: expired open reservations, all nodes, the time. */
export function expiredSql(sweptMs: number, limit: number, now: string): string {
  return `SELECT id, expires_ms FROM reservation
      WHERE expires_ms >= ${integerLiteral(sweptMs)} AND expires_ms <= ${now} AND closed_ms IS NULL
      ORDER BY expires_ms LIMIT ${limit};
    SELECT id, epoch, heartbeat_ms FROM node;
    SELECT ${now} AS now_ms`;
}

/** Held reservations of nodes, each with the epoch below which they are dead. */
export function orphansSql(
  dead: readonly { id: string; beforeEpoch: number }[],
  sweptMs: number,
  limit: number,
): string {
  const owners = dead.map(({ id, beforeEpoch }) => `(node_id = ${textLiteral(id)} AND node_epoch < ${beforeEpoch})`);
  return `SELECT id FROM reservation WHERE expires_ms >= ${integerLiteral(sweptMs)} AND state = 'HELD' AND (${owners.join(" OR ")})
    LIMIT ${limit}`;
}

/** Deletes lookups that are over, and claims those that are due. Rows of the last statement: the claimed ones. */
export function takeLookupsSql(limit: number, now: string): string {
  // Claimed row by row under its lock: of several nodes that see the same row, the second skips it.
  const due = `SELECT reservation_id FROM generation_lookup WHERE next_ms <= ${now} ORDER BY next_ms LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`;
  return `DELETE FROM generation_lookup
      WHERE (tries >= ${maxLookups} AND next_ms <= ${now}) OR next_ms <= ${now} - ${staleLookupMs};
    DELETE FROM generation_lookup
      WHERE next_ms <= (SELECT next_ms FROM generation_lookup ORDER BY next_ms DESC LIMIT 1 OFFSET ${maxKeptLookups});
    UPDATE generation_lookup SET tries = generation_lookup.tries + 1,
        next_ms = ${now} + CAST(${lookupPauseMs} * power(2, generation_lookup.tries) AS bigint)
      FROM reservation r WHERE r.id = generation_lookup.reservation_id AND generation_lookup.reservation_id IN (${due})
      RETURNING generation_lookup.reservation_id, generation_lookup.generation_id, generation_lookup.tries, r.hold`;
}

export function dropLookupsSql(ids: readonly ReservationId[]): string {
  return `DELETE FROM generation_lookup WHERE reservation_id IN (${ids.map(textLiteral).join(", ")})`;
}

/** Reservations closed before a time, with their accounts, and that time. */
export function prunableSql(before: string, limit: number): string {
  return `SELECT id, goal_account, day_account FROM reservation
      WHERE expires_ms < ${before} AND closed_ms < ${before} ORDER BY expires_ms LIMIT ${limit};
    SELECT ${before} AS before_ms`;
}

export interface Prunable {
  readonly ids: readonly ReservationId[];
  readonly accounts: ReadonlySet<AccountId>;
}

/** The statements, `begin` first, that delete reservations with their entries, accounts of old days, and old nodes. */
export function pruneStatements(
  begin: string,
  { ids, accounts }: Prunable,
  day: UtcDay,
  before: string,
  self: string,
): string[] {
  const statements = [begin, "SET LOCAL statement_timeout = '5s'"];
  if (ids.length > 0) {
    const list = ids.map(textLiteral).join(", ");
    const movedTo = (column: string) =>
      `SELECT r.${column} AS account, e.spent, e.overrun FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
       WHERE r.id IN (${list})`;
    statements.push(
      `SELECT id FROM account WHERE id IN (${[...accounts].map(textLiteral).join(", ")}) ORDER BY id FOR UPDATE`,
      // The sums are read under the lock, so two nodes that delete the same rows carry them over once.
      `UPDATE account SET carried_spent = carried_spent + pruned.spent, carried_overrun = carried_overrun + pruned.overrun
       FROM (SELECT account, CAST(sum(spent) AS bigint) AS spent, CAST(sum(overrun) AS bigint) AS overrun
             FROM (${movedTo("goal_account")} UNION ALL ${movedTo("day_account")}) AS moved GROUP BY account) AS pruned
       WHERE account.id = pruned.account`,
      `DELETE FROM ledger_entry WHERE reservation_id IN (${list})`,
      `DELETE FROM reservation WHERE id IN (${list})`,
    );
  }
  statements.push(
    `DELETE FROM account WHERE (id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__')
       AND right(id, 10) < ${textLiteral(day)} AND held = 0 AND spent = carried_spent AND overrun = carried_overrun`,
    // All that such a node held has expired long ago.
    `DELETE FROM node WHERE heartbeat_ms < ${before} AND id <> ${textLiteral(self)}`,
    "COMMIT",
  );
  return statements;
}
