import type { ReservationId } from "#ledger/ledger.ts";
import { holdStateSql } from "#ledger/shared-sql.ts";
import type { Query } from "./audit.ts";

/**
 * Money that is held, or was charged without proof, as an operator sees it. `live`: its gateway runs and the call ends
 * by itself. `orphaned`: its gateway has died and no other has taken the hold over yet. `unresolved`: nobody knows what
 * the call cost; charged in full at `untilMs`. `charged`: that has happened.
 */
export interface LedgerHold {
  readonly id: ReservationId;
  readonly state: (typeof holdStates)[number];
  readonly model: string;
  readonly goalAccount: string;
  readonly dayAccount: string;
  /** Nano-USD. */
  readonly amount: number;
  readonly node: string;
  /** The node's last heartbeat, milliseconds since the Unix epoch; null when the node has left no trace. */
  readonly nodeSeenMs: number | null;
  readonly sinceMs: number;
  /** When it is charged (released, where the call was never dispatched); for `charged`, when that happened. */
  readonly untilMs: number;
  /** What the newest ledger entry says. */
  readonly why: string;
}

export const holdStates = ["live", "orphaned", "unresolved", "charged"] as const;

export interface HoldTotal {
  readonly state: LedgerHold["state"];
  readonly count: number;
  /** Nano-USD. */
  readonly amount: number;
}

export interface HoldFilter {
  /** At most so many, those that end first at the head. */
  readonly limit: number;
  /** Also what was charged in full because its cost stayed unknown, as far back as the ledger keeps its rows. */
  readonly charged?: boolean;
  readonly ids?: readonly ReservationId[];
}

/** The holds and their totals; `nowMs` is the store's clock. */
export async function readHolds(
  query: Query,
  newestReason: string,
  { limit, charged = false, ids }: HoldFilter,
  nowMs: number,
): Promise<{ readonly holds: readonly LedgerHold[]; readonly totals: readonly HoldTotal[] }> {
  // Open ones are found by their index.
  const states = charged ? "r.state IN ('HELD', 'UNRESOLVED', 'EXPIRED_CHARGED')" : "r.closed_ms IS NULL";
  const named = ids === undefined ? "" : ` AND r.id IN (${ids.map(() => "?").join(", ") || "NULL"})`;
  const from = `FROM reservation r LEFT JOIN node n ON n.id = r.node_id WHERE ${states}${named}`;
  const now = String(Math.floor(nowMs));
  const rows = await query(
    `SELECT r.id, ${holdStateSql(now)} AS hold_state, r.model, r.goal_account, r.day_account, r.hold, r.node_id,
       n.heartbeat_ms, r.created_ms, coalesce(r.closed_ms, r.expires_ms) AS until_ms, ${newestReason} AS why
     ${from} ORDER BY until_ms, r.id LIMIT ${Math.floor(limit)}`,
    ids,
  );
  const sums = await query(
    `SELECT hold_state, count(*) AS count, sum(hold) AS amount
     FROM (SELECT ${holdStateSql(now)} AS hold_state, r.hold ${from}) AS found GROUP BY hold_state`,
    ids,
  );
  return {
    holds: rows.map((row) => ({
      id: String(row["id"]),
      state: stateOf(row["hold_state"]),
      model: String(row["model"]),
      goalAccount: String(row["goal_account"]),
      dayAccount: String(row["day_account"]),
      amount: Number(row["hold"]),
      node: String(row["node_id"]),
      nodeSeenMs: row["heartbeat_ms"] === null ? null : Number(row["heartbeat_ms"]),
      sinceMs: Number(row["created_ms"]),
      untilMs: Number(row["until_ms"]),
      why: String(row["why"] ?? ""),
    })),
    totals: sums.map((row) => ({
      state: stateOf(row["hold_state"]),
      count: Number(row["count"]),
      amount: Number(row["amount"]),
    })),
  };
}

function stateOf(value: unknown): LedgerHold["state"] {
  const state = holdStates.find((one) => one === value);
  if (state === undefined) throw new Error(`not a state of a hold: ${value}`);
  return state;
}
