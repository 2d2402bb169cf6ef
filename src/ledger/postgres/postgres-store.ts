import { integerLiteral, migratePostgres, type PostgresRow } from "#db/postgres.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { type OpenHolds, openHoldsOf, openHoldsSql } from "#ledger/open-holds.ts";
import { expiryGraceMs, maxLookups, nodeTimeoutMs } from "#ledger/rules/limits.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { type DueReservation, type JoinedNode, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { utcDayOf } from "#platform/time.ts";
import { BatchCommitter, PostgresSession } from "./commit-batch.ts";
import { LedgerConnection } from "./connection.ts";
import {
  dropLookupsSql,
  expiredSql,
  heartbeatSql,
  joinSql,
  orphansSql,
  prunableSql,
  pruneStatements,
  takeLookupsSql,
} from "./job-statements.ts";
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
/** Dead processes that are known to hold nothing. */
const maxChecked = 100_000;

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
  /** Dead processes of nodes (id, epoch) whose held reservations have been looked for. */
  readonly #checkedForOrphans = new Set<string>();

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
    const answers = await this.#side.ask(joinSql(nodeId, this.#session.now()), 4);
    const [[used] = [], [setting] = [], [node] = [], [time] = []] = answers;
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

  async heartbeat(node: NodeIdentity): Promise<void> {
    const [[known] = []] = await this.#side.ask(heartbeatSql(node, this.#sweptMs, this.#session.now()), 1);
    if (known === undefined || numberOf(known, "epoch") < node.epoch) {
      throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
    }
  }

  async findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    const [expired = [], nodes = [], [time] = []] = await this.#side.ask(
      expiredSql(this.#sweptMs, limit, this.#session.now()),
      3,
    );
    const nowMs = numberOf(time, "now_ms");
    // What expires from now on is still to come; what expired before is closed, or was found just now.
    const closedUntil = expired[0] === undefined ? nowMs - sweepMarginMs : numberOf(expired[0], "expires_ms");
    // A database clock that was ahead and is corrected lowers the mark again.
    this.#sweptMs = Math.min(Math.max(this.#sweptMs, closedUntil), nowMs - sweepMarginMs);
    const due = expired.map((row): DueReservation => ({ id: textOf(row, "id"), why: "expired" }));
    return due.length >= limit ? due : [...due, ...(await this.#findOrphans(node, nodes, nowMs, limit - due.length))];
  }

  /** Held reservations of nodes that are silent or were restarted. Looked for once for each dead process. */
  async #findOrphans(
    self: NodeIdentity,
    nodes: readonly PostgresRow[],
    nowMs: number,
    limit: number,
  ): Promise<DueReservation[]> {
    const dead: { id: string; beforeEpoch: number }[] = [];
    const checked: string[] = [];
    for (const row of nodes) {
      const id = textOf(row, "id");
      const epoch = numberOf(row, "epoch");
      const silent = id !== self.id && numberOf(row, "heartbeat_ms") <= nowMs - nodeTimeoutMs;
      const key = JSON.stringify([id, epoch, silent]);
      if (!silent) this.#checkedForOrphans.delete(JSON.stringify([id, epoch, true]));
      if (this.#checkedForOrphans.has(key)) continue;
      checked.push(key);
      dead.push({ id, beforeEpoch: silent ? epoch + 1 : epoch });
    }
    if (dead.length === 0) return [];
    const [rows = []] = await this.#side.ask(orphansSql(dead, this.#sweptMs, limit), 1);
    if (rows.length < limit) for (const key of checked) this.#checkedForOrphans.add(key);
    if (this.#checkedForOrphans.size > maxChecked) this.#checkedForOrphans.clear();
    return rows.map((row) => ({ id: textOf(row, "id"), why: "owner_dead" }));
  }

  async takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    const now = this.#session.now();
    const [[due] = []] = await this.#side.ask(`SELECT 1 FROM generation_lookup WHERE next_ms <= ${now} LIMIT 1`, 1);
    if (due === undefined) return [];
    const [taken = []] = await this.#side.ask(takeLookupsSql(limit, this.#session.now()), 1);
    return taken.map((row) => ({
      id: textOf(row, "reservation_id"),
      generationId: textOf(row, "generation_id"),
      hold: nanoUsd(numberOf(row, "hold")),
      last: numberOf(row, "tries") >= maxLookups,
    }));
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    await this.#side.ask(dropLookupsSql(ids), 1);
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
    const [found = [], [time] = []] = await this.#side.ask(prunableSql(before, limit), 2);
    const prunable = {
      ids: found.map((row) => textOf(row, "id")),
      accounts: new Set(found.flatMap((row) => [textOf(row, "goal_account"), textOf(row, "day_account")])),
    };
    const day = utcDayOf(numberOf(time, "before_ms"));
    const statements = pruneStatements(this.#session.begin, prunable, day, before, this.#nodeId);
    await this.#side.ask(statements.join(";\n"), statements.length, pruneLimitMs);
    return found.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.#batches.close(), this.#side.close()]);
  }
}
