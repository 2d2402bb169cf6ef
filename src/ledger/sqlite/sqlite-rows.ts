import type { Database } from "bun:sqlite";
import type { ReservationId } from "#ledger/ledger.ts";
import { emptyAccount } from "#ledger/rules/accounts.ts";
import type { LedgerChanges, LedgerView } from "#ledger/rules/operations.ts";
import { type AccountId, type AccountRow, isOpen, type ReservationRow } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import type { StoredEntry, StoredReservation } from "./sqlite-retention.ts";

/** Rows that are kept between two transactions. */
const maxKeptRows = 10_000;

/**
 * The rows of the batches, read for the rules and written as they decide. What a transaction has read or written is not
 * read again by the next one: the rows are kept as SQLite keeps its pages, until another connection commits or a
 * transaction fails.
 */
export class SqliteRows implements LedgerView {
  readonly slot = 0;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** Changes when another connection has committed. */
  #dataVersion: number | undefined;
  #newestDay: UtcDay | undefined;
  #lastBatch: number | undefined;
  /** The last one by their order. */
  #newestId: ReservationId | undefined;
  readonly #accounts = new Map<AccountId, AccountRow>();
  /** With their places in the table, and the batches of their newest entries. */
  readonly #reservations = new Map<
    ReservationId,
    { readonly row: ReservationRow; readonly seq: number; readonly lastEntry: number }
  >();

  constructor(db: Database) {
    this.#statements = prepareStatements(db);
  }

  /** To be called at the beginning of each transaction that reads or writes these rows. */
  refresh(): void {
    const version = this.#statements.dataVersion.get()?.data_version;
    const isFull = this.#accounts.size + this.#reservations.size > maxKeptRows;
    if (version !== this.#dataVersion || isFull) this.forget();
    this.#dataVersion = version;
  }

  close(): void {
    for (const statement of Object.values(this.#statements)) statement.finalize();
  }

  forget(): void {
    this.#newestDay = undefined;
    this.#lastBatch = undefined;
    this.#newestId = undefined;
    this.#accounts.clear();
    this.#reservations.clear();
  }

  /** Today, or the newest day seen where the clock was set back; a new day is stored. */
  today(nowMs: number): UtcDay {
    this.#newestDay ??= this.#statements.day.get()?.day ?? "";
    const today = utcDayOf(nowMs);
    if (this.#newestDay < today) {
      this.#statements.setDay.run(today);
      this.#newestDay = today;
    }
    return this.#newestDay;
  }

  account(id: AccountId): AccountRow {
    const kept = this.#accounts.get(id);
    if (kept !== undefined) return kept;
    const row = this.#statements.account.get(id) ?? emptyAccount(id);
    this.#accounts.set(id, row);
    return row;
  }

  reservation(id: ReservationId): ReservationRow | undefined {
    const kept = this.#reservations.get(id);
    if (kept !== undefined) return kept.row;
    this.#newestId ??= this.#statements.newestId.get()?.id ?? "";
    if (id > this.#newestId) return undefined; // Nearly every new one: ids begin with their time.
    const row = this.#statements.reservation.get(id);
    if (row === null) return undefined;
    this.#reservations.set(id, { row, seq: row.seq, lastEntry: row.lastEntry });
    return row;
  }

  /** Writes what the rules have decided from these rows. */
  write({ inserted, updated, accounts, entries, lookups }: LedgerChanges): void {
    const statements = this.#statements;
    const [first] = entries;
    if (first === undefined) return; // Every change has an entry.
    const batch = (this.#lastBatch ?? statements.lastBatch.get()?.seq ?? 0) + 1;
    this.#lastBatch = batch;
    const seen = new Set<ReservationId>();
    const stored = entries.map(({ reservationId: id, event, held, spent, overrun, reason }): StoredEntry => {
      const previous = seen.has(id) ? batch : (this.#reservations.get(id)?.lastEntry ?? null);
      seen.add(id);
      return [id, event, held, spent, overrun, reason, previous];
    });
    statements.insertBatch.run(batch, first.nodeId, first.atMs, JSON.stringify(stored));
    for (const { before, after } of updated) {
      const { id, state, actual, source, closedMs } = after;
      const seq = this.#reservations.get(id)?.seq ?? 0;
      const { changes } = statements.updateReservation.run(state, actual, source, closedMs, batch, seq, before.state);
      if (changes !== 1) throw new StoreFailure("conflict", `reservation ${id} is not ${before.state}`);
      this.#keep(after, seq, batch);
    }
    for (const row of inserted) {
      const { id, goalAccount, dayAccount, keyAccount, hold, actual, source, state, model, nodeId, nodeEpoch } = row;
      const owner = [goalAccount, dayAccount, keyAccount, hold, actual, source, state, model, nodeId, nodeEpoch];
      const times = [row.createdMs, row.expiresMs, row.closedMs];
      const { lastInsertRowid } = statements.insertReservation.run(id, ...owner, ...times, batch);
      this.#keep(row, Number(lastInsertRowid), batch);
      if (this.#newestId !== undefined && id > this.#newestId) this.#newestId = id;
    }
    for (const { reservationId, generationId, hold, nextMs } of lookups) {
      statements.addLookup.run(reservationId, generationId, hold, nextMs);
    }
    for (const { after } of accounts) {
      const { id, held, spent, overrun, unproven, hard } = after;
      const values = [held, spent, overrun, unproven, hard, id];
      if (statements.updateAccount.run(...values).changes === 0) statements.insertAccount.run(...values);
      this.#accounts.set(id, after);
    }
  }

  /** A closed one is seldom asked for again. */
  #keep(row: ReservationRow, seq: number, lastEntry: number): void {
    if (isOpen(row.state)) this.#reservations.set(row.id, { row, seq, lastEntry });
    else this.#reservations.delete(row.id);
  }
}

type Value = string | number | null;

/** Prepared once: they run with each request. */
function prepareStatements(db: Database) {
  return {
    dataVersion: db.prepare<{ data_version: number }, []>("PRAGMA data_version"),
    newestId: db.prepare<{ id: string | null }, []>("SELECT max(id) AS id FROM reservation"),
    lastBatch: db.prepare<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM ledger_batch"),
    account: db.prepare<AccountRow, [string]>(
      "SELECT id, held, spent, overrun, unproven, hard, own_hard AS ownHard FROM account WHERE id = ?",
    ),
    insertAccount: db.prepare<unknown, Value[]>(
      "INSERT INTO account (held, spent, overrun, unproven, hard, id) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    updateAccount: db.prepare<unknown, Value[]>(
      "UPDATE account SET held = ?, spent = ?, overrun = ?, unproven = ?, hard = ? WHERE id = ?",
    ),
    reservation: db.prepare<StoredReservation, [string]>(
      `SELECT seq, last_entry AS lastEntry, id, goal_account AS goalAccount, day_account AS dayAccount,
         key_account AS keyAccount, 0 AS slot, hold, actual, source, state, model, node_id AS nodeId, node_epoch AS nodeEpoch,
         created_ms AS createdMs, expires_ms AS expiresMs, closed_ms AS closedMs
       FROM reservation WHERE id = ?`,
    ),
    insertReservation: db.prepare<unknown, Value[]>(
      `INSERT INTO reservation (id, goal_account, day_account, key_account, hold, actual, source, state, model, node_id,
         node_epoch, created_ms, expires_ms, closed_ms, last_entry)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateReservation: db.prepare<unknown, Value[]>(
      `UPDATE reservation SET state = ?, actual = ?, source = ?, closed_ms = ?, last_entry = ?
       WHERE seq = ? AND state = ?`,
    ),
    insertBatch: db.prepare<unknown, [number, string, number, string]>(
      "INSERT INTO ledger_batch (seq, node_id, at_ms, entries) VALUES (?, ?, ?, ?)",
    ),
    day: db.prepare<{ day: string }, []>("SELECT day FROM ledger_day WHERE only = 1"),
    setDay: db.prepare<unknown, [string]>(
      "INSERT INTO ledger_day (only, day) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET day = excluded.day",
    ),
    addLookup: db.prepare<unknown, Value[]>(
      `INSERT INTO generation_lookup (reservation_id, generation_id, hold, next_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (reservation_id) DO NOTHING`,
    ),
  };
}
