import { integerLiteral, migratePostgres, textLiteral } from "#db/postgres.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import { expiryGraceMs, type NodeIdentity, nodeTimeoutMs } from "#ledger/rules/rows.ts";
import {
  deleteOldDaysSql,
  isOrphanedSql,
  lookupsOf,
  type OpenHolds,
  openHoldsOf,
  openHoldsSql,
  takeLookupsSql,
} from "#ledger/shared-sql.ts";
import { type DueReservation, type JoinedNode, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { utcDayOf } from "#platform/time.ts";
import { BatchCommitter, listOf, PostgresSession } from "./commit-batch.ts";
import { LedgerConnection } from "./connection.ts";
import { numberOf, textOf } from "./write-message.ts";

/** A message without an answer by then counts as lost. The server gives up earlier, by the limits set in each batch. */
const answerLimitMs = 2_500;
const pruneLimitMs = 10_000;
/** A query of the open holds takes no longer than this, because reads of balances wait behind it. */
const maxHoldsQueryMs = 300;
/**
 * A reservation expires at least a minute after it is made, and is visible seconds after that at most; so none that expired
 * this long ago can still appear.
 */
const sweepMarginMs = 120_000;
/** A node that starts looks this far behind the mark of the others, should their clock have been ahead. */
const sweepRestartMs = 3_600_000;

export interface PostgresStoreOptions {
  /** Added to the database's clock, in milliseconds; for tests. */
  readonly clockOffsetMs?: () => number;
}

/** The ledger in PostgreSQL, for any number of nodes. The database's clock counts. */
export class PostgresStore implements LedgerStore {
  readonly kind = "postgres";
  readonly #session: PostgresSession;
  readonly #batches: LedgerConnection;
  /** For everything but batches, so that no job comes between the two messages of a batch. */
  readonly #side: LedgerConnection;
  readonly #committer: BatchCommitter;
  #nodeId = "";
  /** Every reservation that expires before this is closed: where the search for open ones begins. */
  #sweptMs = 0;
  /** The nodes, with their epochs and whether they are silent, for which all orphaned holds have been found. */
  #orphansFoundFor = "";

  /** Connects and brings the schema up to date. Rejects with the connection's error when either fails. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    await migratePostgres(url);
    return new PostgresStore(url, options);
  }

  private constructor(url: string, { clockOffsetMs = () => 0 }: PostgresStoreOptions) {
    this.#session = new PostgresSession(clockOffsetMs);
    this.#side = new LedgerConnection(url, answerLimitMs, () => {});
    // It leads to the same server: what it would read there may be old.
    this.#batches = new LedgerConnection(url, answerLimitMs, () => this.#side.drop());
    this.#committer = new BatchCommitter(this.#session);
  }

  async join(nodeId: string): Promise<JoinedNode> {
    // Opened now, so that the first request need not wait for it, and a server without a free connection says so at the start.
    await this.#batches.ask("SELECT 1", 1);
    this.#nodeId = nodeId;
    const now = this.#session.now();
    const [[used] = [], [setting] = [], [node] = [], [time] = []] = await this.#side.ask(
      `SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1;
       SHOW synchronous_commit;
       INSERT INTO node (id, epoch, heartbeat_ms) VALUES (${textLiteral(nodeId)}, 1, ${now})
         ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch;
       SELECT ${now} AS now_ms, (SELECT max(swept_ms) FROM node) AS swept_ms`,
      4,
    );
    const nowMs = numberOf(time, "now_ms");
    this.#sweptMs = Math.min(numberOf(time, "swept_ms"), nowMs - sweepRestartMs);
    // An answer means that the commit is on disk; a database set to answer earlier is asked to wait for our commits.
    if (["off", "local"].includes(String(setting?.["synchronous_commit"]))) {
      this.#session.begin += "; SET LOCAL synchronous_commit = 'on'";
    }
    this.#session.today(nowMs);
    return { id: nodeId, epoch: numberOf(node, "epoch"), ...(used === undefined && { empty: { expected: false } }) };
  }

  commit(batch: LedgerBatch): Promise<BatchReply> {
    return this.#batches.run((send) => this.#committer.commit(batch, send));
  }

  async heartbeat({ id, epoch }: NodeIdentity): Promise<void> {
    const [[known] = []] = await this.#side.ask(
      `UPDATE node SET heartbeat_ms = ${this.#session.now()}, swept_ms = ${integerLiteral(this.#sweptMs)}
         WHERE id = ${textLiteral(id)} AND epoch = ${epoch};
       SELECT epoch FROM node WHERE id = ${textLiteral(id)}`,
      1,
    );
    if (known === undefined || numberOf(known, "epoch") < epoch) {
      throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
    }
  }

  async findDue(self: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    const now = this.#session.now();
    const isOpenSince = `r.expires_ms >= ${integerLiteral(this.#sweptMs)} AND r.closed_ms IS NULL`;
    const [expired = [], nodes = [], [time] = []] = await this.#side.ask(
      `SELECT r.id, r.expires_ms FROM reservation r WHERE ${isOpenSince} AND r.expires_ms <= ${now}
         ORDER BY r.expires_ms LIMIT ${limit};
       SELECT id, epoch, heartbeat_ms <= ${now} - ${nodeTimeoutMs} AS silent FROM node ORDER BY id;
       SELECT ${now} AS now_ms`,
      3,
    );
    const nowMs = numberOf(time, "now_ms");
    // What expires from now on is still to come; what expired before is closed, or was found just now.
    const closedUntil = expired[0] === undefined ? nowMs - sweepMarginMs : numberOf(expired[0], "expires_ms");
    // A database clock that was ahead and is corrected lowers the mark again.
    this.#sweptMs = Math.min(Math.max(this.#sweptMs, closedUntil), nowMs - sweepMarginMs);
    const due = expired.map((row): DueReservation => ({ id: textOf(row, "id"), why: "expired" }));
    const left = limit - due.length;
    // The search reads the reservations of the last minutes: it is made only when a node was started or has fallen silent.
    const nodesNow = JSON.stringify(nodes);
    if (left === 0 || nodesNow === this.#orphansFoundFor) return due;
    const [orphans = []] = await this.#side.ask(
      `SELECT r.id FROM reservation r LEFT JOIN node n ON n.id = r.node_id
       WHERE ${isOpenSince} AND ${isOrphanedSql(now, textLiteral(self.id), self.epoch)} LIMIT ${left}`,
      1,
    );
    if (orphans.length < left) this.#orphansFoundFor = nodesNow;
    return [...due, ...orphans.map((row): DueReservation => ({ id: textOf(row, "id"), why: "owner_dead" }))];
  }

  async takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    const now = this.#session.now();
    const [[due] = []] = await this.#side.ask(`SELECT 1 FROM generation_lookup WHERE next_ms <= ${now} LIMIT 1`, 1);
    if (due === undefined) return [];
    const [taken = []] = await this.#side.ask(takeLookupsSql(now, limit).join("; "), 1);
    return lookupsOf(taken);
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    await this.#side.ask(`DELETE FROM generation_lookup WHERE reservation_id IN (${listOf(ids)})`, 1);
  }

  async openHolds(): Promise<OpenHolds> {
    const [sums, rows] = openHoldsSql(this.#session.now(), `r.expires_ms >= ${integerLiteral(this.#sweptMs)}`);
    const [held = [], unresolved = []] = await this.#side.ask(
      `BEGIN READ ONLY; SET LOCAL statement_timeout = '${maxHoldsQueryMs}ms'; ${sums}; ${rows}; COMMIT`,
      3,
    );
    return openHoldsOf(held, unresolved);
  }

  async prune(retentionMs: number, limit: number): Promise<number> {
    const before = `${this.#session.now()} - ${integerLiteral(Math.max(retentionMs, expiryGraceMs))}`;
    const [found = [], [time] = []] = await this.#side.ask(
      `SELECT id, goal_account, day_account, key_account FROM reservation
         WHERE expires_ms < ${before} AND closed_ms < ${before} ORDER BY expires_ms LIMIT ${limit};
       SELECT ${before} AS before_ms`,
      2,
    );
    const statements = [this.#session.begin, "SET LOCAL statement_timeout = '5s'"];
    if (found.length > 0) {
      const ids = listOf(found.map((row) => textOf(row, "id")));
      const columns = ["goal_account", "day_account", "key_account"];
      const accounts = new Set(found.flatMap((row) => columns.flatMap((column) => row[column] ?? [])).map(String));
      const moved = columns.map(
        (column) => `SELECT r.${column} AS account, e.spent, e.overrun
          FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id WHERE r.id IN (${ids})`,
      );
      statements.push(
        `SELECT id FROM account WHERE id IN (${listOf(accounts)}) ORDER BY id FOR UPDATE`,
        // The sums are read under the lock, so two nodes that delete the same rows carry them over once.
        `UPDATE account SET carried_spent = carried_spent + pruned.spent, carried_overrun = carried_overrun + pruned.overrun
         FROM (SELECT account, CAST(sum(spent) AS bigint) AS spent, CAST(sum(overrun) AS bigint) AS overrun
               FROM (${moved.join(" UNION ALL ")}) AS moved GROUP BY account) AS pruned
         WHERE account.id = pruned.account`,
        `DELETE FROM ledger_entry WHERE reservation_id IN (${ids})`,
        `DELETE FROM reservation WHERE id IN (${ids})`,
      );
    }
    statements.push(
      deleteOldDaysSql(textLiteral(utcDayOf(numberOf(time, "before_ms")))),
      // All that such a node held has expired long ago.
      `DELETE FROM node WHERE heartbeat_ms < ${before} AND id <> ${textLiteral(this.#nodeId)}`,
      "COMMIT",
    );
    await this.#side.ask(statements.join(";\n"), statements.length, pruneLimitMs);
    return found.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.#batches.close(), this.#side.close()]);
  }
}
