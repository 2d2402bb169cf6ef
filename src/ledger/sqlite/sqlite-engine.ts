import { type Database, SQLiteError, type Statement } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { inMemoryPath } from "#db/database-url.ts";
import { diskFaultOf } from "#db/disk-fault.ts";
import { openSqlite } from "#db/sqlite.ts";
import { type WriteTransaction, writeWithoutSync } from "#db/store-database.ts";
import { pidInNodeId } from "#domain/node-id.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import { type NodeIdentity, nodeTimeoutMs } from "#ledger/rules/rows.ts";
import {
  isOrphanedSql,
  lookupsOf,
  type OpenHolds,
  openHoldsOf,
  openHoldsSql,
  type Row,
  takeLookupsSql,
} from "#ledger/shared-sql.ts";
import { type DueReservation, type JoinedNode, StoreFailure } from "#ledger/store.ts";
import { prune } from "./sqlite-retention.ts";
import { SqliteRows } from "./sqlite-rows.ts";

/** The named values of a statement. */
type Values = Readonly<Record<string, string | number>>;

const dueSql = `SELECT r.id, CASE WHEN r.expires_ms <= $now THEN 'expired' ELSE 'owner_dead' END AS why
  FROM reservation r LEFT JOIN node n ON n.id = r.node_id
  WHERE r.closed_ms IS NULL AND (r.expires_ms <= $now OR (${isOrphanedSql("$now", "$node", "$epoch")}))
  ORDER BY r.expires_ms LIMIT $limit`;
const [heldSumsSql, unresolvedSql] = openHoldsSql("$now");
const [deleteOverSql, claimLookupsSql] = takeLookupsSql("$now", "$limit");

/** Tells whether a path still names the same file. */
interface FileIdentity {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** The ledger in an SQLite file. Synchronous: runs in a worker thread, so that a slow disk never blocks the gateway. */
export class SqliteEngine {
  readonly #path: string;
  readonly #db: Database;
  readonly #rows: SqliteRows;
  readonly #begin: Statement;
  readonly #commit: Statement;
  /** Whether the log of a database was there without the database: it was used, and then deleted. */
  readonly #logWithoutDatabase: boolean;
  readonly #files: readonly FileIdentity[];
  #nodeId = "";

  constructor(path: string) {
    this.#logWithoutDatabase = path !== inMemoryPath && !existsSync(path) && existsSync(`${path}-wal`);
    this.#path = path;
    try {
      this.#db = openSqlite(path);
    } catch (error) {
      throw sqliteFailureOf(error, path);
    }
    this.#rows = new SqliteRows(this.#db);
    // Prepared once, as the statements of the rows: they run with each request. All others run every few seconds at most.
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#db.prepare("COMMIT");
    // Opening has written: the files of the log exist from now on, for as long as any connection is open.
    this.#files =
      path === inMemoryPath ? [] : ["", "-wal", "-shm"].flatMap((suffix) => identityOf(path + suffix) ?? []);
  }

  join(nodeId: string, nowMs: number): JoinedNode {
    return this.#transaction(() => {
      this.#nodeId = nodeId;
      const used = this.#db.query("SELECT 1 FROM node UNION ALL SELECT 1 FROM account LIMIT 1").get();
      const unused = this.#files.length > 0 && used === null;
      const joined = this.#db.query<{ epoch: number }, [string, number]>(
        `INSERT INTO node (id, epoch, heartbeat_ms) VALUES (?, 1, ?)
         ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch`,
      );
      const { epoch = 1 } = joined.get(nodeId, nowMs) ?? {};
      this.#markEndedProcesses(nodeId, nowMs - nodeTimeoutMs);
      return { id: nodeId, epoch, ...(unused && { empty: { expected: this.#logWithoutDatabase } }) };
    });
  }

  /** A process that was killed here need not be waited for: its holds are taken over now. */
  #markEndedProcesses(self: string, deadSinceMs: number): void {
    const living = this.#db.query<{ id: string }, [number]>("SELECT id FROM node WHERE heartbeat_ms > ?");
    for (const { id } of living.all(deadSinceMs)) {
      if (id !== self && isEndedProcess(id)) {
        this.#db.query("UPDATE node SET heartbeat_ms = ? WHERE id = ?").run(deadSinceMs, id);
      }
    }
  }

  commit(batch: LedgerBatch, nowMs: number): BatchReply {
    return this.#transaction(() => {
      const rows = this.#rows;
      rows.refresh();
      const { reply, changes } = decideBatch(batch, rows, { nowMs, day: rows.today(nowMs) });
      rows.write(changes);
      return reply;
    });
  }

  heartbeat(node: NodeIdentity, nowMs: number): void {
    this.#withStoreFailures(() => {
      this.#refuseOtherFiles();
      const renew = this.#db.query("UPDATE node SET heartbeat_ms = ? WHERE id = ? AND epoch = ?");
      if (renew.run(nowMs, node.id, node.epoch).changes > 0) return;
      const { epoch = 0 } =
        this.#db.query<{ epoch: number }, [string]>("SELECT epoch FROM node WHERE id = ?").get(node.id) ?? {};
      if (epoch < node.epoch) {
        throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
      }
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
    const values = { now: nowMs, node: node.id, epoch: node.epoch, limit };
    return this.#withStoreFailures(() => this.#db.query<DueReservation, Values>(dueSql).all(values));
  }

  takeLookups(limit: number, nowMs: number): BillingLookup[] {
    // Nearly always there are none; then the write lock is not taken.
    const isDue = "SELECT 1 FROM generation_lookup WHERE next_ms <= ? LIMIT 1";
    if (this.#withStoreFailures(() => this.#db.query(isDue).get(nowMs)) === null) return [];
    return this.#transaction(() => {
      this.#db.query<unknown, Values>(deleteOverSql).run({ now: nowMs });
      return lookupsOf(this.#db.query<Row, Values>(claimLookupsSql).all({ now: nowMs, limit }));
    });
  }

  dropLookups(ids: readonly ReservationId[]): void {
    const sql = "DELETE FROM generation_lookup WHERE reservation_id IN (SELECT value FROM json_each(?))";
    this.#withStoreFailures(() => this.#db.query(sql).run(JSON.stringify(ids)));
  }

  openHolds(nowMs: number): OpenHolds {
    const rows = (sql: string) => this.#db.query<Row, Values>(sql).all({ now: nowMs });
    return this.#withStoreFailures(() => openHoldsOf(rows(heldSumsSql), rows(unresolvedSql)));
  }

  prune(retentionMs: number, limit: number, nowMs: number): number {
    return this.#transaction(() => {
      this.#rows.forget();
      return prune(this.#db, this.#nodeId, nowMs, retentionMs, limit);
    });
  }

  /** Writes of another part of the gateway, to tables of its own, between two batches; they need not be durable at once. */
  sharedWrite(statements: Parameters<WriteTransaction>[0]): void {
    this.#withStoreFailures(() => writeWithoutSync(this.#db, statements));
  }

  /** A statement that is left keeps the connection open, and the write-ahead log beside the database. */
  close(): void {
    this.#rows.close();
    this.#begin.finalize();
    this.#commit.finalize();
    this.#db.close();
  }

  #transaction<T>(work: () => T): T {
    return this.#withStoreFailures(() => {
      this.#begin.run();
      try {
        const result = work();
        this.#commit.run();
        return result;
      } catch (error) {
        this.#rows.forget();
        if (this.#db.inTransaction) this.#db.run("ROLLBACK");
        throw error;
      }
    });
  }

  #withStoreFailures<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const failure = sqliteFailureOf(error, this.#path);
      if (isRefusedWrite(error)) this.#emptyLog();
      throw failure;
    }
  }

  /**
   * Copies the write-ahead log into the database, so that the next transaction need not make it longer. SQLite does so
   * behind commits, of which there are none where the log has no room left.
   */
  #emptyLog(): void {
    try {
      this.#db.run("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // There is no room for that either: what is in the log stays there.
    }
  }
}

function identityOf(path: string): FileIdentity | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : { path, device: found.dev, inode: found.ino };
}

/** Whether a node is a process of this machine, by the name that processes give themselves, that has ended. */
function isEndedProcess(nodeId: string): boolean {
  const pid = pidInNodeId(nodeId, hostname());
  if (pid === undefined || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/**
 * The operating system has refused a write: no room, a quota, a limit, a read-only file system. Nothing of the
 * transaction counts then: its pages are in no file that is read, or in the log without the end of a commit, and SQLite
 * reads its own pages anew. Only if a sync fails, pages that were written before may be lost.
 */
const isNotWritten = /^SQLITE_(?:FULL|IOERR_WRITE|IOERR_SHMSIZE)$/;

/** Whether SQLite reports that the operating system has refused a write. */
function isRefusedWrite(error: unknown): boolean {
  return error instanceof SQLiteError && isNotWritten.test(error.code ?? "");
}

/** What an error of SQLite means. After a failed read or sync it is unknown what is on the disk: no later reply can be trusted. */
function sqliteFailureOf(error: unknown, path: string): unknown {
  if (!(error instanceof SQLiteError)) return error;
  const code = error.code ?? "";
  const message = `${code}: ${error.message}`;
  if (/^SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) return new StoreFailure("conflict", message);
  const isDisk = path !== inMemoryPath && /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/.test(code);
  const fault = isDisk ? diskFaultOf(path) : undefined;
  const isFatal = /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/.test(code) && !isNotWritten.test(code);
  return new StoreFailure(isFatal ? "fatal" : "transient", fault === undefined ? message : `${message} (${fault})`);
}
