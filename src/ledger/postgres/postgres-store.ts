import { integerLiteral, migratePostgres, type PostgresRow, textLiteral } from "#db/postgres.ts";
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
import { type DueReservation, type FailOver, type JoinedNode, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { utcDayOf } from "#platform/time.ts";
import { BatchCommitter, listOf } from "./commit-batch.ts";
import { LedgerConnection } from "./connection.ts";
import { asynchronousStandbysOf, PostgresSession, seenIn } from "./session.ts";
import { numberOf, textOf } from "./write-message.ts";

/** A message without an answer by then counts as lost. The server gives up earlier, by the limits set in each batch. */
const answerLimitMs = 2_500;
const pruneLimitMs = 10_000;
/** A query of the open holds takes no longer than this, because reads of balances wait behind it. */
const maxHoldsQueryMs = 300;
/**
 * A reservation expires at least a minute after it is made, and is visible seconds after that at most; so none that
 * expired this long ago can still appear.
 */
const sweepMarginMs = 120_000;
/** A node that starts looks this far behind the mark of the others, should their clock have been ahead. */
const sweepRestartMs = 3_600_000;
const maxSlotRaces = 50;
/** A node that lived had a heartbeat within this time before the last one of any. */
const runningMs = 15_000;
/** Two statements: whether the store was ever used, and what tells it from another one in its place. */
const identitySql =
  "SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1; SELECT salt FROM decision_store";

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
  /** Tells this store from another one in its place. */
  #storeSalt = "";
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
    const session = this.#session;
    await session.findTimeline((sql) => this.#side.ask(sql, 1));
    session.nodeId = nodeId;
    const now = session.now();
    // Slots of nodes that are gone are used again. One that is used by two nodes costs time, and nothing else.
    const free = `(SELECT min(s) FROM generate_series(0, (SELECT count(*) FROM node)) AS s
      WHERE s NOT IN (SELECT slot FROM node WHERE slot IS NOT NULL))`;
    const [[used] = [], [store] = [], , [node] = [], [time] = []] = await this.#askForSlot(
      `${identitySql};
       UPDATE node SET slot = NULL WHERE heartbeat_ms <= ${now} - ${nodeTimeoutMs} AND id <> ${textLiteral(nodeId)};
       INSERT INTO node (id, epoch, heartbeat_ms, slot, timeline)
         VALUES (${textLiteral(nodeId)}, 1, ${now}, ${free}, ${session.timeline})
         ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, heartbeat_ms = excluded.heartbeat_ms, last_batch = 0,
           slot = coalesce(node.slot, excluded.slot), timeline = coalesce(node.timeline, excluded.timeline)
         RETURNING epoch, slot, timeline;
       SELECT ${now} AS now_ms, ${session.timeline} AS timeline, (SELECT max(swept_ms) FROM node) AS swept_ms`,
    );
    const nowMs = numberOf(time, "now_ms");
    this.#sweptMs = Math.min(numberOf(time, "swept_ms"), nowMs - sweepRestartMs);
    session.today(nowMs);
    session.slot = numberOf(node, "slot");
    const timeline = textOf(time ?? {}, "timeline");
    session.position.begin(timeline, textOf(node ?? {}, "timeline") === timeline ? [] : [nodeId]);
    this.#storeSalt = String(store?.["salt"]);
    return {
      id: nodeId,
      epoch: numberOf(node, "epoch"),
      asynchronousStandbys: await asynchronousStandbysOf((sql) => this.#side.ask(sql, 1)),
      ...(used === undefined && { empty: { expected: false } }),
    };
  }

  /** Of several nodes that start at once and see the same slot free one gets it, and the others ask again. */
  async #askForSlot(statements: string): Promise<PostgresRow[][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#side.ask(statements, 5);
      } catch (error) {
        if (attempt === maxSlotRaces || !(error instanceof StoreFailure) || error.kind !== "conflict") throw error;
      }
    }
  }

  readonly failOver: FailOver = {
    rejoin: async (node) => {
      const session = this.#session;
      // They may still lead to the server before.
      this.#batches.drop();
      this.#side.drop();
      const [[used] = [], [store] = [], [time = {}] = []] = await this.#side.ask(
        `${identitySql}; ${session.timeSql}`,
        3,
      );
      if (used === undefined || String(store?.["salt"]) !== this.#storeSalt) {
        throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
      }
      await this.#side.ask(
        `INSERT INTO node (id, epoch, heartbeat_ms) VALUES (${textLiteral(node.id)}, ${node.epoch}, ${session.now()})
           ON CONFLICT (id) DO UPDATE SET epoch = greatest(node.epoch, excluded.epoch)`,
        1,
      );
      // What had been closed may be open again.
      this.#sweptMs = Math.min(this.#sweptMs, numberOf(time, "now_ms") - sweepRestartMs);
      this.#orphansFoundFor = "";
      return session.position.accept(node, seenIn(time));
    },
    notRecovered: async ({ id, epoch }) => {
      const here = this.#session.timeline;
      const [nodes = []] = await this.#side.ask(
        `UPDATE node SET timeline = ${here} WHERE id = ${textLiteral(id)} AND epoch = ${epoch};
         SELECT id FROM node WHERE id <> ${textLiteral(id)} AND timeline <> ${here} AND heartbeat_ms > greatest(
             (SELECT max(heartbeat_ms) FROM node WHERE timeline <> ${here}) - ${runningMs}, ${this.#session.now()} - 600000)
           ORDER BY id LIMIT 20`,
        1,
      );
      return nodes.map((row) => textOf(row, "id"));
    },
    finish: async ({ id }, { batches, restored, silent }) => {
      const { position, timeline } = this.#session;
      if (batches + restored + silent.length > 0) {
        const values = [textLiteral(id), batches, restored, textLiteral(silent.join(", "))].join(", ");
        await this.#side.ask(
          `UPDATE node SET timeline = ${timeline} WHERE id IN (${listOf(silent)});
           INSERT INTO lost_commits (at_ms, node_id, batches, restored, silent) VALUES (${this.#session.now()}, ${values})`,
          1,
        );
      }
      position.recovered();
    },
  };

  commit(batch: LedgerBatch): Promise<BatchReply> {
    return this.#batches.run((send) => this.#committer.commit(batch, send));
  }

  async heartbeat(node: NodeIdentity): Promise<void> {
    const { timeline, timeSql, position } = this.#session;
    const { acknowledged } = position;
    // Not before it has recovered: the others see by it which nodes lived when the server changed.
    const [[time = {}] = []] = await this.#side.ask(
      `UPDATE node SET heartbeat_ms = ${this.#session.now()}, swept_ms = ${integerLiteral(this.#sweptMs)}
         WHERE id = ${textLiteral(node.id)} AND epoch = ${node.epoch} AND coalesce(timeline, ${timeline}) = ${timeline};
       ${timeSql}`,
      1,
    );
    this.#session.check(node, time, acknowledged);
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
    const statements = [...this.#session.begin, "SET LOCAL statement_timeout = '5s'"];
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
    const day = utcDayOf(numberOf(time, "before_ms"));
    statements.push(
      deleteOldDaysSql(textLiteral(day)),
      `DELETE FROM account_share s WHERE right(account, 10) < ${textLiteral(day)}
         AND NOT EXISTS (SELECT 1 FROM account WHERE id = s.account)`,
      // All that such a node held has expired long ago.
      `DELETE FROM node WHERE heartbeat_ms < ${before} AND id <> ${textLiteral(this.#session.nodeId)}`,
      "COMMIT",
    );
    await this.#side.ask(statements.join(";\n"), statements.length, pruneLimitMs);
    return found.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.#batches.close(), this.#side.close()]);
  }
}
