import { integerLiteral, textLiteral } from "#db/postgres.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf, keyAccountOf, readAccount } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import { type BatchReply, type LedgerBatch, reservationIdOfOperation } from "#ledger/rules/operations.ts";
import { type AccountId, accountsOf, isOpen } from "#ledger/rules/rows.ts";
import { accountColumns } from "#ledger/shared-sql.ts";
import { StoreFailure } from "#ledger/store.ts";
import { LruMap } from "#platform/lru-map.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { lastAnswers, type Send } from "./connection.ts";
import { numberOf, reservationColumns, reservationOf, textOf, writeMessage } from "./write-message.ts";

/** How often a batch may start over because it needs a lock that it did not foresee (a new day, a row of another node). */
const maxRounds = 4;
const maxCachedReservations = 100_000;

const batchLimits = `SET LOCAL lock_timeout = '400ms'; SET LOCAL statement_timeout = '900ms';
SET LOCAL idle_in_transaction_session_timeout = '2s'`;

/** What all messages of a node share: how a transaction that writes begins, and the database's clock. */
export class PostgresSession {
  begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${batchLimits}`;
  /** The newest day that the database's clock has shown. */
  day: UtcDay = "";
  readonly #clockOffsetMs: () => number;

  constructor(clockOffsetMs: () => number) {
    this.#clockOffsetMs = clockOffsetMs;
  }

  /** The database's clock in milliseconds, as SQL: when the transaction began. */
  now(): string {
    return `(CAST(floor(extract(epoch FROM now()) * 1000) AS bigint) + ${integerLiteral(Math.round(this.#clockOffsetMs()))})`;
  }

  /** The day of the database's clock; it never goes backwards here, should the database move to a host that is behind. */
  today(nowMs: number): UtcDay {
    const day = utcDayOf(nowMs);
    if (day > this.day) this.day = day;
    return this.day;
  }
}

/**
 * Commits a batch in two messages: the first locks the accounts and reads, the second writes and commits; between them the rules
 * decide. Accounts are locked by one statement and read under the lock; reservations are read by a later one, so that it sees
 * what whoever held the lock before has written.
 */
export class BatchCommitter {
  readonly #session: PostgresSession;
  /** The accounts of open reservations, which never change: what a batch has to lock for them. */
  readonly #knownAccounts = new LruMap<ReservationId, readonly AccountId[]>();

  constructor(session: PostgresSession) {
    this.#session = session;
  }

  async commit(batch: LedgerBatch, send: Send): Promise<BatchReply> {
    const ids = [...new Set(batch.operations.flatMap((operation) => reservationIdOfOperation(operation) ?? []))];
    await this.#findAccounts(batch, send);
    for (let round = 0; round < maxRounds; round++) {
      const reply = await this.#tryCommit(batch, ids, send);
      if (reply !== undefined) return reply;
      await send("ROLLBACK");
    }
    throw new StoreFailure("transient", "the accounts of the batch kept changing");
  }

  /** One try: undefined when other accounts turn out to be needed; then the transaction is still open. */
  async #tryCommit(batch: LedgerBatch, ids: readonly ReservationId[], send: Send): Promise<BatchReply | undefined> {
    const { day } = this.#session;
    /** Accounts that may have to be made. */
    const named = new Set<AccountId>();
    for (const operation of batch.operations) {
      if (operation.kind !== "reserve" && operation.kind !== "read") continue;
      const { goal, key } = operation.kind === "read" ? operation : operation.reservation;
      named.add(goalAccountOf(goal, day)).add(dayAccountOf(day));
      if (key !== undefined) named.add(keyAccountOf(typeof key === "string" ? key : key.label, day));
    }
    const needed = new Set(named);
    for (const id of ids) for (const account of this.#knownAccounts.get(id) ?? []) needed.add(account);

    const { accounts, reservations, nowMs } = await this.#lock([...named], [...needed].sort(), ids, send);
    let isComplete = accounts.size === needed.size && (named.size === 0 || this.#session.today(nowMs) === day);
    for (const row of reservations.values()) {
      if (accountsOf(row).every((account) => accounts.has(account))) continue;
      this.#knownAccounts.set(row.id, accountsOf(row));
      isComplete = false;
    }
    if (!isComplete) return undefined;

    const view = {
      account(id: AccountId) {
        const row = accounts.get(id);
        if (row === undefined) throw new StoreFailure("transient", `account ${id} was not locked`);
        return row;
      },
      reservation: (id: ReservationId) => reservations.get(id),
    };
    const { reply, changes } = decideBatch(batch, view, { nowMs, day });
    const { accounts: changed, inserted, updated, entries } = changes;
    const isEmpty = changed.length + inserted.length + updated.length + entries.length === 0;
    // A rollback also removes account rows that were inserted for what is refused.
    await send(isEmpty ? "ROLLBACK" : writeMessage(changes));
    for (const row of inserted) this.#knownAccounts.set(row.id, accountsOf(row));
    this.#knownAccounts.trim(maxCachedReservations);
    for (const { after } of updated) if (!isOpen(after.state)) this.#knownAccounts.delete(after.id);
    return reply;
  }

  /** Finds the accounts of reservations that this node has not made itself: one read, no lock. */
  async #findAccounts({ operations }: LedgerBatch, send: Send): Promise<void> {
    const unknown = new Set<ReservationId>();
    for (const operation of operations) {
      const id = operation.kind === "reserve" ? undefined : reservationIdOfOperation(operation);
      if (id !== undefined && this.#knownAccounts.get(id) === undefined) unknown.add(id);
    }
    if (unknown.size === 0) return;
    const [rows = []] = await send(`SELECT ${reservationColumns} FROM reservation WHERE id IN (${listOf(unknown)})`);
    for (const row of rows.map(reservationOf)) this.#knownAccounts.set(row.id, accountsOf(row));
  }

  /** The first message: inserts accounts that do not exist, and locks all in a fixed order. */
  async #lock(
    named: readonly AccountId[],
    accountIds: readonly AccountId[],
    reservationIds: readonly ReservationId[],
    send: Send,
  ) {
    const message = [this.#session.begin];
    if (named.length > 0) {
      const values = named.map((id) => `(${textLiteral(id)})`).join(", ");
      message.push(`INSERT INTO account (id) VALUES ${values} ON CONFLICT (id) DO NOTHING`);
    }
    message.push(
      `SELECT ${accountColumns} FROM account WHERE id IN (${listOf(accountIds)}) ORDER BY id FOR UPDATE`,
      `SELECT ${reservationColumns} FROM reservation WHERE id IN (${listOf(reservationIds)})`,
      `SELECT ${this.#session.now()} AS now_ms`,
      // Marks this transaction: the second message fails if it should reach a connection where it is not open.
      "SAVEPOINT locked",
    );
    const [accountRows = [], reservationRows = [], [time] = []] = lastAnswers(await send(message.join(";\n")), 4);
    return {
      accounts: new Map(accountRows.map((row) => [textOf(row, "id"), readAccount(row)])),
      reservations: new Map(reservationRows.map((row) => [textOf(row, "id"), reservationOf(row)])),
      nowMs: numberOf(time, "now_ms"),
    };
  }
}

export function listOf(ids: Iterable<string>): string {
  return [...ids].map(textLiteral).join(", ") || "NULL";
}
