import { type Database, SQLiteError } from "bun:sqlite";
import { openSqlite } from "#db/sqlite.ts";
import { type UtcDay, utcDayOf } from "#domain/time.ts";
import {
  type AccountId,
  type AccountRow,
  type Batch,
  type BatchReply,
  decideBatch,
  type EntryRow,
  emptyAccount,
  expiryGraceMs,
  type NodeIdentity,
  nodeSilentMs,
  type ReservationRow,
} from "./books.ts";
import type { ReservationId } from "./ledger.ts";
import { type Due, StoreFailure } from "./store.ts";

/** The books in an SQLite file. Synchronous: runs in a worker thread, so that a slow disk never holds up the gateway. */
export class SqliteBooks {
  private readonly db: Database;
  private readonly statements: ReturnType<typeof prepare>;

  constructor(path: string) {
    this.db = openSqlite(path);
    this.statements = prepare(this.db);
  }

  join(nodeId: string, nowMs: number): NodeIdentity {
    return this.transaction(() => {
      const epoch = this.statements.join.get(nodeId, nowMs)?.epoch;
      if (epoch === undefined) throw new StoreFailure("fatal", "the node row could not be written");
      return { id: nodeId, epoch };
    });
  }

  commit(batch: Batch, nowMs: number): BatchReply {
    return this.transaction(() => {
      const { statements } = this;
      const view = {
        account: (id: AccountId) => statements.account.get(id) ?? emptyAccount(id),
        reservation: (id: ReservationId) => {
          const row = statements.reservation.get(id);
          return row === null ? undefined : { ...row, dispatched: row.dispatched === 1 };
        },
      };
      const { reply, changes } = decideBatch(batch, view, { nowMs, day: this.today(nowMs) });
      for (const row of changes.inserted) insertReservation(statements, row);
      for (const { before, after } of changes.updated) {
        const { changes: count } = statements.updateReservation.run(
          after.state,
          after.actual,
          after.source,
          after.dispatched ? 1 : 0,
          after.closedMs,
          after.id,
          before.state,
        );
        if (count !== 1) throw new StoreFailure("conflict", `reservation ${after.id} is not ${before.state}`);
      }
      for (const entry of changes.entries) insertEntry(statements, entry);
      for (const { after } of changes.accounts) {
        statements.writeAccount.run(after.id, after.held, after.spent, after.overrun, after.hard);
      }
      return reply;
    });
  }

  beat(node: NodeIdentity, nowMs: number): void {
    this.guarded(() => this.statements.beat.run(nowMs, node.id, node.epoch));
  }

  due(node: NodeIdentity, limit: number, nowMs: number): Due[] {
    return this.guarded(() =>
      this.statements.due.all({ now: nowMs, silent: nowMs - nodeSilentMs, node: node.id, epoch: node.epoch, limit }),
    );
  }

  read(accounts: Record<UtcDay, readonly AccountId[]>, nowMs: number): { day: UtcDay; accounts: AccountRow[] } {
    return this.guarded(() => {
      const day = this.latestDay(nowMs);
      return { day, accounts: (accounts[day] ?? []).flatMap((id) => this.statements.account.get(id) ?? []) };
    });
  }

  latestDay(nowMs: number): UtcDay {
    const today = utcDayOf(nowMs);
    const latest = this.statements.day.get()?.day ?? "";
    return latest > today ? latest : today;
  }

  prune(retentionMs: number, limit: number, nowMs: number): number {
    return this.transaction(() => {
      const { statements } = this;
      const before = nowMs - Math.max(retentionMs, expiryGraceMs);
      const ids = statements.prunable.all(before, limit).map(({ id }) => id);
      if (ids.length > 0) {
        const list = JSON.stringify(ids);
        statements.carry.run(list);
        statements.pruneEntries.run(list);
        statements.pruneReservations.run(list);
      }
      const day = utcDayOf(before);
      statements.pruneAccounts.run({ day });
      statements.pruneNodes.run({ before });
      return ids.length;
    });
  }

  close(): void {
    this.db.close();
  }

  /** Today, or the newest day seen where the clock was set back; a new day is written down. */
  private today(nowMs: number): UtcDay {
    const latest = this.statements.day.get()?.day;
    const day = this.latestDay(nowMs);
    if (latest !== day) this.statements.setDay.run(day);
    return day;
  }

  private transaction<T>(work: () => T): T {
    return this.guarded(() => {
      this.db.run("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.db.run("COMMIT");
        return result;
      } catch (error) {
        if (this.db.inTransaction) this.db.run("ROLLBACK");
        throw error;
      }
    });
  }

  private guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

/** What an error of SQLite means. A failed read or sync leaves it open what is on the disk: nothing after it can be trusted. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof SQLiteError)) return error;
  const code = error.code ?? "";
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return new StoreFailure("fatal", `${code}: ${error.message}`);
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) {
    return new StoreFailure("conflict", `${code}: ${error.message}`);
  }
  return new StoreFailure("again", `${code}: ${error.message}`);
}

type Stored<T> = Omit<T, "dispatched"> & { readonly dispatched: number };

const accountColumns = `id, held, spent, overrun, hard, own_hard AS "ownHard"`;
const isDayAccount = `(id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__')`;

function prepare(db: Database) {
  return {
    account: db.query<AccountRow, [string]>(`SELECT ${accountColumns} FROM account WHERE id = ?`),
    writeAccount: db.query<unknown, [string, number, number, number, number | null]>(
      `INSERT INTO account (id, held, spent, overrun, hard) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET held = excluded.held, spent = excluded.spent, overrun = excluded.overrun, hard = excluded.hard`,
    ),
    reservation: db.query<Stored<ReservationRow>, [string]>(
      `SELECT id, request_id AS requestId, attempt, goal_account AS goalAccount, day_account AS dayAccount, hold, actual,
         source, state, model, node_id AS nodeId, node_epoch AS nodeEpoch, dispatched, created_ms AS createdMs,
         expires_ms AS expiresMs, closed_ms AS closedMs
       FROM reservation WHERE id = ?`,
    ),
    insertReservation: db.query<unknown, (string | number | null)[]>(
      `INSERT INTO reservation (id, request_id, attempt, goal_account, day_account, hold, actual, source, state, model,
         node_id, node_epoch, dispatched, created_ms, expires_ms, closed_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateReservation: db.query<unknown, (string | number | null)[]>(
      `UPDATE reservation SET state = ?, actual = ?, source = ?, dispatched = ?, closed_ms = ? WHERE id = ? AND state = ?`,
    ),
    insertEntry: db.query<unknown, (string | number)[]>(
      `INSERT INTO ledger_entry (reservation_id, event, held, spent, overrun, reason, node_id, at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    day: db.query<{ day: string }, []>("SELECT day FROM ledger_day WHERE only = 1"),
    setDay: db.query<unknown, [string]>(
      "INSERT INTO ledger_day (only, day) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET day = excluded.day",
    ),
    join: db.query<{ epoch: number }, [string, number]>(
      `INSERT INTO node (id, epoch, heartbeat_ms) VALUES (?, 1, ?)
       ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch`,
    ),
    beat: db.query<unknown, [number, string, number]>("UPDATE node SET heartbeat_ms = ? WHERE id = ? AND epoch = ?"),
    due: db.query<Due, { now: number; silent: number; node: string; epoch: number; limit: number }>(
      `SELECT r.id, CASE WHEN r.expires_ms <= $now THEN 'expired' ELSE 'owner_dead' END AS why
       FROM reservation r LEFT JOIN node n ON n.id = r.node_id
       WHERE r.closed_ms IS NULL AND (
         r.expires_ms <= $now
         OR (r.state = 'HELD' AND CASE WHEN r.node_id = $node THEN r.node_epoch < $epoch
               ELSE n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= $silent END))
       ORDER BY r.expires_ms LIMIT $limit`,
    ),
    prunable: db.query<{ id: string }, [number, number]>(
      "SELECT id FROM reservation WHERE closed_ms IS NOT NULL AND closed_ms < ? ORDER BY closed_ms LIMIT ?",
    ),
    carry: db.query<unknown, [string]>(
      `UPDATE account SET carried_spent = carried_spent + gone.spent, carried_overrun = carried_overrun + gone.overrun
       FROM (SELECT account, sum(spent) AS spent, sum(overrun) AS overrun FROM (
               SELECT r.goal_account AS account, e.spent, e.overrun
               FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
               WHERE r.id IN (SELECT value FROM json_each(?1))
               UNION ALL
               SELECT r.day_account, e.spent, e.overrun
               FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
               WHERE r.id IN (SELECT value FROM json_each(?1)))
             GROUP BY account) AS gone
       WHERE account.id = gone.account`,
    ),
    pruneEntries: db.query<unknown, [string]>(
      "DELETE FROM ledger_entry WHERE reservation_id IN (SELECT value FROM json_each(?))",
    ),
    pruneReservations: db.query<unknown, [string]>(
      "DELETE FROM reservation WHERE id IN (SELECT value FROM json_each(?))",
    ),
    pruneAccounts: db.query<unknown, { day: string }>(
      `DELETE FROM account WHERE ${isDayAccount} AND substr(id, -10) < $day AND held = 0
         AND spent = carried_spent AND overrun = carried_overrun`,
    ),
    pruneNodes: db.query<unknown, { before: number }>(
      `DELETE FROM node WHERE heartbeat_ms < $before
         AND NOT EXISTS (SELECT 1 FROM reservation r WHERE r.node_id = node.id AND r.closed_ms IS NULL)`,
    ),
  };
}

function insertReservation(statements: ReturnType<typeof prepare>, row: ReservationRow): void {
  statements.insertReservation.run(
    row.id,
    row.requestId,
    row.attempt,
    row.goalAccount,
    row.dayAccount,
    row.hold,
    row.actual,
    row.source,
    row.state,
    row.model,
    row.nodeId,
    row.nodeEpoch,
    row.dispatched ? 1 : 0,
    row.createdMs,
    row.expiresMs,
    row.closedMs,
  );
}

function insertEntry(statements: ReturnType<typeof prepare>, entry: EntryRow): void {
  statements.insertEntry.run(
    entry.reservationId,
    entry.event,
    entry.held,
    entry.spent,
    entry.overrun,
    entry.reason,
    entry.nodeId,
    entry.atMs,
  );
}
