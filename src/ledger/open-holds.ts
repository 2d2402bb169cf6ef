import type { Clock } from "#platform/time.ts";
import { nodeSuspectMs, nodeTimeoutMs } from "./rules/limits.ts";

/** What is held in a whole store at one moment: its shape, and the SQL that both databases answer it with. */

/**
 * The SQL expression of a hold's state at a time that is an SQL expression too; `r` is the reservation, `n` its node.
 * @param timeoutMs a node that was silent for so long counts as dead
 */
export function holdStateSql(now: string, timeoutMs = nodeTimeoutMs): string {
  return `CASE WHEN r.state = 'EXPIRED_CHARGED' THEN 'charged' WHEN r.state = 'UNRESOLVED' THEN 'unresolved'
    WHEN n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= ${now} - ${timeoutMs} THEN 'orphaned'
    ELSE 'live' END`;
}

/** Money and number of holds. */
export interface HeldSum {
  readonly count: number;
  /** Nano-USD. */
  readonly amount: number;
}

/** All that is held in a store at one moment: by running calls, and by calls that cannot end their hold themselves any more. */
export interface OpenHolds {
  readonly running: HeldSum;
  readonly unresolved: HeldSum;
  /** The unresolved ones, those that end first at the head; at most `maxUnresolvedRows`. */
  readonly rows: readonly {
    readonly goalAccount: string;
    readonly dayAccount: string;
    /** Nano-USD. */
    readonly amount: number;
    readonly endsInMs: number;
    /** The aggregator is being asked about it. */
    readonly asked: boolean;
  }[];
}

const maxUnresolvedRows = 2_000;

/**
 * Two statements: the sums of all open reservations, and the unresolved ones. `now` is the store's clock as SQL; `narrowed`, a
 * condition that the open ones are found by where the store has an index for it.
 */
export function openHoldsSql(now: string, narrowed = "r.closed_ms IS NULL"): readonly [sums: string, rows: string] {
  const from = `FROM reservation r LEFT JOIN node n ON n.id = r.node_id WHERE ${narrowed} AND r.closed_ms IS NULL`;
  const state = holdStateSql(now, nodeSuspectMs);
  return [
    `SELECT hold_state, count(*) AS count, sum(hold) AS amount
     FROM (SELECT ${state} AS hold_state, r.hold ${from}) AS found GROUP BY hold_state`,
    `SELECT r.goal_account, r.day_account, r.hold, r.expires_ms - ${now} AS ends_in_ms,
       CASE WHEN EXISTS (SELECT 1 FROM generation_lookup g WHERE g.reservation_id = r.id) THEN 1 ELSE 0 END AS asked
     ${from} AND ${state} <> 'live' ORDER BY r.expires_ms LIMIT ${maxUnresolvedRows}`,
  ];
}

type Row = Readonly<Record<string, unknown>>;

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
      amount: Number(row["hold"]),
      endsInMs: Math.max(0, Number(row["ends_in_ms"])),
      asked: Number(row["asked"]) === 1,
    })),
  };
}

/** A query runs again after this many times its own duration: queries take a fiftieth of the time at most. */
const pauseFactor = 50;
const minPauseMs = 1_000;
const maxPauseMs = 30_000;
/** Pause after a query that failed or timed out. */
const failedPauseMs = 60_000;

/** What is held in the whole store, queried now and then: one query at a time, and the latest result is kept. */
export class OpenHoldsCache {
  readonly #query: () => Promise<OpenHolds>;
  readonly #clock: Clock;
  #latest: { readonly holds: OpenHolds; readonly seenMs: number } | undefined;
  #running: Promise<void> | undefined;
  #nextMs = 0;

  constructor(query: () => Promise<OpenHolds>, clock: Clock) {
    this.#query = query;
    this.#clock = clock;
  }

  /** The latest result; undefined before the first one, and when it is old. */
  get latest(): OpenHolds | undefined {
    const { seenMs = 0, holds } = this.#latest ?? {};
    return this.#clock.monotonic() - seenMs <= 2 * failedPauseMs ? holds : undefined;
  }

  /** Queries, unless that was done a moment ago. Undefined when the store does not answer. Never rejects. */
  async refresh(): Promise<OpenHolds | undefined> {
    if (this.#running === undefined && this.#clock.monotonic() >= this.#nextMs) {
      this.#running = this.#queryNow().finally(() => {
        this.#running = undefined;
      });
    }
    await this.#running;
    return this.latest;
  }

  async #queryNow(): Promise<void> {
    const startedMs = this.#clock.monotonic();
    try {
      const holds = await this.#query();
      const seenMs = this.#clock.monotonic();
      this.#latest = { holds, seenMs };
      this.#nextMs = seenMs + Math.min(maxPauseMs, Math.max(minPauseMs, (seenMs - startedMs) * pauseFactor));
    } catch {
      // The store is unavailable or too busy: the ledger's own calls report it where it matters.
      this.#nextMs = this.#clock.monotonic() + failedPauseMs;
    }
  }
}
