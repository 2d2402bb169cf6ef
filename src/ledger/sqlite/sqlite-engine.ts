import { type Database, SQLiteError } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { openSqlite } from "#db/sqlite.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { type OpenHolds, openHoldsOf, openHoldsSql } from "#ledger/open-holds.ts";
import { emptyAccount, saturatedAccount } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import {
  expiryGraceMs,
  lookupPauseMs,
  maxKeptLookups,
  maxLookups,
  nodeTimeoutMs,
  staleLookupMs,
} from "#ledger/rules/limits.ts";
import {
  type BatchReply,
  type LedgerBatch,
  type LedgerChanges,
  reservationIdOfOperation,
} from "#ledger/rules/operations.ts";
import {
  type AccountId,
  type AccountRow,
  type EntryRow,
  isOpen,
  type NodeIdentity,
  type ReservationRow,
} from "#ledger/rules/rows.ts";
import { type DueReservation, StoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";

/** Rows kept in memory; beyond this many all are let go, and read again as they are needed. */
const maxKnown = 50_000;
/** Rows that retention looks at before it looks whether it has enough. */
const pruneLook = 500;

/** A reservation with its place in the file. */
interface Known {
  row: ReservationRow;
  readonly seq: number;
  lastEntry: number;
}

/**
 * The books in an SQLite file. Synchronous: runs in a worker thread, so that a slow disk never holds up the gateway.
 * What this connection has read or written it keeps in memory for as long as no other connection has changed the file
 * (`PRAGMA data_version`, looked at under the write lock), so a batch mostly only writes.
 */
export class SqliteEngine {
  readonly #db: Database;
  readonly #statements: ReturnType<typeof prepare>;
  /** The file as this connection knows it; undefined: not at all. */
  #version: number | undefined;
  #day: UtcDay | undefined;
  readonly #accounts = new Map<AccountId, AccountRow>();
  readonly #reservations = new Map<ReservationId, Known>();
  #lastReservation = 0;
  #lastEntry = 0;

  /** As `Store.empty`. */
  empty: { readonly expected: boolean } | undefined;
  /** Whether files of a database stand there without it: it was used, and is gone. */
  readonly #orphaned: boolean;
  readonly #files: readonly FileIdentity[];
  #nodeId = "";

  constructor(path: string) {
    this.#orphaned = path !== ":memory:" && !existsSync(path) && existsSync(`${path}-wal`);
    this.#db = openSqlite(path);
    this.#statements = prepare(this.#db);
    // Opening has written: the files of the log stand beside the database now, for as long as any connection is open.
    this.#files = path === ":memory:" ? [] : ["", "-wal", "-shm"].flatMap((suffix) => identityOf(path + suffix) ?? []);
  }

  join(nodeId: string, nowMs: number): NodeIdentity {
    return this.#transaction(() => {
      this.#nodeId = nodeId;
      const unused = this.#files.length > 0 && this.#statements.used.get() === null;
      this.empty = unused ? { expected: this.#orphaned } : undefined;
      const epoch = this.#statements.join.get(nodeId, nowMs)?.epoch;
      if (epoch === undefined) throw new StoreFailure("fatal", "the node row could not be written");
      return { id: nodeId, epoch };
    });
  }

  commit(batch: LedgerBatch, nowMs: number): BatchReply {
    // Nearly every id that is reserved is new. That is taken for granted first: its insert fails if it is not so, and
    // a refusal, which inserts nothing, is believed only after a look.
    const fresh = new Set<ReservationId>();
    for (const operation of batch.operations) if (operation.kind === "reserve") fresh.add(operation.reservation.id);
    for (const operation of batch.operations)
      if (operation.kind !== "reserve") fresh.delete(reservationIdOfOperation(operation));
    try {
      const reply = this.#transaction(() => this.#write(batch, nowMs, fresh));
      if (reply !== undefined) return reply;
    } catch (error) {
      if (!(error instanceof StoreFailure) || error.kind !== "conflict" || fresh.size === 0) throw error;
    }
    const reply = this.#transaction(() => this.#write(batch, nowMs, new Set()));
    if (reply === undefined) throw new Error("nothing was taken for granted");
    return reply;
  }

  /** Undefined, with nothing written, when an id in `fresh` is in the books after all. */
  #write(batch: LedgerBatch, nowMs: number, fresh: ReadonlySet<ReservationId>): BatchReply | undefined {
    this.#refresh();
    const view = {
      account: (id: AccountId) => this.#account(id),
      reservation: (id: ReservationId) =>
        (this.#reservations.get(id) ?? (fresh.has(id) ? undefined : this.#lookUp(id)))?.row,
    };
    const { reply, changes } = decideBatch(batch, view, { nowMs, day: this.#today(nowMs) });
    for (const [index, operation] of batch.operations.entries()) {
      if (reply.replies[index]?.kind !== "refused" || operation.kind !== "reserve") continue;
      const { id } = operation.reservation;
      if (fresh.has(id) && this.#lookUp(id) !== undefined) return undefined;
    }
    this.#apply(changes);
    return reply;
  }

  #apply({ inserted, updated, entries, accounts, lookups }: LedgerChanges): void {
    const statements = this.#statements;
    for (const row of inserted) {
      this.#lastReservation += 1;
      this.#reservations.set(row.id, { row, seq: this.#lastReservation, lastEntry: 0 });
    }
    const entryValues: Value[] = [];
    for (const entry of entries) {
      const known = this.#known(entry.reservationId);
      this.#lastEntry += 1;
      pushEntry(entryValues, entry, this.#lastEntry, known.lastEntry === 0 ? null : known.lastEntry);
      known.lastEntry = this.#lastEntry;
    }
    const reservationValues: Value[] = [];
    for (const row of inserted) pushReservation(reservationValues, row, this.#known(row.id));
    statements.insertReservations(reservationValues);
    statements.insertEntries(entryValues);
    for (const { reservationId, generationId, nextMs } of lookups) {
      statements.addLookup.run(reservationId, generationId, nextMs);
    }
    for (const { before, after } of updated) {
      const known = this.#known(after.id);
      const { changes: count } = statements.updateReservation.run(
        after.state,
        after.actual,
        after.source,
        after.dispatched ? 1 : 0,
        after.closedMs,
        known.lastEntry,
        known.seq,
        before.state,
      );
      if (count !== 1) throw new StoreFailure("conflict", `reservation ${after.id} is not ${before.state}`);
      if (isOpen(after.state)) known.row = after;
      else this.#reservations.delete(after.id);
    }
    for (const { after } of accounts) {
      statements.writeAccount.run(after.id, after.held, after.spent, after.overrun, after.hard);
      this.#accounts.set(after.id, after);
    }
  }

  /** Forgets what another connection may have changed. Under the write lock, so nothing changes from here on. */
  #refresh(): void {
    const version = this.#statements.version.get()?.data_version;
    const full = this.#accounts.size > maxKnown || this.#reservations.size > maxKnown;
    if (version !== undefined && version === this.#version && !full) return;
    this.#forget();
    this.#version = version;
    this.#lastReservation = this.#statements.lastReservation.get()?.seq ?? 0;
    this.#lastEntry = this.#statements.lastEntry.get()?.seq ?? 0;
  }

  #forget(): void {
    this.#version = undefined;
    this.#day = undefined;
    this.#accounts.clear();
    this.#reservations.clear();
  }

  #account(id: AccountId): AccountRow {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const row = saturatedAccount(this.#statements.account.get(id) ?? emptyAccount(id));
    this.#accounts.set(id, row);
    return row;
  }

  #lookUp(id: ReservationId): Known | undefined {
    const stored = this.#statements.reservation.get(id);
    if (stored === null) return undefined;
    const { seq, lastEntry, dispatched, ...rest } = stored;
    const known = { row: { ...rest, dispatched: dispatched === 1 }, seq, lastEntry };
    this.#reservations.set(id, known);
    return known;
  }

  #known(id: ReservationId): Known {
    const known = this.#reservations.get(id);
    if (known === undefined) throw new Error(`reservation ${id} written before it was read`);
    return known;
  }

  heartbeat(node: NodeIdentity, nowMs: number): void {
    this.#guarded(() => {
      this.#refuseOtherFiles();
      if (this.#statements.beat.run(nowMs, node.id, node.epoch).changes > 0) return;
      const known = this.#statements.nodeEpoch.get(node.id)?.epoch ?? 0;
      if (known < node.epoch)
        throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
    });
  }

  /** A deleted or replaced file is no error to a connection that has it open, but the next process would count anew. */
  #refuseOtherFiles(): void {
    for (const { path, device, inode } of this.#files) {
      const now = identityOf(path);
      if (now?.device === device && now.inode === inode) continue;
      throw new StoreFailure("lost", `${path} was ${now === undefined ? "deleted" : "replaced"} while the gateway ran`);
    }
  }

  findDue(node: NodeIdentity, limit: number, nowMs: number): DueReservation[] {
    return this.#guarded(() =>
      this.#statements.due.all({ now: nowMs, silent: nowMs - nodeTimeoutMs, node: node.id, epoch: node.epoch, limit }),
    );
  }

  read(accounts: Record<UtcDay, readonly AccountId[]>, nowMs: number): { day: UtcDay; accounts: AccountRow[] } {
    return this.#guarded(() => {
      const day = this.latestDay(nowMs);
      const stored = (accounts[day] ?? []).flatMap((id) => this.#statements.account.get(id) ?? []);
      return { day, accounts: stored.map(saturatedAccount) };
    });
  }

  takeLookups(limit: number, nowMs: number): BillingLookup[] {
    const { dueLookups, spentLookups, excessLookups, claimLookup } = this.#statements;
    // Nearly always there are none, and then the write lock is not worth taking.
    if (this.#guarded(() => dueLookups.all(nowMs, 1)).length === 0) return [];
    return this.#transaction(() => {
      spentLookups.run(maxLookups, nowMs);
      excessLookups.run(maxKeptLookups);
      return dueLookups.all(nowMs, limit).map(({ id, generationId, hold, tries }) => {
        claimLookup.run(nowMs + lookupPauseMs * 2 ** tries, id);
        return { id, generationId, hold: nanoUsd(hold), last: tries + 1 >= maxLookups };
      });
    });
  }

  dropLookups(ids: readonly ReservationId[]): void {
    this.#guarded(() => this.#statements.dropLookups.run(JSON.stringify(ids)));
  }

  openHolds(nowMs: number): OpenHolds {
    const { heldSums, unresolvedRows } = this.#statements;
    return this.#guarded(() => openHoldsOf(heldSums.all({ now: nowMs }), unresolvedRows.all({ now: nowMs })));
  }

  latestDay(nowMs: number): UtcDay {
    const today = utcDayOf(nowMs);
    const latest = this.#statements.day.get()?.day ?? "";
    return latest > today ? latest : today;
  }

  prune(retentionMs: number, limit: number, nowMs: number): number {
    return this.#transaction(() => {
      const statements = this.#statements;
      const before = nowMs - Math.max(retentionMs, expiryGraceMs);
      const old = JSON.stringify(this.#prunable(before, limit, nowMs));
      statements.carry.run(old);
      statements.pruneEntries.run(old);
      const { changes } = statements.pruneReservations.run(old);
      statements.pruneAccounts.run({ day: utcDayOf(before) });
      statements.pruneNodes.run({ before, self: this.#nodeId });
      this.#forget();
      return changes;
    });
  }

  /** Reservations lie in the order of their making: the old ones come first, and the search ends at the first young one. */
  #prunable(before: number, limit: number, nowMs: number): number[] {
    const found: number[] = [];
    for (let after = 0; ; ) {
      const rows = this.#statements.oldest.all(after, pruneLook);
      for (const { seq, createdMs, closedMs } of rows) {
        after = seq;
        if (closedMs !== null && closedMs < before) found.push(seq);
        // Made in the future by a clock that was ahead: says nothing of those behind it.
        else if (createdMs >= before && createdMs <= nowMs) return found;
        if (found.length === limit) return found;
      }
      if (rows.length < pruneLook) return found;
    }
  }

  close(): void {
    this.#db.close();
  }

  /** Today, or the newest day seen where the clock was set back; a new day is written down. */
  #today(nowMs: number): UtcDay {
    this.#day ??= this.#statements.day.get()?.day ?? "";
    const today = utcDayOf(nowMs);
    if (this.#day < today) {
      this.#statements.setDay.run(today);
      this.#day = today;
    }
    return this.#day;
  }

  #transaction<T>(work: () => T): T {
    return this.#guarded(() => {
      const { begin, commit } = this.#statements;
      begin.run();
      try {
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        this.#forget();
        if (this.#db.inTransaction) this.#db.run("ROLLBACK");
        throw error;
      }
    });
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

interface FileIdentity {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

function identityOf(path: string): FileIdentity | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : { path, device: found.dev, inode: found.ino };
}

/** What an error of SQLite means. A failed read or sync leaves it open what is on the disk: nothing after it can be trusted. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof SQLiteError)) return error;
  const code = error.code ?? "";
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return new StoreFailure("fatal", `${code}: ${error.message}`);
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) {
    return new StoreFailure("conflict", `${code}: ${error.message}`);
  }
  return new StoreFailure("transient", `${code}: ${error.message}`);
}

interface StoredReservation extends Omit<ReservationRow, "dispatched"> {
  readonly seq: number;
  readonly lastEntry: number;
  readonly dispatched: number;
}

const accountColumns = `id, held, spent, overrun, hard, own_hard AS "ownHard"`;
const isDayAccount = `(id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__')`;

type Value = string | number | null;

/** Every entry of the reservations whose places are given as a JSON array. */
const oldEntries = `WITH RECURSIVE old (reservation, entry) AS (
  SELECT r.seq, r.last_entry FROM reservation r WHERE r.seq IN (SELECT value FROM json_each(?1))
  UNION ALL
  SELECT old.reservation, e.previous FROM old JOIN ledger_entry e ON e.seq = old.entry WHERE e.previous IS NOT NULL)`;

function prepare(db: Database) {
  const [heldSums, unresolvedRows] = openHoldsSql("$now");
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
    heldSums: db.query<Record<string, unknown>, { now: number }>(heldSums),
    unresolvedRows: db.query<Record<string, unknown>, { now: number }>(unresolvedRows),
    begin: db.query<unknown, []>("BEGIN IMMEDIATE"),
    commit: db.query<unknown, []>("COMMIT"),
    version: db.query<{ data_version: number }, []>("PRAGMA data_version"),
    lastReservation: db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM reservation"),
    lastEntry: db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM ledger_entry"),
    account: db.query<AccountRow, [string]>(`SELECT ${accountColumns} FROM account WHERE id = ?`),
    writeAccount: db.query<unknown, [string, number, number, number, number | null]>(
      `INSERT INTO account (id, held, spent, overrun, hard) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET held = excluded.held, spent = excluded.spent, overrun = excluded.overrun, hard = excluded.hard`,
    ),
    reservation: db.query<StoredReservation, [string]>(
      `SELECT seq, last_entry AS lastEntry, id, request_id AS requestId, attempt, goal_account AS goalAccount, day_account AS dayAccount, hold, actual,
         source, state, model, node_id AS nodeId, node_epoch AS nodeEpoch, dispatched, created_ms AS createdMs,
         expires_ms AS expiresMs, closed_ms AS closedMs
       FROM reservation WHERE id = ?`,
    ),
    insertReservations: inserter(db, "reservation", [
      "seq",
      "last_entry",
      "id",
      "request_id",
      "attempt",
      "goal_account",
      "day_account",
      "hold",
      "actual",
      "source",
      "state",
      "model",
      "node_id",
      "node_epoch",
      "dispatched",
      "created_ms",
      "expires_ms",
      "closed_ms",
    ]),
    updateReservation: db.query<unknown, Value[]>(
      `UPDATE reservation SET state = ?, actual = ?, source = ?, dispatched = ?, closed_ms = ?, last_entry = ?
       WHERE seq = ? AND state = ?`,
    ),
    insertEntries: inserter(db, "ledger_entry", [
      "seq",
      "previous",
      "reservation_id",
      "event",
      "held",
      "spent",
      "overrun",
      "reason",
      "node_id",
      "at_ms",
    ]),
    day: db.query<{ day: string }, []>("SELECT day FROM ledger_day WHERE only = 1"),
    setDay: db.query<unknown, [string]>(
      "INSERT INTO ledger_day (only, day) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET day = excluded.day",
    ),
    join: db.query<{ epoch: number }, [string, number]>(
      `INSERT INTO node (id, epoch, heartbeat_ms) VALUES (?, 1, ?)
       ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch`,
    ),
    used: db.query<{ used: number }, []>("SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1"),
    nodeEpoch: db.query<{ epoch: number }, [string]>("SELECT epoch FROM node WHERE id = ?"),
    beat: db.query<unknown, [number, string, number]>("UPDATE node SET heartbeat_ms = ? WHERE id = ? AND epoch = ?"),
    due: db.query<DueReservation, { now: number; silent: number; node: string; epoch: number; limit: number }>(
      `SELECT r.id, CASE WHEN r.expires_ms <= $now THEN 'expired' ELSE 'owner_dead' END AS why
       FROM reservation r LEFT JOIN node n ON n.id = r.node_id
       WHERE r.closed_ms IS NULL AND (
         r.expires_ms <= $now
         OR (r.state = 'HELD' AND CASE WHEN r.node_id = $node THEN r.node_epoch < $epoch
               ELSE n.id IS NULL OR n.epoch > r.node_epoch OR n.heartbeat_ms <= $silent END))
       ORDER BY r.expires_ms LIMIT $limit`,
    ),
    oldest: db.query<{ seq: number; createdMs: number; closedMs: number | null }, [number, number]>(
      `SELECT seq, created_ms AS createdMs, closed_ms AS closedMs FROM reservation WHERE seq > ? ORDER BY seq LIMIT ?`,
    ),
    carry: db.query<unknown, [string]>(
      `${oldEntries} UPDATE account SET carried_spent = carried_spent + gone.spent, carried_overrun = carried_overrun + gone.overrun
       FROM (SELECT account, sum(spent) AS spent, sum(overrun) AS overrun FROM (
               SELECT r.goal_account AS account, e.spent, e.overrun
               FROM old JOIN ledger_entry e ON e.seq = old.entry JOIN reservation r ON r.seq = old.reservation
               UNION ALL
               SELECT r.day_account, e.spent, e.overrun
               FROM old JOIN ledger_entry e ON e.seq = old.entry JOIN reservation r ON r.seq = old.reservation)
             GROUP BY account) AS gone
       WHERE account.id = gone.account`,
    ),
    pruneEntries: db.query<unknown, [string]>(
      `${oldEntries} DELETE FROM ledger_entry WHERE seq IN (SELECT entry FROM old)`,
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

/** Writes rows, given as their values one after the other: several in one statement cost half as much each. */
function inserter(db: Database, table: string, columns: readonly string[]): (values: readonly Value[]) => void {
  const row = `(${columns.map(() => "?").join(", ")})`;
  const statements = [8, 1].map((rows) => ({
    values: rows * columns.length,
    statement: db.query<unknown, Value[]>(
      `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array(rows).fill(row).join(", ")}`,
    ),
  }));
  return (values) => {
    let from = 0;
    for (const { values: count, statement } of statements) {
      for (; values.length - from >= count; from += count) statement.run(...values.slice(from, from + count));
    }
  };
}

function pushReservation(values: Value[], row: ReservationRow, { seq, lastEntry }: Known): void {
  values.push(
    seq,
    lastEntry,
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

function pushEntry(values: Value[], entry: EntryRow, seq: number, previous: number | null): void {
  values.push(
    seq,
    previous,
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
