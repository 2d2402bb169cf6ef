import {
  endsConnection,
  integerLiteral,
  migratePostgres,
  PostgresConnection,
  type PostgresRow,
  sqlStateOf,
  textArrayLiteral,
  textLiteral,
} from "#db/postgres.ts";
import { mostUsd, nanoUsd } from "#domain/money/money.ts";
import type { ActualSource, BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { type OpenHolds, openHoldsOf, openHoldsSql } from "#ledger/open-holds.ts";
import { RecentMap } from "#ledger/recent-map.ts";
import { dayAccountOf, emptyAccount, goalAccountOf, saturatedAccount } from "#ledger/rules/accounts.ts";
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
  type LedgerView,
  reservationIdOfOperation,
} from "#ledger/rules/operations.ts";
import {
  type AccountId,
  type AccountRow,
  isOpen,
  type NodeIdentity,
  type ReservationRow,
  type ReservationState,
} from "#ledger/rules/rows.ts";
import { type DueReservation, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";

/** A message that has no answer by then is taken for lost. The server gives up earlier, by the limits set in each batch. */
const answerLimitMs = 2_500;
const batchLimits = `SET LOCAL lock_timeout = '400ms'; SET LOCAL statement_timeout = '900ms';
SET LOCAL idle_in_transaction_session_timeout = '2s'`;
/** The server takes no writes. */
const readOnlyState = "25006";
const maxRemembered = 100_000;
const maxHoldsLookMs = 300;
/** How often a batch may start over because it needs a lock that it did not foresee (a new day, a row of another node). */
const maxWidenings = 4;
/** What a batch has waited for may wait this much longer, until the next batch is sent: the server should not stand idle. */
const maxReplyHoldMs = 2;
/**
 * Stands for the time in statements that are written before it is known. Nothing else can look like it: literals have no
 * control characters.
 */
const timeMark = "\u0001";
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
  /** From how many waiting operations on a batch is made ready while the one ahead is being written. */
  readonly pipelineFrom?: number;
}

/** A batch under way, as the one behind it has to know it. */
class PendingCommit {
  /** Whether its second message is on its way: what is sent from then on runs after it. */
  readonly sent = Promise.withResolvers<boolean>();
  /** Whether that message has done what it should. */
  readonly written = Promise.withResolvers<boolean>();
  /** Whether the batch is in the books in the end, be it the long way. */
  readonly done = Promise.withResolvers<boolean>();
  failed = false;
  /** What will be in the books if all is as this node remembers it. */
  readonly accounts = new Map<AccountId, AccountRow>();
  readonly rows = new Map<ReservationId, ReservationRow>();
  behind: PendingCommit | undefined;

  /** From here on nothing may be sent right behind it. */
  fail(): void {
    this.failed = true;
    this.sent.resolve(false);
    this.written.resolve(false);
  }
}

/** A batch decided from memory: what it is about, what was decided, and the statements that write it. */
interface Plan {
  readonly batch: LedgerBatch;
  readonly day: UtcDay;
  readonly accountIds: readonly AccountId[];
  readonly accounts: ReadonlyMap<AccountId, AccountRow>;
  readonly rows: ReadonlyMap<ReservationId, ReservationRow>;
  readonly decided: ReturnType<typeof decideBatch>;
  readonly writes: string;
  /** Reservations refused. That they are new is not seen from their writes, so they have to be looked for. */
  readonly refused: readonly ReservationId[];
}

/**
 * The books in PostgreSQL, for any number of nodes. A batch is two messages: one locks the accounts and reads, one writes
 * and commits; between them the rules decide. The database's clock counts.
 *
 * A node remembers what it has written. Open reservations of its own it does not read again: the writes name the states that
 * they expect, and if one is not found nothing is written and the batch goes the long way, which reads. And it decides before
 * it has the locks, while the batch ahead is being written; should the locked accounts be other than it remembers, it decides anew.
 */
export class PostgresStore implements LedgerStore {
  readonly kind = "postgres";
  readonly pipelineFrom: number;
  private readonly batches: PostgresConnection;
  /** For everything else, so that upkeep and reads never stand between the two messages of a batch. */
  private readonly aside: PostgresConnection;
  private readonly clockOffsetMs: () => number;
  empty: { readonly expected: boolean } | undefined;
  private nodeId = "";
  private day: UtcDay = "";
  private begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${batchLimits}`;
  /** Accounts whose rows are known to exist. */
  private readonly existing = new Set<AccountId>();
  /** The accounts of reservations that this node has written or tried to write: what a later batch has to lock for them. */
  private readonly accountsOf = new RecentMap<ReservationId, readonly AccountId[]>(maxRemembered);
  /** Accounts and open reservations as this node has last read or written them; nobody decides by the times in these. */
  private readonly accounts = new RecentMap<AccountId, AccountRow>(maxRemembered);
  private readonly open = new RecentMap<ReservationId, ReservationRow>(maxRemembered);
  private lastTurn: PendingCommit | undefined;
  /** Every reservation that expires before this is closed: where the search for open ones begins. */
  private sweptMs = 0;
  /** Lives of nodes whose held reservations have been looked for. */
  private readonly lookedAfter = new Set<string>();
  private asideBusy: Promise<unknown> = Promise.resolve();

  /** Connects and brings the schema up to date. Rejects with the connection's error when either fails. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    await migratePostgres(url);
    return new PostgresStore(url, options);
  }

  private constructor(url: string, options: PostgresStoreOptions) {
    this.batches = new PostgresConnection(url, answerLimitMs);
    this.aside = new PostgresConnection(url, answerLimitMs);
    // A full batch: a smaller one had better wait for more, as the server can only write one at a time.
    this.pipelineFrom = options.pipelineFrom ?? 256;
    this.clockOffsetMs = options.clockOffsetMs ?? (() => 0);
  }

  async join(nodeId: string): Promise<NodeIdentity> {
    // Opened now, so that the first request need not wait for it, and a server without one to spare says so at the start.
    await this.batches.run("SELECT 1");
    this.nodeId = nodeId;
    const [[used], [setting], [node], [time]] = await this.ask(
      `SELECT 1 AS used FROM node UNION ALL SELECT 1 FROM account LIMIT 1;
       SHOW synchronous_commit;
       INSERT INTO node (id, epoch, heartbeat_ms) VALUES (${textLiteral(nodeId)}, 1, ${this.now()})
         ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch;
       SELECT ${this.now()} AS now_ms, (SELECT max(swept_ms) FROM node) AS swept_ms`,
      4,
    );
    this.empty = used === undefined ? { expected: false } : undefined;
    this.sweptMs = Math.min(numberOf(time, "swept_ms"), numberOf(time, "now_ms") - sweepRestartMs);
    // An answer means that the commit is on disk; a database set to answer earlier is asked to wait for our commits.
    if (["off", "local"].includes(String(setting?.["synchronous_commit"]))) {
      this.begin += "; SET LOCAL synchronous_commit = 'on'";
    }
    this.day = utcDayOf(numberOf(time, "now_ms"));
    return { id: nodeId, epoch: numberOf(node, "epoch") };
  }

  async commit(batch: LedgerBatch): Promise<BatchReply> {
    const ahead = this.lastTurn;
    const turn = new PendingCommit();
    if (ahead !== undefined) ahead.behind = turn;
    this.lastTurn = turn;
    try {
      let reply = await this.commitOptimistic(batch, turn, ahead);
      if (reply === undefined) {
        turn.fail();
        reply = await this.commitWithReads(batch);
      }
      turn.done.resolve(true);
      return reply;
    } catch (error) {
      turn.fail();
      const failure = await this.afterFailure(error);
      turn.done.resolve(false);
      throw failure;
    } finally {
      if (this.lastTurn === turn) this.lastTurn = undefined;
      // The batch behind goes out first: its first answer is nearly here, and the callers of this one have work for this thread.
      if (turn.behind !== undefined) {
        await Promise.race([turn.behind.sent.promise, new Promise((resolve) => setTimeout(resolve, maxReplyHoldMs))]);
      }
    }
  }

  async heartbeat(node: NodeIdentity): Promise<void> {
    const [[known]] = await this.ask(
      `UPDATE node SET heartbeat_ms = ${this.now()}, swept_ms = ${integerLiteral(this.sweptMs)}
       WHERE id = ${textLiteral(node.id)} AND epoch = ${node.epoch};
       SELECT epoch FROM node WHERE id = ${textLiteral(node.id)}`,
      1,
    );
    if (known === undefined || numberOf(known, "epoch") < node.epoch) {
      throw new StoreFailure("lost", "the database has forgotten this node: it was emptied or replaced");
    }
  }

  async findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    const [expired, nodes, [time]] = await this.ask(
      `SELECT id, expires_ms FROM reservation
       WHERE expires_ms >= ${integerLiteral(this.sweptMs)} AND expires_ms <= ${this.now()} AND closed_ms IS NULL
       ORDER BY expires_ms LIMIT ${limit};
       SELECT id, epoch, heartbeat_ms FROM node;
       SELECT ${this.now()} AS now_ms`,
      3,
    );
    const nowMs = numberOf(time, "now_ms");
    // What expires from now on is still to come; what expired before is closed, or found just now.
    const closedUntil = expired[0] === undefined ? nowMs - sweepMarginMs : numberOf(expired[0], "expires_ms");
    // A database clock that was ahead and is set right lowers the mark again.
    this.sweptMs = Math.min(Math.max(this.sweptMs, closedUntil), nowMs - sweepMarginMs);
    const findDue = expired.map((row): DueReservation => ({ id: textOf(row, "id"), why: "expired" }));
    return findDue.length >= limit
      ? findDue
      : [...findDue, ...(await this.orphans(node, nodes, nowMs, limit - findDue.length))];
  }

  /** Held reservations of nodes that are silent or have started anew. Looked for once in the life of each dead node. */
  private async orphans(
    self: NodeIdentity,
    nodes: PostgresRow[],
    nowMs: number,
    limit: number,
  ): Promise<DueReservation[]> {
    const dead: string[] = [];
    const looked: string[] = [];
    for (const row of nodes) {
      const id = textOf(row, "id");
      const epoch = numberOf(row, "epoch");
      const silent = id !== self.id && numberOf(row, "heartbeat_ms") <= nowMs - nodeTimeoutMs;
      const life = JSON.stringify([id, epoch, silent]);
      if (!silent) this.lookedAfter.delete(JSON.stringify([id, epoch, true]));
      if (this.lookedAfter.has(life)) continue;
      looked.push(life);
      dead.push(`(node_id = ${textLiteral(id)} AND node_epoch < ${silent ? epoch + 1 : epoch})`);
    }
    if (dead.length === 0) return [];
    const [rows] = await this.ask(
      `SELECT id FROM reservation WHERE expires_ms >= ${integerLiteral(this.sweptMs)} AND state = 'HELD' AND (${dead.join(" OR ")})
       LIMIT ${limit}`,
      1,
    );
    if (rows.length < limit) for (const life of looked) this.lookedAfter.add(life);
    if (this.lookedAfter.size > maxRemembered) this.lookedAfter.clear();
    return rows.map((row) => ({ id: textOf(row, "id"), why: "owner_dead" }));
  }

  async read(accountsOf: (day: UtcDay) => readonly AccountId[]): Promise<{ day: UtcDay; accounts: AccountRow[] }> {
    for (let day = this.day; ; ) {
      const ids = accountsOf(day);
      const list = ids.length === 0 ? "NULL" : ids.map(textLiteral).join(", ");
      const [[time], rows] = await this.ask(
        `SELECT ${this.now()} AS now_ms; SELECT ${accountColumns} FROM account WHERE id IN (${list})`,
        2,
      );
      const today = this.today(numberOf(time, "now_ms"));
      if (today === day) return { day, accounts: rows.map(accountOf) };
      day = today;
    }
  }

  async takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    const [first] = await this.ask(`SELECT 1 FROM generation_lookup WHERE next_ms <= ${this.now()} LIMIT 1`, 1);
    if (first.length === 0) return [];
    // Claimed row by row under its lock: of several nodes that see the same row, the second passes it by.
    const due = `SELECT reservation_id FROM generation_lookup WHERE next_ms <= ${this.now()} ORDER BY next_ms LIMIT ${limit}
      FOR UPDATE SKIP LOCKED`;
    const [, , taken] = await this.ask(
      `DELETE FROM generation_lookup
         WHERE (tries >= ${maxLookups} AND next_ms <= ${this.now()}) OR next_ms <= ${this.now()} - ${staleLookupMs};
       DELETE FROM generation_lookup
         WHERE next_ms <= (SELECT next_ms FROM generation_lookup ORDER BY next_ms DESC LIMIT 1 OFFSET ${maxKeptLookups});
       UPDATE generation_lookup SET tries = generation_lookup.tries + 1,
           next_ms = ${this.now()} + CAST(${lookupPauseMs} * power(2, generation_lookup.tries) AS bigint)
         FROM reservation r WHERE r.id = generation_lookup.reservation_id AND generation_lookup.reservation_id IN (${due})
         RETURNING generation_lookup.reservation_id, generation_lookup.generation_id, generation_lookup.tries, r.hold`,
      3,
    );
    return taken.map((row) => ({
      id: textOf(row, "reservation_id"),
      generationId: textOf(row, "generation_id"),
      hold: nanoUsd(numberOf(row, "hold")),
      last: numberOf(row, "tries") >= maxLookups,
    }));
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    await this.ask(`DELETE FROM generation_lookup WHERE reservation_id IN (${ids.map(textLiteral).join(", ")})`, 1);
  }

  async openHolds(): Promise<OpenHolds> {
    const [sums, rows] = openHoldsSql(this.now(), `r.expires_ms >= ${integerLiteral(this.sweptMs)}`);
    // Everything that expires from now on is looked at, and reads of balances wait behind it: so not for long.
    const [held, unresolved] = await this.ask(
      `BEGIN READ ONLY; SET LOCAL statement_timeout = '${maxHoldsLookMs}ms'; ${sums}; ${rows}; COMMIT`,
      3,
    );
    return openHoldsOf(held, unresolved);
  }

  async prune(retentionMs: number, limit: number): Promise<number> {
    const before = `${this.now()} - ${integerLiteral(Math.max(retentionMs, expiryGraceMs))}`;
    const [found, [time]] = await this.ask(
      `SELECT id, goal_account, day_account FROM reservation
       WHERE expires_ms < ${before} AND closed_ms < ${before} ORDER BY expires_ms LIMIT ${limit};
       SELECT ${before} AS before_ms`,
      2,
    );
    const day = textLiteral(utcDayOf(numberOf(time, "before_ms")));
    const steps = [this.begin, "SET LOCAL statement_timeout = '5s'"];
    if (found.length > 0) {
      const ids = found.map((row) => textLiteral(textOf(row, "id"))).join(", ");
      const accounts = new Set(found.flatMap((row) => [textOf(row, "goal_account"), textOf(row, "day_account")]));
      const movedTo = (column: string) =>
        `SELECT r.${column} AS account, e.spent, e.overrun FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
         WHERE r.id IN (${ids})`;
      steps.push(
        `SELECT id FROM account WHERE id IN (${[...accounts].map(textLiteral).join(", ")}) ORDER BY id FOR UPDATE`,
        // The sums are read under the lock, so two nodes that remove the same rows carry them over once.
        `UPDATE account SET carried_spent = carried_spent + gone.spent, carried_overrun = carried_overrun + gone.overrun
         FROM (SELECT account, CAST(sum(spent) AS bigint) AS spent, CAST(sum(overrun) AS bigint) AS overrun
               FROM (${movedTo("goal_account")} UNION ALL ${movedTo("day_account")}) AS moved GROUP BY account) AS gone
         WHERE account.id = gone.account`,
        `DELETE FROM ledger_entry WHERE reservation_id IN (${ids})`,
        `DELETE FROM reservation WHERE id IN (${ids})`,
      );
    }
    steps.push(
      `DELETE FROM account WHERE (id LIKE 'day/____-__-__' OR id LIKE 'goal/adhoc/____-__-__')
         AND right(id, 10) < ${day} AND held = 0 AND spent = carried_spent AND overrun = carried_overrun`,
      // All that such a node held has expired long ago.
      `DELETE FROM node WHERE heartbeat_ms < ${before} AND id <> ${textLiteral(this.nodeId)}`,
      "COMMIT",
    );
    await this.ask(steps.join(";\n"), steps.length, 10_000);
    return found.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.batches.close(), this.aside.close()]);
  }

  /** Foresees the accounts of operations on reservations that this node has not made itself: one read, no lock. */
  private async findAccounts(batch: LedgerBatch): Promise<void> {
    const wanted = new Set<ReservationId>();
    for (const operation of batch.operations) {
      if (operation.kind !== "reserve" && !this.accountsOf.has(reservationIdOfOperation(operation)))
        wanted.add(reservationIdOfOperation(operation));
    }
    if (wanted.size === 0) return;
    // The accounts of a reservation never change, so this needs no lock.
    const [rows = []] = await this.batches.run(
      `SELECT id, goal_account, day_account FROM reservation WHERE id IN (${[...wanted].map(textLiteral).join(", ")})`,
    );
    for (const row of rows) {
      this.rememberAccounts(textOf(row, "id"), [textOf(row, "goal_account"), textOf(row, "day_account")]);
    }
  }

  /** The batch without reading reservations: undefined when it cannot be done so. Then no transaction is open. */
  private async commitOptimistic(
    batch: LedgerBatch,
    turn: PendingCommit,
    ahead: PendingCommit | undefined,
  ): Promise<BatchReply | undefined> {
    const plan = this.plan(batch, turn, ahead);
    if (ahead === undefined) return plan && this.applyPlan(plan, turn, this.lock(plan.accountIds, plan.refused));
    if (plan !== undefined && (await ahead.sent.promise) && !ahead.failed) {
      const locking = this.lock(plan.accountIds, plan.refused);
      const locked = locking.catch(() => {});
      if (await ahead.written.promise) return this.applyPlan(plan, turn, locking);
      // It found the transaction of the batch ahead broken, or has opened one that the batch ahead rolls back.
      await locked;
    }
    turn.fail();
    if (!(await ahead.done.promise)) throw new StoreFailure("transient", "the batch before this one has failed");
    return undefined;
  }

  /** Decides from memory; undefined where that does not reach. */
  private plan(batch: LedgerBatch, turn: PendingCommit, ahead: PendingCommit | undefined): Plan | undefined {
    const { day } = this;
    const needed = new Set<AccountId>();
    const rows = new Map<ReservationId, ReservationRow>();
    for (const operation of batch.operations) {
      const id = reservationIdOfOperation(operation);
      switch (operation.kind) {
        case "reserve": {
          // An earlier try of it may be in the books.
          if (this.accountsOf.has(id)) return undefined;
          needed.add(goalAccountOf(operation.reservation.goal, day)).add(dayAccountOf(day));
          break;
        }
        // By the clock, and mostly about rows of others.
        case "expire":
        case "orphan":
          return undefined;
        default: {
          const row = ahead?.rows.get(id) ?? this.open.get(id);
          if (row === undefined) return undefined;
          rows.set(id, row);
          needed.add(row.goalAccount).add(row.dayAccount);
        }
      }
    }
    const accountIds = [...needed].sort();
    const accounts = new Map<AccountId, AccountRow>();
    for (const id of accountIds) accounts.set(id, ahead?.accounts.get(id) ?? this.accounts.get(id) ?? emptyAccount(id));
    const plan = decideFrom(batch, day, accountIds, accounts, rows);
    const { inserted, updated } = plan.decided.changes;
    for (const row of plan.decided.reply.accounts) turn.accounts.set(row.id, row);
    for (const row of inserted) turn.rows.set(row.id, row);
    for (const { after } of updated) turn.rows.set(after.id, after);
    for (const operation of batch.operations) {
      if (operation.kind !== "reserve") continue;
      const { id, goal } = operation.reservation;
      this.accountsOf.set(id, [goalAccountOf(goal, day), dayAccountOf(day)]);
    }
    return plan;
  }

  /** Writes what was planned, or what has to be instead of it now that the accounts are known. */
  private async applyPlan(guess: Plan, turn: PendingCommit, locking: Promise<Locked>): Promise<BatchReply | undefined> {
    const { accounts, reservations, nowMs } = await locking;
    const { batch, day, accountIds, rows } = guess;
    this.noteExisting(accountIds, accounts);
    const reserves = batch.operations.some(({ kind }) => kind === "reserve");
    const asGuessed = accountIds.every((id) => isSameAccount(guess.accounts.get(id), accounts.get(id)));
    let plan: Plan | undefined = guess;
    if (accounts.size < accountIds.length || reservations.size > 0 || (reserves && this.today(nowMs) !== day)) {
      plan = undefined;
    } else if (!asGuessed) {
      plan = decideFrom(batch, day, accountIds, accounts, rows);
      if (plan.refused.some((id) => !guess.refused.includes(id))) plan = undefined;
    }
    if (plan === undefined) {
      await this.batches.run("ROLLBACK");
      return undefined;
    }
    const { decided, writes } = plan;
    const writing = this.batches.run(
      isEmpty(decided.changes) ? "ROLLBACK" : writes.replaceAll(timeMark, String(nowMs)),
    );
    // The client sends at the end of a turn: only then may others use this thread.
    setImmediate(() => turn.sent.resolve(true));
    try {
      await writing;
    } catch (error) {
      turn.fail();
      if (!isUnexpectedRow(sqlStateOf(error))) throw error;
      await this.batches.run("ROLLBACK");
      return undefined;
    }
    this.remember(batch, decided);
    turn.written.resolve(true);
    return decided.reply;
  }

  /** The batch with a look at every row that it is about. */
  private async commitWithReads(batch: LedgerBatch): Promise<BatchReply> {
    await this.findAccounts(batch);
    for (let round = 0; round < maxWidenings; round++) {
      const reply = await this.tryBatch(batch);
      if (reply !== undefined) return reply;
      await this.batches.run("ROLLBACK");
    }
    throw new StoreFailure("transient", "the accounts of the batch kept changing");
  }

  /** One try: undefined when it turns out that other accounts have to be locked; then the transaction is still open. */
  private async tryBatch(batch: LedgerBatch): Promise<BatchReply | undefined> {
    const { day } = this;
    const needed = new Set<AccountId>();
    let reserves = false;
    for (const operation of batch.operations) {
      if (operation.kind === "reserve") {
        reserves = true;
        const { id, goal } = operation.reservation;
        // Also what an earlier try of the same reservation may have locked: a commit of it may still be under way there.
        this.rememberAccounts(id, [goalAccountOf(goal, day), dayAccountOf(day), ...(this.accountsOf.get(id) ?? [])]);
      }
      for (const account of this.accountsOf.get(reservationIdOfOperation(operation)) ?? []) needed.add(account);
    }
    const accountIds = [...needed].sort();
    const { accounts, reservations, nowMs } = await this.lock(accountIds, [
      ...new Set(batch.operations.map(reservationIdOfOperation)),
    ]);
    let widen = accounts.size < accountIds.length || (reserves && this.today(nowMs) !== day);
    this.noteExisting(accountIds, accounts);
    for (const { id, goalAccount, dayAccount } of reservations.values()) {
      if (accounts.has(goalAccount) && accounts.has(dayAccount)) continue;
      this.rememberAccounts(id, [goalAccount, dayAccount, ...(this.accountsOf.get(id) ?? [])]);
      widen = true;
    }
    if (widen) return undefined;

    const decided = decideBatch(batch, viewOf(accounts, reservations), { nowMs, day: reserves ? day : this.day });
    // Also takes back account rows made for what was refused.
    await this.batches.run(isEmpty(decided.changes) ? "ROLLBACK" : messageOf(decided.changes));
    for (const row of reservations.values()) if (isOpen(row.state)) this.open.set(row.id, row);
    this.remember(batch, decided);
    return decided.reply;
  }

  /** The first message of a batch. Accounts that do not exist are made; all are locked, in their order. */
  private async lock(accountIds: readonly AccountId[], rowIds: readonly ReservationId[] = []): Promise<Locked> {
    const message = [this.begin];
    const missing = accountIds.filter((id) => !this.existing.has(id));
    if (missing.length > 0) {
      const values = missing.map((id) => `(${textLiteral(id)})`).join(", ");
      message.push(`INSERT INTO account (id) VALUES ${values} ON CONFLICT (id) DO NOTHING`);
    }
    const accountList = accountIds.length === 0 ? "NULL" : accountIds.map(textLiteral).join(", ");
    message.push(`SELECT ${accountColumns} FROM account WHERE id IN (${accountList}) ORDER BY id FOR UPDATE`);
    if (rowIds.length > 0) {
      message.push(`SELECT ${reservationColumns} FROM reservation WHERE id IN (${rowIds.map(textLiteral).join(", ")})`);
    }
    message.push(
      `SELECT ${this.now()} AS now_ms`,
      // Marks this transaction: the second message fails if it should reach a connection where it is not open.
      "SAVEPOINT locked",
    );
    const answers = await this.batches.run(message.join(";\n"));
    const [accountRows = [], ...rest] = answers.slice(rowIds.length > 0 ? -4 : -3);
    const [[time] = []] = rest.slice(-2);
    const reservationRows = rowIds.length > 0 ? (rest[0] ?? []) : [];
    return {
      accounts: new Map(accountRows.map((row) => [textOf(row, "id"), accountOf(row)])),
      reservations: new Map(reservationRows.map((row) => [textOf(row, "id"), reservationOf(row)])),
      nowMs: numberOf(time, "now_ms"),
    };
  }

  /** Accounts that were not there to be locked have to be made. */
  private noteExisting(ids: readonly AccountId[], locked: ReadonlyMap<AccountId, AccountRow>): void {
    for (const id of ids) if (!locked.has(id)) this.existing.delete(id);
  }

  /** What is in the books from now on, because the batch was written. */
  private remember(batch: LedgerBatch, { reply, changes }: ReturnType<typeof decideBatch>): void {
    if (!isEmpty(changes)) {
      // Only now: rows inserted by a transaction that did not commit do not exist.
      for (const { id } of reply.accounts) this.existing.add(id);
      if (this.existing.size > maxRemembered) this.existing.clear();
    }
    for (const row of reply.accounts) this.accounts.set(row.id, row);
    for (const row of changes.inserted) if (isOpen(row.state)) this.open.set(row.id, row);
    for (const { after } of changes.updated) {
      if (isOpen(after.state)) {
        this.open.set(after.id, after);
      } else {
        this.open.delete(after.id);
        this.accountsOf.delete(after.id);
      }
    }
    for (const [index, operation] of batch.operations.entries()) {
      // Refused: there is no row whose accounts would have to be known.
      if (operation.kind === "reserve" && reply.replies[index]?.kind === "refused") {
        this.accountsOf.delete(operation.reservation.id);
      }
    }
  }

  private rememberAccounts(id: ReservationId, accounts: readonly AccountId[]): void {
    this.accountsOf.set(id, [...new Set(accounts)]);
  }

  /** Leaves no transaction open behind, and says what the error means for the batch. */
  private async afterFailure(error: unknown): Promise<StoreFailure> {
    const state = sqlStateOf(error);
    if (endsConnection(error)) {
      this.batches.drop();
      // The other one leads to the same server: what it would read there may be old.
      if (state === readOnlyState) this.aside.drop();
    } else {
      await this.batches.run("ROLLBACK").catch(() => this.batches.drop());
    }
    if (error instanceof StoreFailure) return error;
    const message = error instanceof Error ? error.message : String(error);
    const kind = isUnexpectedRow(state) ? "conflict" : isGone(state) ? "lost" : "transient";
    return new StoreFailure(kind, state === undefined ? message : `${state}: ${message}`, { cause: error });
  }

  /** A message on the connection aside: one at a time, answers of its last `count` statements. */
  private ask(statements: string, count: 1, limitMs?: number): Promise<[PostgresRow[]]>;
  private ask(statements: string, count: 2, limitMs?: number): Promise<[PostgresRow[], PostgresRow[]]>;
  private ask(statements: string, count: 3, limitMs?: number): Promise<[PostgresRow[], PostgresRow[], PostgresRow[]]>;
  private ask(
    statements: string,
    count: 4,
    limitMs?: number,
  ): Promise<[PostgresRow[], PostgresRow[], PostgresRow[], PostgresRow[]]>;
  private ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]>;
  private ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]> {
    const turn = this.asideBusy.then(async () => {
      try {
        const answers = await this.aside.run(statements, limitMs);
        return Array.from({ length: count }, (_, i) => [...(answers[answers.length - count + i] ?? [])]);
      } catch (error) {
        if (endsConnection(error)) this.aside.drop();
        else await this.aside.run("ROLLBACK").catch(() => this.aside.drop());
        const kind = isGone(sqlStateOf(error)) ? "lost" : "transient";
        throw new StoreFailure(kind, error instanceof Error ? error.message : String(error), { cause: error });
      }
    });
    this.asideBusy = turn.catch(() => {}); // Whoever asked hears of it; the next in line only waits its turn.
    return turn;
  }

  /** The database's clock in milliseconds, as SQL: when the transaction began. */
  private now(): string {
    return `(CAST(floor(extract(epoch FROM now()) * 1000) AS bigint) + ${integerLiteral(Math.round(this.clockOffsetMs()))})`;
  }

  /** The day of the database's clock; it never goes backwards here, should the database move to a host that is behind. */
  private today(nowMs: number): UtcDay {
    const day = utcDayOf(nowMs);
    if (day > this.day) this.day = day;
    return this.day;
  }
}

const accountColumns = "id, held, spent, overrun, hard, own_hard";
const reservationColumns = `id, request_id, attempt, goal_account, day_account, hold, actual, source, state, model, node_id,
  node_epoch, dispatched, created_ms, expires_ms, closed_ms`;

/** What the first message of a batch brings. */
interface Locked {
  readonly accounts: ReadonlyMap<AccountId, AccountRow>;
  /** Those asked for that are in the books. */
  readonly reservations: ReadonlyMap<ReservationId, ReservationRow>;
  readonly nowMs: number;
}

/** 22: bad data, also the division by zero of a row count that is not as expected. 23: a constraint. */
function isUnexpectedRow(state: string | undefined): boolean {
  return state?.startsWith("22") === true || state?.startsWith("23") === true;
}

/** No such table, schema or database: they were there when the node joined. */
function isGone(state: string | undefined): boolean {
  return state === "42P01" || state === "3F000" || state === "3D000";
}

function viewOf(
  accounts: ReadonlyMap<AccountId, AccountRow>,
  reservations: ReadonlyMap<ReservationId, ReservationRow>,
): LedgerView {
  return {
    account(id) {
      const row = accounts.get(id);
      if (row === undefined) throw new StoreFailure("transient", `account ${id} was not locked`);
      return row;
    },
    reservation: (id) => reservations.get(id),
  };
}

/** Decides before the time is known: the times of the changes are counted from it, and the mark stands for it. */
function decideFrom(
  batch: LedgerBatch,
  day: UtcDay,
  accountIds: readonly AccountId[],
  accounts: ReadonlyMap<AccountId, AccountRow>,
  rows: ReadonlyMap<ReservationId, ReservationRow>,
): Plan {
  const decided = decideBatch(batch, viewOf(accounts, rows), { nowMs: 0, day });
  const refused = batch.operations
    .filter((_, index) => decided.reply.replies[index]?.kind === "refused")
    .map(reservationIdOfOperation);
  const writes = messageOf(decided.changes, timeMark);
  return { batch, day, accountIds, accounts, rows, decided, writes, refused };
}

function isSameAccount(one: AccountRow | undefined, other: AccountRow | undefined): boolean {
  return (
    one !== undefined &&
    other !== undefined &&
    one.held === other.held &&
    one.spent === other.spent &&
    one.overrun === other.overrun &&
    one.hard === other.hard &&
    one.ownHard === other.ownHard
  );
}

function isEmpty({ accounts, inserted, updated, entries }: LedgerChanges): boolean {
  return accounts.length + inserted.length + updated.length + entries.length === 0;
}

/**
 * The second message. The rows are locked and their new values are decided, so each update also says what it expects to
 * find; a count that differs divides by zero, and the whole message is undone. `since`: what the times of the changes are
 * counted from, as SQL.
 */
function messageOf(changes: LedgerChanges, since?: string): string {
  const statements = ["RELEASE SAVEPOINT locked"];
  const { accounts, inserted, updated, entries, lookups } = changes;
  if (inserted.length > 0) {
    statements.push(
      insertOf("reservation", inserted, since, {
        id: ["text", (row) => row.id],
        request_id: ["text", (row) => row.requestId],
        attempt: ["bigint", (row) => row.attempt],
        goal_account: ["text", (row) => row.goalAccount],
        day_account: ["text", (row) => row.dayAccount],
        hold: ["bigint", (row) => row.hold],
        actual: ["bigint", (row) => row.actual],
        source: ["text", (row) => row.source],
        state: ["text", (row) => row.state],
        model: ["text", (row) => row.model],
        node_id: ["text", (row) => row.nodeId],
        node_epoch: ["bigint", (row) => row.nodeEpoch],
        dispatched: ["boolean", (row) => row.dispatched],
        created_ms: ["moment", (row) => row.createdMs],
        expires_ms: ["moment", (row) => row.expiresMs],
        closed_ms: ["moment", (row) => row.closedMs],
      }),
    );
  }
  if (updated.length > 0) {
    const { source, value } = rowsOf(updated, since, {
      id: ["text", ({ after }) => after.id],
      was: ["text", ({ before }) => before.state],
      state: ["text", ({ after }) => after.state],
      actual: ["bigint", ({ after }) => after.actual],
      source: ["text", ({ after }) => after.source],
      dispatched: ["boolean", ({ after }) => after.dispatched],
      closed_ms: ["moment", ({ after }) => after.closedMs],
    });
    statements.push(
      counted(
        updated.length,
        `UPDATE reservation SET state = ${value.state}, actual = ${value.actual}, source = ${value.source},
         dispatched = ${value.dispatched}, closed_ms = ${value.closed_ms}
         FROM ${source} WHERE reservation.id = ${value.id} AND reservation.state = ${value.was}`,
      ),
    );
  }
  // Each kind of event on its own: most of their columns are then the same in all rows.
  for (const same of Map.groupBy(entries, ({ event }) => event).values()) {
    statements.push(
      insertOf("ledger_entry", same, since, {
        reservation_id: ["text", (entry) => entry.reservationId],
        event: ["text", (entry) => entry.event],
        held: ["bigint", (entry) => entry.held],
        spent: ["bigint", (entry) => entry.spent],
        overrun: ["bigint", (entry) => entry.overrun],
        reason: ["text", (entry) => entry.reason],
        node_id: ["text", (entry) => entry.nodeId],
        at_ms: ["moment", (entry) => entry.atMs],
      }),
    );
  }
  if (lookups.length > 0) {
    const insert = insertOf("generation_lookup", lookups, since, {
      reservation_id: ["text", (row) => row.reservationId],
      generation_id: ["text", (row) => row.generationId],
      next_ms: ["moment", (row) => row.nextMs],
    });
    statements.push(`${insert} ON CONFLICT (reservation_id) DO NOTHING`);
  }
  if (accounts.length > 0) {
    const { source, value } = rowsOf(accounts, since, {
      id: ["text", ({ after }) => after.id],
      was_held: ["bigint", ({ before }) => before.held],
      was_spent: ["bigint", ({ before }) => before.spent],
      held: ["bigint", ({ after }) => after.held],
      spent: ["bigint", ({ after }) => after.spent],
      overrun: ["bigint", ({ after }) => after.overrun],
      hard: ["bigint", ({ after }) => after.hard],
    });
    statements.push(
      counted(
        accounts.length,
        `UPDATE account SET held = ${value.held}, spent = ${value.spent}, overrun = ${value.overrun}, hard = ${value.hard}
         FROM ${source} WHERE account.id = ${value.id} AND account.held = ${value.was_held}
           AND least(account.spent, ${mostUsd}) = ${value.was_spent}`,
      ),
    );
  }
  statements.push("COMMIT");
  return statements.join(";\n");
}

type Column<Row> =
  | readonly ["text", (row: Row) => string | null]
  | readonly ["bigint", (row: Row) => number | null]
  | readonly ["boolean", (row: Row) => boolean]
  /** Milliseconds, counted from `since`. */
  | readonly ["moment", (row: Row) => number | null];
type Columns<Name extends string, Row> = Readonly<Record<Name, Column<Row>>>;

function insertOf<Row>(
  table: string,
  rows: readonly Row[],
  since: string | undefined,
  columns: Columns<string, Row>,
): string {
  const values = Object.values(columns).map((column, index) => sqlOf(column, rows, since, index === 0).sql);
  return `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) SELECT ${values.join(",\n")}`;
}

/** Rows to join with: `value` is how a statement writes each column. */
function rowsOf<Name extends string, Row>(
  rows: readonly Row[],
  since: string | undefined,
  columns: Columns<Name, Row>,
): { source: string; value: Readonly<Record<Name, string>> } {
  const selected: string[] = [];
  const values = Object.entries<Column<Row>>(columns).map(([name, column]) => {
    const { sql, varies } = sqlOf(column, rows, since, selected.length === 0);
    if (varies) selected.push(`${sql} AS ${name}`);
    return [name, varies ? `v.${name}` : sql];
  });
  // An entry for each of the columns, which have these names.
  const value = Object.fromEntries(values) as Record<Name, string>;
  return { source: `(SELECT ${selected.join(",\n")}) AS v`, value };
}

/**
 * A column of many rows in a select list: an array to unnest, as the server parses 256 rows of literals several times slower.
 * (In the select list, arrays of the same length advance together, and their rows are not stored before they are used.) What
 * is the same in all rows is sent once, unless it must vary, so that there are as many rows as there should be.
 */
function sqlOf<Row>(
  [type, get]: Column<Row>,
  rows: readonly Row[],
  since: string | undefined,
  mustVary: boolean,
): { sql: string; varies: boolean } {
  const read: (row: Row) => string | number | boolean | null = get;
  const values = rows.map(read);
  const [first = null] = values;
  const varies = mustVary || values.some((one) => one !== first);
  const sql = varies ? `unnest(${arrayOf(type, values)})` : literalOf(first);
  return {
    sql: type === "moment" && since !== undefined && (varies || first !== null) ? `${since} + ${sql}` : sql,
    varies,
  };
}

function arrayOf(type: Column<never>[0], values: readonly (string | number | boolean | null)[]): string {
  switch (type) {
    case "text":
      // Read from a column of texts.
      return textArrayLiteral(values as (string | null)[]);
    case "bigint":
    case "moment":
      return `CAST('{${(values as (number | null)[]).map(integerLiteral).join(",")}}' AS bigint[])`;
    case "boolean":
      return `CAST('{${values.join(",")}}' AS boolean[])`;
  }
}

function literalOf(value: string | number | boolean | null): string {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? textLiteral(value) : integerLiteral(value);
}

function counted(expected: number, update: string): string {
  return `WITH written AS (${update} RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = ${expected} THEN 1 ELSE 0 END) FROM written`;
}

function accountOf(row: PostgresRow): AccountRow {
  return saturatedAccount({
    id: textOf(row, "id"),
    held: Number(row["held"]),
    spent: Number(row["spent"]),
    overrun: Number(row["overrun"]),
    hard: row["hard"] === null ? null : Number(row["hard"]),
    ownHard: row["own_hard"] === null ? null : Number(row["own_hard"]),
  });
}

function reservationOf(row: PostgresRow): ReservationRow {
  return {
    id: textOf(row, "id"),
    requestId: textOf(row, "request_id"),
    attempt: numberOf(row, "attempt"),
    goalAccount: textOf(row, "goal_account"),
    dayAccount: textOf(row, "day_account"),
    hold: numberOf(row, "hold"),
    actual: maybeNumberOf(row, "actual"),
    // Both columns are written from these types only, and `state` is checked by the table.
    source: row["source"] as ActualSource | null,
    state: row["state"] as ReservationState,
    model: textOf(row, "model"),
    nodeId: textOf(row, "node_id"),
    nodeEpoch: numberOf(row, "node_epoch"),
    dispatched: row["dispatched"] === true,
    createdMs: numberOf(row, "created_ms"),
    expiresMs: numberOf(row, "expires_ms"),
    closedMs: maybeNumberOf(row, "closed_ms"),
  };
}

function textOf(row: PostgresRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new StoreFailure("transient", `column ${column} is not text`);
  return value;
}

function numberOf(row: PostgresRow | undefined, column: string): number {
  const value = Number(row?.[column]);
  if (!Number.isSafeInteger(value)) throw new StoreFailure("transient", `column ${column} is not a whole number`);
  return value;
}

function maybeNumberOf(row: PostgresRow, column: string): number | null {
  return row[column] === null ? null : numberOf(row, column);
}
