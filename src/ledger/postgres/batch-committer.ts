import { isConnectionUnusable, PostgresConnection, sqlStateOf, textLiteral } from "#db/postgres.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import { type BatchReply, type LedgerBatch, reservationIdOfOperation } from "#ledger/rules/operations.ts";
import { type AccountId, type AccountRow, isOpen, type ReservationRow } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";
import { type CommitPlan, isSameAccount, PendingCommit, planFor, planFromMemory, viewOf } from "./commit-plan.ts";
import { isMissingSchema, isUnexpectedRow, readOnlyState } from "./failures.ts";
import { NodeMemory } from "./node-memory.ts";
import { accountColumns, accountOf, numberOf, reservationColumns, reservationOf, textOf } from "./rows.ts";
import type { PostgresSession } from "./session.ts";
import { hasChanges, timePlaceholder, writeMessage } from "./write-message.ts";

/** How often a batch may start over because it needs a lock that it did not foresee (a new day, a row of another node). */
const maxWidenings = 4;
/** The reply to a batch may wait this much longer, until the next batch is sent: the server should not be idle. */
const maxReplyDelayMs = 2;

/** What the first message of a batch reads. */
interface LockedRows {
  readonly accounts: ReadonlyMap<AccountId, AccountRow>;
  /** Of those asked for, the ones that exist. */
  readonly reservations: ReadonlyMap<ReservationId, ReservationRow>;
  readonly nowMs: number;
}

/**
 * Commits batches. A batch is two messages: the first locks the accounts and reads, the second writes and commits; between
 * them the rules decide.
 *
 * A node remembers what it has written. Open reservations of its own it does not read again: the writes name the states that
 * they expect, and where a row differs nothing is written and the batch is committed with reads. And it decides before it has
 * the locks, while the batch ahead is being written; if the locked accounts differ from what it remembers, it decides again.
 */
export class BatchCommitter {
  readonly #connection: PostgresConnection;
  readonly #session: PostgresSession;
  readonly #onReadOnly: () => void;
  readonly #memory = new NodeMemory();
  #last: PendingCommit | undefined;

  /** `onReadOnly`: called when the server takes no writes any more, so that nothing is read from it either. */
  constructor(url: string, answerLimitMs: number, session: PostgresSession, onReadOnly: () => void) {
    this.#connection = new PostgresConnection(url, answerLimitMs);
    this.#session = session;
    this.#onReadOnly = onReadOnly;
  }

  async connect(): Promise<void> {
    await this.#connection.run("SELECT 1");
  }

  async commit(batch: LedgerBatch): Promise<BatchReply> {
    const ahead = this.#last;
    const commit = new PendingCommit();
    if (ahead !== undefined) ahead.behind = commit;
    this.#last = commit;
    try {
      let reply = await this.#commitOptimistic(batch, commit, ahead);
      if (reply === undefined) {
        commit.failOptimistic();
        reply = await this.#commitWithReads(batch);
      }
      commit.done.resolve(true);
      return reply;
    } catch (error) {
      commit.failOptimistic();
      const failure = await this.#afterFailure(error);
      commit.done.resolve(false);
      throw failure;
    } finally {
      if (this.#last === commit) this.#last = undefined;
      // The batch behind is sent first: its first answer is due soon, and answering the callers of this one takes this thread's time.
      if (commit.behind !== undefined) {
        await Promise.race([
          commit.behind.sent.promise,
          new Promise((resolve) => setTimeout(resolve, maxReplyDelayMs)),
        ]);
      }
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Commits without reading reservations; undefined when that is not possible. Then no transaction is open. */
  async #commitOptimistic(
    batch: LedgerBatch,
    commit: PendingCommit,
    ahead: PendingCommit | undefined,
  ): Promise<BatchReply | undefined> {
    const plan = planFromMemory(batch, this.#session.day, this.#memory, commit, ahead);
    if (ahead === undefined) return plan && this.#applyPlan(plan, commit, this.#lock(plan.accountIds, plan.refused));
    if (plan !== undefined && (await ahead.sent.promise) && !ahead.failed) {
      const locking = this.#lock(plan.accountIds, plan.refused);
      const locked = locking.catch(() => {});
      if (await ahead.written.promise) return this.#applyPlan(plan, commit, locking);
      // It found the transaction of the batch ahead broken, or has opened one that the batch ahead rolls back.
      await locked;
    }
    commit.failOptimistic();
    if (!(await ahead.done.promise)) throw new StoreFailure("transient", "the batch before this one has failed");
    return undefined;
  }

  /** Writes the plan, or a new one where the locked accounts differ from those it was made with. */
  async #applyPlan(
    guess: CommitPlan,
    commit: PendingCommit,
    locking: Promise<LockedRows>,
  ): Promise<BatchReply | undefined> {
    const { accounts, reservations, nowMs } = await locking;
    const { batch, day, accountIds, rows } = guess;
    this.#memory.forgetMissing(accountIds, accounts);
    const reserves = batch.operations.some(({ kind }) => kind === "reserve");
    const asGuessed = accountIds.every((id) => isSameAccount(guess.accounts.get(id), accounts.get(id)));
    let plan: CommitPlan | undefined = guess;
    if (
      accounts.size < accountIds.length ||
      reservations.size > 0 ||
      (reserves && this.#session.today(nowMs) !== day)
    ) {
      plan = undefined;
    } else if (!asGuessed) {
      plan = planFor(batch, day, accountIds, accounts, rows);
      if (plan.refused.some((id) => !guess.refused.includes(id))) plan = undefined;
    }
    if (plan === undefined) {
      await this.#connection.run("ROLLBACK");
      return undefined;
    }
    const { decided, writes } = plan;
    const writing = this.#connection.run(
      hasChanges(decided.changes) ? writes.replaceAll(timePlaceholder, String(nowMs)) : "ROLLBACK",
    );
    // The client sends at the end of a turn of the event loop: only then may other work use this thread.
    setImmediate(() => commit.sent.resolve(true));
    try {
      await writing;
    } catch (error) {
      commit.failOptimistic();
      if (!isUnexpectedRow(sqlStateOf(error))) throw error;
      await this.#connection.run("ROLLBACK");
      return undefined;
    }
    this.#memory.remember(batch, decided);
    commit.written.resolve(true);
    return decided.reply;
  }

  /** Commits with a read of every row that the batch is about. */
  async #commitWithReads(batch: LedgerBatch): Promise<BatchReply> {
    await this.#findAccounts(batch);
    for (let round = 0; round < maxWidenings; round++) {
      const reply = await this.#tryWithReads(batch);
      if (reply !== undefined) return reply;
      await this.#connection.run("ROLLBACK");
    }
    throw new StoreFailure("transient", "the accounts of the batch kept changing");
  }

  /** Finds the accounts of reservations that this node has not made itself: one read, no lock. */
  async #findAccounts(batch: LedgerBatch): Promise<void> {
    const unknown = this.#memory.unknownReservations(batch);
    if (unknown.size === 0) return;
    // The accounts of a reservation never change, so this needs no lock.
    const [rows = []] = await this.#connection.run(
      `SELECT id, goal_account, day_account FROM reservation WHERE id IN (${[...unknown].map(textLiteral).join(", ")})`,
    );
    for (const row of rows) {
      this.#memory.addAccountsOf(textOf(row, "id"), [textOf(row, "goal_account"), textOf(row, "day_account")]);
    }
  }

  /** One try: undefined when other accounts turn out to be needed; then the transaction is still open. */
  async #tryWithReads(batch: LedgerBatch): Promise<BatchReply | undefined> {
    const { day } = this.#session;
    const needed = new Set<AccountId>();
    let reserves = false;
    for (const operation of batch.operations) {
      if (operation.kind === "reserve") {
        reserves = true;
        const { id, goal } = operation.reservation;
        // Also what an earlier try of the same reservation may have locked: its commit may still be in progress.
        this.#memory.addAccountsOf(id, [goalAccountOf(goal, day), dayAccountOf(day)]);
      }
      for (const account of this.#memory.accountsOf(reservationIdOfOperation(operation)) ?? []) needed.add(account);
    }
    const accountIds = [...needed].sort();
    const reservationIds = [...new Set(batch.operations.map(reservationIdOfOperation))];
    const { accounts, reservations, nowMs } = await this.#lock(accountIds, reservationIds);
    let widen = accounts.size < accountIds.length || (reserves && this.#session.today(nowMs) !== day);
    this.#memory.forgetMissing(accountIds, accounts);
    for (const { id, goalAccount, dayAccount } of reservations.values()) {
      if (accounts.has(goalAccount) && accounts.has(dayAccount)) continue;
      this.#memory.addAccountsOf(id, [goalAccount, dayAccount]);
      widen = true;
    }
    if (widen) return undefined;

    const time = { nowMs, day: reserves ? day : this.#session.day };
    const decided = decideBatch(batch, viewOf(accounts, reservations), time);
    // A rollback also removes account rows that were inserted for what is refused.
    await this.#connection.run(hasChanges(decided.changes) ? writeMessage(decided.changes) : "ROLLBACK");
    for (const row of reservations.values()) if (isOpen(row.state)) this.#memory.openReservations.set(row.id, row);
    this.#memory.remember(batch, decided);
    return decided.reply;
  }

  /** The first message of a batch: inserts accounts that do not exist, and locks all in a fixed order. */
  async #lock(accountIds: readonly AccountId[], reservationIds: readonly ReservationId[] = []): Promise<LockedRows> {
    const message = [this.#session.begin];
    const missing = this.#memory.unknownAccounts(accountIds);
    if (missing.length > 0) {
      const values = missing.map((id) => `(${textLiteral(id)})`).join(", ");
      message.push(`INSERT INTO account (id) VALUES ${values} ON CONFLICT (id) DO NOTHING`);
    }
    const accountList = accountIds.length === 0 ? "NULL" : accountIds.map(textLiteral).join(", ");
    message.push(`SELECT ${accountColumns} FROM account WHERE id IN (${accountList}) ORDER BY id FOR UPDATE`);
    const reads = reservationIds.length > 0;
    if (reads) {
      const list = reservationIds.map(textLiteral).join(", ");
      message.push(`SELECT ${reservationColumns} FROM reservation WHERE id IN (${list})`);
    }
    message.push(
      `SELECT ${this.#session.now()} AS now_ms`,
      // Marks this transaction: the second message fails if it should reach a connection where it is not open.
      "SAVEPOINT locked",
    );
    const answers = await this.#connection.run(message.join(";\n"));
    const [accountRows = [], ...rest] = answers.slice(reads ? -4 : -3);
    const [[time] = []] = rest.slice(-2);
    const reservationRows = reads ? (rest[0] ?? []) : [];
    return {
      accounts: new Map(accountRows.map((row) => [textOf(row, "id"), accountOf(row)])),
      reservations: new Map(reservationRows.map((row) => [textOf(row, "id"), reservationOf(row)])),
      nowMs: numberOf(time, "now_ms"),
    };
  }

  /** Ends the transaction that is open, and says what the error means for the batch. */
  async #afterFailure(error: unknown): Promise<StoreFailure> {
    const state = sqlStateOf(error);
    if (isConnectionUnusable(error)) {
      this.#connection.drop();
      if (state === readOnlyState) this.#onReadOnly();
    } else {
      await this.#connection.run("ROLLBACK").catch(() => this.#connection.drop());
    }
    if (error instanceof StoreFailure) return error;
    const message = error instanceof Error ? error.message : String(error);
    const kind = isUnexpectedRow(state) ? "conflict" : isMissingSchema(state) ? "lost" : "transient";
    return new StoreFailure(kind, state === undefined ? message : `${state}: ${message}`, { cause: error });
  }
}
