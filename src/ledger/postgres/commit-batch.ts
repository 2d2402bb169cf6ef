import { integerLiteral, type PostgresRow, textLiteral } from "#db/postgres.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import { accountsNamedBy, isShared, readAccount } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import { type BatchReply, type LedgerBatch, reservationIdOfOperation } from "#ledger/rules/operations.ts";
import {
  type AccountId,
  type AccountRow,
  accountsOf,
  isOpen,
  type ReservationRow,
  type ShareRow,
} from "#ledger/rules/rows.ts";
import type { LockedShares, ShareScope } from "#ledger/rules/shares.ts";
import { accountColumns } from "#ledger/shared-sql.ts";
import { StoreFailure } from "#ledger/store.ts";
import { LruMap } from "#platform/lru-map.ts";
import { lastAnswers, type Send } from "./connection.ts";
import type { PostgresSession } from "./session.ts";
import { numberOf, recordOf, reservationColumns, textOf, writeMessage } from "./write-message.ts";

/** How often a batch may start over because it needs locks that it did not foresee (a new day, a share that is short). */
const maxRounds = 6;
const maxCachedReservations = 100_000;
const maxCachedAccounts = 10_000;

/** Where the money of a reservation is; that never changes. */
type Place = Pick<ReservationRow, "goalAccount" | "dayAccount" | "keyAccount" | "slot">;

/** What one try locks. */
interface Locks {
  /** Accounts that may have to be made. */
  readonly named: ReadonlySet<AccountId>;
  readonly accounts: ReadonlySet<AccountId>;
  /** The slots of divided accounts. */
  readonly slots: ReadonlyMap<AccountId, ReadonlySet<number>>;
  readonly scopes: ReadonlyMap<AccountId, ShareScope>;
}

/**
 * Commits a batch in two messages: the first locks and reads, the second writes and commits; between them the rules
 * decide. Of an account that nodes share it locks this node's share, and more only where that is short. Rows are locked
 * by one statement for each table, in the order of their keys, accounts before shares; they are read by a later one, so
 * that it sees what whoever held a lock before has written.
 */
export class BatchCommitter {
  readonly #session: PostgresSession;
  /** Of open reservations: what a batch has to lock for them. */
  readonly #places = new LruMap<ReservationId, Place>(maxCachedReservations);
  /** Accounts that exist, and how much this node could reserve in them after its last batch: from its own share, and with new grants. */
  readonly #known = new LruMap<AccountId, { readonly free: number; readonly left: number }>(maxCachedAccounts);

  constructor(session: PostgresSession) {
    this.#session = session;
  }

  async commit(batch: LedgerBatch, send: Send): Promise<BatchReply> {
    const ids = [...new Set(batch.operations.flatMap((operation) => reservationIdOfOperation(operation) ?? []))];
    const scopes = this.#expectedScopes(batch);
    for (let round = 0; round < maxRounds; round++) {
      const reply = await this.#tryCommit(batch, ids, scopes, send, round > 0 ? ["ROLLBACK"] : []);
      if (reply !== undefined) return reply;
    }
    throw new StoreFailure("transient", "the accounts of the batch kept changing");
  }

  /** One try: undefined when more has to be locked; then the transaction is still open. */
  async #tryCommit(
    batch: LedgerBatch,
    ids: readonly ReservationId[],
    scopes: Map<AccountId, ShareScope>,
    send: Send,
    before: readonly string[],
  ): Promise<BatchReply | undefined> {
    const session = this.#session;
    const { day, slot } = session;
    const locks = this.#locksFor(batch, ids, scopes);
    const { accounts, shares, reservations, time } = await this.#lock(locks, ids, send, before);
    const nowMs = session.check(batch.node, time);
    const { named, slots } = locks;
    let isComplete = accounts.size === locks.accounts.size && (named.size === 0 || session.today(nowMs) === day);
    for (const [id, wanted] of slots) {
      const missing = [...wanted].some((one) => shares.get(id)?.rows.every((row) => row.slot !== one) !== false);
      if (!missing) continue;
      this.#known.delete(id);
      isComplete = false;
    }
    for (const row of reservations.values()) {
      const isKnown = accountsOf(row).every((id) => accounts.has(id) && slots.get(id)?.has(row.slot) !== false);
      if (isKnown) continue;
      this.#places.set(row.id, row);
      isComplete = false;
    }
    if (!isComplete) {
      for (const id of named) if (!accounts.has(id)) this.#known.delete(id);
      return undefined;
    }
    const view = {
      slot,
      account(id: AccountId) {
        const row = accounts.get(id);
        if (row === undefined) throw new StoreFailure("transient", `account ${id} was not locked`);
        return row;
      },
      reservation: (id: ReservationId) => reservations.get(id),
      shares: (id: AccountId) => shares.get(id),
    };
    const { reply, changes, short, rooms } = decideBatch(batch, view, { nowMs, day });
    if (short.size > 0) {
      for (const [id, scope] of short) scopes.set(id, scope);
      return undefined;
    }
    const isEmpty = changes.entries.length === 0 && changes.accounts.length === 0 && changes.grants.length === 0;
    // A rollback also removes account rows that were inserted for what is refused.
    await send(isEmpty ? "ROLLBACK" : writeMessage(changes, session.nextBatch(batch.node)));
    if (!isEmpty) {
      session.acknowledged();
      for (const id of named) this.#known.set(id, rooms.get(id) ?? { free: 0, left: 0 });
    }
    for (const row of changes.inserted) this.#places.set(row.id, row);
    for (const { after } of changes.updated) if (!isOpen(after.state)) this.#places.delete(after.id);
    return reply;
  }

  /** By what is known of the accounts from the last batch: a try that locks too little is made for nothing. */
  #expectedScopes({ operations }: LedgerBatch): Map<AccountId, ShareScope> {
    const wanted = new Map<AccountId, number>();
    for (const operation of operations) {
      if (operation.kind !== "reserve" || operation.admitted !== undefined) continue;
      for (const id of accountsNamedBy(operation, this.#session.day)) {
        if (isShared(id)) wanted.set(id, (wanted.get(id) ?? 0) + operation.reservation.amount);
      }
    }
    const scopes = new Map<AccountId, ShareScope>();
    for (const [id, amount] of wanted) {
      const { free, left } = this.#known.get(id) ?? { free: 0, left: amount };
      if (amount > free) scopes.set(id, amount > free + left ? "all" : "grants");
    }
    return scopes;
  }

  #locksFor({ operations }: LedgerBatch, ids: readonly ReservationId[], scopes: Locks["scopes"]): Locks {
    const { day, slot } = this.#session;
    const named = new Set(operations.flatMap((operation) => accountsNamedBy(operation, day)));
    const accounts = new Set(named);
    const slots = new Map<AccountId, Set<number>>();
    const addSlot = (id: AccountId, one: number) => {
      if (isShared(id)) slots.set(id, (slots.get(id) ?? new Set()).add(one));
    };
    for (const id of named) addSlot(id, slot);
    for (const id of ids) {
      const place = this.#places.get(id);
      for (const account of place === undefined ? [] : accountsOf(place)) {
        accounts.add(account);
        addSlot(account, place?.slot ?? 0);
      }
    }
    return { named, accounts, slots, scopes };
  }

  /** The first message: inserts rows that are not known to exist, locks, and reads. */
  async #lock(
    { named, accounts, slots, scopes }: Locks,
    reservationIds: readonly ReservationId[],
    send: Send,
    before: readonly string[],
  ) {
    const { slot, begin, timeSql } = this.#session;
    const message = [...before, ...begin];
    const absent = [...named].filter((id) => this.#known.get(id) === undefined);
    if (absent.length > 0) {
      const values = absent.map((id) => `(${textLiteral(id)})`).join(", ");
      message.push(`INSERT INTO account (id) VALUES ${values} ON CONFLICT (id) DO NOTHING`);
      const own = absent.filter(isShared).map((id) => `(${textLiteral(id)}, ${slot})`);
      if (own.length > 0) {
        message.push(`INSERT INTO account_share (account, slot) VALUES ${own.join(", ")} ON CONFLICT DO NOTHING`);
      }
    }
    const locked = [...accounts].filter((id) => !isShared(id) || (scopes.get(id) ?? "shares") !== "shares");
    if (locked.length > 0) {
      message.push(`SELECT id FROM account WHERE id IN (${listOf(locked)}) ORDER BY id FOR UPDATE`);
    }
    const sharesOf = [...slots].map(([id, wanted]) => {
      const some = scopes.get(id) === "all" ? "" : ` AND slot IN (${[...wanted].map(integerLiteral).join(", ")})`;
      return `(account = ${textLiteral(id)}${some})`;
    });
    message.push(
      `SELECT account, slot, granted, held, spent, overrun, unproven FROM account_share
         WHERE ${sharesOf.join(" OR ") || "false"} ORDER BY account, slot FOR UPDATE`,
      `SELECT ${accountColumns}, granted, shares FROM account_total WHERE id IN (${listOf(accounts)})`,
      `SELECT ${reservationColumns} FROM reservation WHERE id IN (${listOf(reservationIds)})`,
      timeSql,
      // Marks this transaction: the second message fails if it should reach a connection where it is not open.
      "SAVEPOINT locked",
    );
    const answers = lastAnswers(await send(message.join(";\n")), 5);
    const [shareRows = [], accountRows = [], reservationRows = [], [time = {}] = []] = answers;
    const rows = shareRows.map(recordOf<ShareRow>);
    const shares = new Map<AccountId, LockedShares>();
    for (const row of accountRows) {
      const id = textOf(row, "id");
      if (!slots.has(id)) continue;
      const sums = { granted: numberOf(row, "granted"), count: numberOf(row, "shares") };
      shares.set(id, {
        scope: scopes.get(id) ?? "shares",
        rows: rows.filter(({ account }) => account === id),
        ...sums,
      });
    }
    return {
      accounts: new Map<AccountId, AccountRow>(accountRows.map((row) => [textOf(row, "id"), readAccount(row)])),
      shares,
      reservations: new Map(reservationRows.map(recordOf<ReservationRow>).map((row) => [row.id, row])),
      time: time as PostgresRow,
    };
  }
}

export function listOf(ids: Iterable<string>): string {
  return [...ids].map(textLiteral).join(", ") || "NULL";
}
