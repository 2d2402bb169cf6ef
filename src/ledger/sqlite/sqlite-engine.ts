import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { runFlatWrites, type SqlValue } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { type OpenHolds, openHoldsOf } from "#ledger/open-holds.ts";
import { emptyAccount, saturatedAccount } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import { lookupPauseMs, maxKeptLookups, maxLookups, nodeTimeoutMs } from "#ledger/rules/limits.ts";
import type { BatchReply, LedgerBatch, LedgerChanges } from "#ledger/rules/operations.ts";
import {
  type AccountId,
  type AccountRow,
  type EntryRow,
  isOpen,
  type NodeIdentity,
  partsOfReservationId,
  type ReservationRow,
  type ReservationState,
} from "#ledger/rules/rows.ts";
import { type DueReservation, StoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { isEndedProcess } from "./ended-process.ts";
import { entriesJson } from "./entry-batch.ts";
import { type FileIdentity, identityOf } from "./file-identity.ts";
import { isRefusedWrite, sqliteFailureOf } from "./sqlite-failure.ts";
import { prune } from "./sqlite-retention.ts";
import { prepareStatements, type SqliteStatements, type Value } from "./sqlite-statements.ts";

/** Rows kept in memory; beyond this many all are dropped, and read again as they are needed. */
const maxKnown = 50_000;

/** A reservation with its place in the file. */
interface Known {
  row: ReservationRow;
  readonly seq: number;
  /** The batch with its newest entry; 0 before the first. */
  lastEntry: number;
}

/**
 * The ledger in an SQLite file. Synchronous: runs in a worker thread, so that a slow disk never blocks the gateway.
 * Rows that this connection has read or written stay in memory for as long as no other connection has changed the file
 * (`PRAGMA data_version`, checked under the write lock), so a batch mostly only writes.
 */
export class SqliteEngine {
  readonly #path: string;
  readonly #db: Database;
  readonly #statements: SqliteStatements;
  /** `data_version` of the rows in memory; undefined when there are none. */
  #version: number | undefined;
  #day: UtcDay | undefined;
  readonly #accounts = new Map<AccountId, AccountRow>();
  readonly #reservations = new Map<ReservationId, Known>();
  #lastReservation = 0;
  #lastBatch = 0;

  /** As `Store.empty`. */
  empty: { readonly expected: boolean } | undefined;
  /** Whether the log of a database was there without the database: it was used, and then deleted. */
  readonly #logWithoutDatabase: boolean;
  readonly #files: readonly FileIdentity[];
  #nodeId = "";

  constructor(path: string) {
    this.#logWithoutDatabase = path !== ":memory:" && !existsSync(path) && existsSync(`${path}-wal`);
    this.#path = path;
    try {
      this.#db = openSqlite(path);
    } catch (error) {
      throw sqliteFailureOf(error, path);
    }
    this.#statements = prepareStatements(this.#db);
    // Opening has written: the files of the log exist from now on, for as long as any connection is open.
    this.#files = path === ":memory:" ? [] : ["", "-wal", "-shm"].flatMap((suffix) => identityOf(path + suffix) ?? []);
  }

  join(nodeId: string, nowMs: number): NodeIdentity {
    return this.#transaction(() => {
      this.#nodeId = nodeId;
      const unused = this.#files.length > 0 && this.#statements.used.get() === null;
      this.empty = unused ? { expected: this.#logWithoutDatabase } : undefined;
      const epoch = this.#statements.join.get(nodeId, nowMs)?.epoch;
      if (epoch === undefined) throw new StoreFailure("fatal", "the node row could not be written");
      this.#markEndedProcesses(nodeId, nowMs - nodeTimeoutMs);
      return { id: nodeId, epoch };
    });
  }

  /** A process that was killed here need not be waited for: its holds are taken over now. */
  #markEndedProcesses(self: string, deadSinceMs: number): void {
    const { liveNodes, endNode } = this.#statements;
    for (const { id } of liveNodes.all(deadSinceMs)) {
      if (id !== self && isEndedProcess(id)) endNode.run(deadSinceMs, id);
    }
  }

  commit(batch: LedgerBatch, nowMs: number): BatchReply {
    try {
      const reply = this.#transaction(() => this.#write(batch, nowMs, true));
      if (reply !== undefined) return reply;
    } catch (error) {
      if (!(error instanceof StoreFailure) || error.kind !== "conflict") throw error;
    }
    const reply = this.#transaction(() => this.#write(batch, nowMs, false));
    if (reply === undefined) throw new Error("no id was assumed to be new");
    return reply;
  }

  /**
   * Nearly every id that is reserved is new, so with `assumeNew` it is not looked up: the insert fails if it is not, and before
   * a refusal, which inserts nothing, it is looked up. Undefined, with nothing written, when such an id exists after all.
   */
  #write(batch: LedgerBatch, nowMs: number, assumeNew: boolean): BatchReply | undefined {
    this.#refresh();
    const view = {
      account: (id: AccountId) => this.#account(id),
      reservation: (id: ReservationId) => (this.#reservations.get(id) ?? this.#lookUp(id))?.row,
      newReservation: (id: ReservationId) =>
        (this.#reservations.get(id) ?? (assumeNew ? undefined : this.#lookUp(id)))?.row,
    };
    const { reply, changes } = decideBatch(batch, view, { nowMs, day: this.#today(nowMs) });
    if (assumeNew && this.#refusesUsedId(batch, reply)) return undefined;
    this.#apply(changes);
    return reply;
  }

  /** Whether a reservation is refused as if it were new, and is in the store. */
  #refusesUsedId({ operations }: LedgerBatch, { replies }: BatchReply): boolean {
    return replies.some(({ kind }, index) => {
      const operation = operations[index];
      if (kind !== "refused" || operation?.kind !== "reserve") return false;
      const { id } = operation.reservation;
      return !this.#reservations.has(id) && this.#lookUp(id) !== undefined;
    });
  }

  #apply(changes: LedgerChanges): void {
    const { inserted, updated, accounts, lookups } = changes;
    const statements = this.#statements;
    for (const row of inserted) {
      this.#lastReservation += 1;
      this.#reservations.set(row.id, { row, seq: this.#lastReservation, lastEntry: 0 });
    }
    this.#insertEntries(changes.entries);
    this.#insertReservations(inserted);
    for (const { reservationId, generationId, nextMs } of lookups) {
      statements.addLookup.run(reservationId, generationId, nextMs);
    }
    for (const row of inserted) if (row.state !== "HELD") this.#update("HELD", row);
    for (const { before, after } of updated) this.#update(before.state, after);
    for (const { after } of accounts) {
      const { id, held, spent, overrun, hard } = after;
      if (statements.updateAccount.run(held, spent, overrun, hard, id).changes === 0) {
        statements.insertAccount.run(id, held, spent, overrun, hard);
      }
      this.#accounts.set(id, after);
    }
  }

  /** All entries of a batch are of one node and one moment. */
  #insertEntries(entries: readonly EntryRow[]): void {
    const [first] = entries;
    if (first === undefined) return;
    this.#lastBatch += 1;
    const json = entriesJson(entries, (id) => {
      const known = this.#known(id);
      const previous = known.lastEntry === 0 ? null : known.lastEntry;
      known.lastEntry = this.#lastBatch;
      return previous;
    });
    this.#statements.insertBatch.run(this.#lastBatch, first.nodeId, first.atMs, json);
  }

  /** Inserts them as held: a new one that is closed already is updated behind that. */
  #insertReservations(rows: readonly ReservationRow[]): void {
    const [first] = rows;
    if (first === undefined) return;
    const { dayAccount, nodeId, nodeEpoch, createdMs, goalAccount, model } = first;
    const isOneModel = rows.every((row) => row.goalAccount === goalAccount && row.model === model);
    const values: Value[] = [];
    for (const row of rows) {
      const { seq, lastEntry } = this.#known(row.id);
      values.push(seq, lastEntry, row.id, row.hold, row.expiresMs);
      if (!isOneModel) values.push(row.goalAccount, row.model);
    }
    const { insertReservations, insertReservationsOfOneModel } = this.#statements;
    const same = [dayAccount, nodeId, nodeEpoch, createdMs];
    if (isOneModel) insertReservationsOfOneModel([...same, goalAccount, model], values);
    else insertReservations(same, values);
  }

  #update(before: ReservationState, after: ReservationRow): void {
    const { settleReservation, updateReservation } = this.#statements;
    const known = this.#known(after.id);
    const { state, actual, source, closedMs, dispatched } = after;
    const { changes } =
      before === "HELD" && state === "SETTLED" && dispatched
        ? settleReservation.run(actual, source, closedMs, known.lastEntry, known.seq)
        : updateReservation.run(
            state,
            actual,
            source,
            dispatched ? 1 : 0,
            closedMs,
            known.lastEntry,
            known.seq,
            before,
          );
    if (changes !== 1) throw new StoreFailure("conflict", `reservation ${after.id} is not ${before}`);
    if (isOpen(state)) known.row = after;
    else this.#reservations.delete(after.id);
  }

  /** Drops the rows in memory if another connection may have changed them. Under the write lock, so nothing changes from here on. */
  #refresh(): void {
    const version = this.#statements.version.get()?.data_version;
    const full = this.#accounts.size > maxKnown || this.#reservations.size > maxKnown;
    if (version !== undefined && version === this.#version && !full) return;
    this.#forget();
    this.#version = version;
    this.#lastReservation = this.#statements.lastReservation.get()?.seq ?? 0;
    this.#lastBatch = this.#statements.lastBatch.get()?.seq ?? 0;
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
    const known = { row: { ...rest, ...partsOfReservationId(id), dispatched: dispatched === 1 }, seq, lastEntry };
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
      if (this.#statements.heartbeat.run(nowMs, node.id, node.epoch).changes > 0) return;
      const known = this.#statements.nodeEpoch.get(node.id)?.epoch ?? 0;
      if (known < node.epoch)
        throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
    });
  }

  /** SQLite reports no error when an open file is deleted or replaced, but the next process would start an empty ledger. */
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
    // Nearly always there are none; then the write lock is not taken.
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
      const removed = prune(this.#statements, { retentionMs, limit, nowMs, nodeId: this.#nodeId });
      this.#forget();
      return removed;
    });
  }

  /** Writes of another part of the gateway (as `pushWrites` appends them, from that place on), to tables of its own, between two batches; they need not be durable at once. */
  sharedWrite(flat: readonly SqlValue[], from: number): void {
    this.#guarded(() => runFlatWrites(this.#db, flat, from));
  }

  close(): void {
    this.#db.close();
  }

  /** Today, or the newest day seen where the clock was set back; a new day is stored. */
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
      const failure = sqliteFailureOf(error, this.#path);
      if (isRefusedWrite(error)) this.#emptyLog();
      throw failure;
    }
  }

  /**
   * Copies the write-ahead log into the database, so that the next transaction need not make it longer. SQLite does so behind commits,
   * of which there are none where the log has no room left.
   */
  #emptyLog(): void {
    try {
      this.#db.run("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // There is no room for that either: what is in the log stays there.
    }
  }
}
