import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, HeldSum } from "./ledger.ts";
import { lookupPauseMs, maxLookups, nodeSuspectMs, nodeTimeoutMs, staleLookupMs } from "./rules/rows.ts";

/** SQL that both databases understand, and what its rows mean. Times are SQL expressions or parameters. */

/** A PostgreSQL bigint arrives as text. */
export type Row = Readonly<Record<string, unknown>>;

export const accountColumns = "id, held, spent, overrun, unproven, hard, own_hard";

/**
 * The SQL expression of a hold's state at a time that is an SQL expression too; `r` is the reservation, `n` its node.
 * @param timeoutMs a node that was silent for so long counts as dead
 */
export function holdStateSql(now: string, timeoutMs = nodeTimeoutMs): string {
  return `CASE WHEN r.state = 'EXPIRED_CHARGED' THEN 'charged' WHEN r.state = 'UNRESOLVED' THEN 'unresolved'
    WHEN n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= ${now} - ${timeoutMs} THEN 'orphaned'
    ELSE 'live' END`;
}

/** The condition that a node has not written for so long that its holds may be taken over, or was started again. */
export function isOrphanedSql(now: string, selfId: string, selfEpoch: string | number): string {
  return `r.state = 'HELD' AND CASE WHEN r.node_id = ${selfId} THEN r.node_epoch < ${selfEpoch}
    ELSE n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= ${now} - ${nodeTimeoutMs} END`;
}

/** All that is held in a store at one moment: by running calls, and by calls that cannot end their hold themselves any more. */
export interface OpenHolds {
  readonly running: HeldSum;
  readonly unresolved: HeldSum;
  /** The unresolved ones, those that end first at the head; at most `maxUnresolvedRows`. */
  readonly rows: readonly {
    readonly goalAccount: string;
    readonly dayAccount: string;
    readonly keyAccount: string | null;
    readonly amount: NanoUsd;
    readonly endsInMs: number;
    /** The aggregator is being asked about it. */
    readonly asked: boolean;
  }[];
}

const maxUnresolvedRows = 2_000;

/**
 * Two statements: the sums of all open reservations, and the unresolved ones. `now` is the store's clock as SQL;
 * `narrowed`, a condition that the open ones are found by where the store has an index for it.
 */
export function openHoldsSql(now: string, narrowed = "r.closed_ms IS NULL"): readonly [sums: string, rows: string] {
  const from = `FROM reservation r LEFT JOIN node n ON n.id = r.node_id WHERE ${narrowed} AND r.closed_ms IS NULL`;
  const state = holdStateSql(now, nodeSuspectMs);
  return [
    `SELECT hold_state, count(*) AS count, sum(hold) AS amount
     FROM (SELECT ${state} AS hold_state, r.hold ${from}) AS found GROUP BY hold_state`,
    `SELECT r.goal_account, r.day_account, r.key_account, r.hold, r.expires_ms - ${now} AS ends_in_ms,
       CASE WHEN EXISTS (SELECT 1 FROM generation_lookup g WHERE g.reservation_id = r.id) THEN 1 ELSE 0 END AS asked
     ${from} AND ${state} <> 'live' ORDER BY r.expires_ms LIMIT ${maxUnresolvedRows}`,
  ];
}

/** The answers to `openHoldsSql`. */
export function openHoldsOf(sums: readonly Row[], rows: readonly Row[]): OpenHolds {
  const running = { count: 0, amount: 0 };
  const unresolved = { count: 0, amount: 0 };
  for (const row of sums) {
    const sum = row["hold_state"] === "live" ? running : unresolved;
    sum.count += Number(row["count"]);
    sum.amount += Number(row["amount"]);
  }
  return {
    running,
    unresolved,
    rows: rows.map((row) => ({
      goalAccount: String(row["goal_account"]),
      dayAccount: String(row["day_account"]),
      keyAccount: row["key_account"] === null ? null : String(row["key_account"]),
      amount: nanoUsd(Number(row["hold"])),
      endsInMs: Math.max(0, Number(row["ends_in_ms"])),
      asked: Number(row["asked"]) === 1,
    })),
  };
}

/**
 * Two statements: one deletes lookups that are over, one claims those that are due. Of several nodes that see the same
 * row the second finds, once it has the row's lock, that it is not due any more.
 */
export function takeLookupsSql(now: string, limit: string | number): readonly [over: string, claim: string] {
  return [
    `DELETE FROM generation_lookup WHERE (tries >= ${maxLookups} AND next_ms <= ${now}) OR next_ms <= ${now} - ${staleLookupMs}`,
    `UPDATE generation_lookup SET tries = tries + 1, next_ms = ${now} + ${lookupPauseMs} * (1 << CAST(tries AS integer))
     WHERE next_ms <= ${now} AND reservation_id IN
       (SELECT reservation_id FROM generation_lookup WHERE next_ms <= ${now} ORDER BY next_ms LIMIT ${limit})
     RETURNING reservation_id, generation_id, tries, hold`,
  ];
}

/** The rows of the second. */
export function lookupsOf(rows: readonly Row[]): BillingLookup[] {
  return rows.map((row) => ({
    id: String(row["reservation_id"]),
    generationId: String(row["generation_id"]),
    hold: nanoUsd(Number(row["hold"])),
    last: Number(row["tries"]) >= maxLookups,
  }));
}

/** Deletes the accounts of days before `day` whose reservations are all deleted. */
export function deleteOldDaysSql(day: string): string {
  return `DELETE FROM account WHERE id IN (SELECT id FROM account_total
    WHERE (id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__' OR id LIKE 'key/%/____-__-__')
      AND substr(id, length(id) - 9) < ${day} AND held = 0 AND spent = carried_spent AND overrun = carried_overrun)`;
}
