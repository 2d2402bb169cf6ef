import {
  integerLiteral,
  migratePostgres,
  PostgresConnection,
  type PostgresRow,
  sqlStateOf,
  textArrayLiteral,
  textLiteral,
} from "#db/postgres.ts";
import { type UtcDay, utcDayOf } from "#domain/time.ts";
import {
  type AccountId,
  type AccountRow,
  type Batch,
  type BatchReply,
  type Changes,
  dayAccountOf,
  decideBatch,
  expiryGraceMs,
  goalAccountOf,
  isOpen,
  type NodeIdentity,
  nodeSilentMs,
  type ReservationRow,
  type ReservationState,
} from "./books.ts";
import type { ActualSource, ReservationId } from "./ledger.ts";
import { RecentMap } from "./recent-map.ts";
import { type Due, type Store, StoreFailure } from "./store.ts";

/** A message that has no answer by then is taken for lost. The server gives up earlier, by the limits set in each batch. */
const answerLimitMs = 2_500;
const batchLimits = `SET LOCAL lock_timeout = '400ms'; SET LOCAL statement_timeout = '900ms';
SET LOCAL idle_in_transaction_session_timeout = '2s'`;
const maxRemembered = 100_000;
/** How often a batch may start over because it needs a lock that it did not foresee (a new day, a row of another node). */
const maxWidenings = 4;
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

/**
 * The books in PostgreSQL, for any number of nodes. A batch is two messages: one locks the accounts and reads, one writes
 * and commits; between them the rules decide. The database's clock counts.
 */
export class PostgresStore implements Store {
  readonly kind = "postgres";
  private readonly batches: PostgresConnection;
  /** For everything else, so that upkeep and reads never stand between the two messages of a batch. */
  private readonly aside: PostgresConnection;
  private readonly clockOffsetMs: () => number;
  private day: UtcDay = "";
  private begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${batchLimits}`;
  /** Accounts whose rows are known to exist. */
  private readonly existing = new Set<AccountId>();
  /** The accounts of reservations that this node has written or tried to write: what a later batch has to lock for them. */
  private readonly accountsOf = new RecentMap<ReservationId, readonly AccountId[]>(maxRemembered);
  /** Every reservation that expires before this is closed: where the search for open ones begins. */
  private sweptMs = 0;
  /** Lives of nodes whose held reservations have been looked for. */
  private readonly lookedAfter = new Set<string>();
  private asideBusy: Promise<unknown> = Promise.resolve();

  /** Connects and brings the schema up to date. Rejects when either fails. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    await migratePostgres(url);
    return new PostgresStore(url, options);
  }

  private constructor(url: string, options: PostgresStoreOptions) {
    this.batches = new PostgresConnection(url, answerLimitMs);
    this.aside = new PostgresConnection(url, answerLimitMs);
    this.clockOffsetMs = options.clockOffsetMs ?? (() => 0);
  }

  async join(nodeId: string): Promise<NodeIdentity> {
    const [[setting], [node], [time]] = await this.ask(
      `SHOW synchronous_commit;
       INSERT INTO node (id, epoch, heartbeat_ms) VALUES (${textLiteral(nodeId)}, 1, ${this.now()})
         ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, heartbeat_ms = excluded.heartbeat_ms RETURNING epoch;
       SELECT ${this.now()} AS now_ms, (SELECT max(swept_ms) FROM node) AS swept_ms`,
      3,
    );
    this.sweptMs = Math.min(numberOf(time, "swept_ms"), numberOf(time, "now_ms") - sweepRestartMs);
    // An answer means that the commit is on disk; a database set to answer earlier is asked to wait for our commits.
    if (["off", "local"].includes(String(setting?.["synchronous_commit"]))) {
      this.begin += "; SET LOCAL synchronous_commit = 'on'";
    }
    this.day = utcDayOf(numberOf(time, "now_ms"));
    return { id: nodeId, epoch: numberOf(node, "epoch") };
  }

  async commit(batch: Batch): Promise<BatchReply> {
    try {
      await this.findAccounts(batch);
      for (let round = 0; round < maxWidenings; round++) {
        const reply = await this.tryBatch(batch);
        if (reply !== undefined) return reply;
        await this.batches.run("ROLLBACK");
      }
      throw new StoreFailure("again", "the accounts of the batch kept changing");
    } catch (error) {
      throw await this.afterFailure(error);
    }
  }

  async beat(node: NodeIdentity): Promise<void> {
    await this.ask(
      `UPDATE node SET heartbeat_ms = ${this.now()}, swept_ms = ${integerLiteral(this.sweptMs)}
       WHERE id = ${textLiteral(node.id)} AND epoch = ${node.epoch}`,
      1,
    );
  }

  async due(node: NodeIdentity, limit: number): Promise<readonly Due[]> {
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
    const due = expired.map((row): Due => ({ id: textOf(row, "id"), why: "expired" }));
    return due.length >= limit ? due : [...due, ...(await this.orphans(node, nodes, nowMs, limit - due.length))];
  }

  /** Held reservations of nodes that are silent or have started anew. Looked for once in the life of each dead node. */
  private async orphans(self: NodeIdentity, nodes: PostgresRow[], nowMs: number, limit: number): Promise<Due[]> {
    const dead: string[] = [];
    const looked: string[] = [];
    for (const row of nodes) {
      const id = textOf(row, "id");
      const epoch = numberOf(row, "epoch");
      const silent = id !== self.id && numberOf(row, "heartbeat_ms") <= nowMs - nodeSilentMs;
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
      `DELETE FROM node WHERE heartbeat_ms < ${before}`,
      "COMMIT",
    );
    await this.ask(steps.join(";\n"), steps.length, 10_000);
    return found.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.batches.close(), this.aside.close()]);
  }

  /** Foresees the accounts of operations on reservations that this node has not made itself: one read, no lock. */
  private async findAccounts(batch: Batch): Promise<void> {
    const wanted = new Set<ReservationId>();
    for (const operation of batch.operations) {
      if (operation.kind !== "reserve" && !this.accountsOf.has(idOf(operation))) wanted.add(idOf(operation));
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

  /** One try: undefined when it turns out that other accounts have to be locked; then the transaction is still open. */
  private async tryBatch(batch: Batch): Promise<BatchReply | undefined> {
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
      for (const account of this.accountsOf.get(idOf(operation)) ?? []) needed.add(account);
    }
    const accountIds = [...needed].sort();
    const missing = accountIds.filter((id) => !this.existing.has(id));
    const ids = [...new Set(batch.operations.map(idOf))];
    const first = [this.begin];
    if (missing.length > 0) {
      const values = missing.map((id) => `(${textLiteral(id)})`).join(", ");
      first.push(`INSERT INTO account (id) VALUES ${values} ON CONFLICT (id) DO NOTHING`);
    }
    const accountList = accountIds.length === 0 ? "NULL" : accountIds.map(textLiteral).join(", ");
    first.push(
      `SELECT ${accountColumns} FROM account WHERE id IN (${accountList}) ORDER BY id FOR UPDATE`,
      `SELECT ${reservationColumns} FROM reservation WHERE id IN (${ids.map(textLiteral).join(", ")})`,
      `SELECT ${this.now()} AS now_ms`,
      // Marks this transaction: the second message fails if it should reach a connection where it is not open.
      "SAVEPOINT locked",
    );
    const answers = await this.batches.run(first.join(";\n"));
    const [accountRows = [], reservationRows = [], [time] = []] = answers.slice(-4);
    const accounts = new Map(accountRows.map((row) => [textOf(row, "id"), accountOf(row)]));
    const reservations = new Map(reservationRows.map((row) => [textOf(row, "id"), reservationOf(row)]));
    const nowMs = numberOf(time, "now_ms");

    let widen = false;
    if (reserves && this.today(nowMs) !== day) widen = true;
    for (const id of accountIds) {
      if (accounts.has(id)) continue;
      this.existing.delete(id);
      widen = true;
    }
    for (const { id, goalAccount, dayAccount } of reservations.values()) {
      if (accounts.has(goalAccount) && accounts.has(dayAccount)) continue;
      this.rememberAccounts(id, [goalAccount, dayAccount, ...(this.accountsOf.get(id) ?? [])]);
      widen = true;
    }
    if (widen) return undefined;

    const view = {
      account: (id: AccountId) => {
        const row = accounts.get(id);
        if (row === undefined) throw new StoreFailure("again", `account ${id} was not locked`);
        return row;
      },
      reservation: (id: ReservationId) => reservations.get(id),
    };
    const { reply, changes } = decideBatch(batch, view, { nowMs, day: reserves ? day : this.day });
    if (isEmpty(changes)) {
      // Also takes back account rows made for what was refused.
      await this.batches.run("ROLLBACK");
    } else {
      await this.batches.run(["RELEASE SAVEPOINT locked", ...writesOf(changes), "COMMIT"].join(";\n"));
      // Only now: rows inserted by a transaction that did not commit do not exist.
      for (const id of accountIds) this.existing.add(id);
      if (this.existing.size > maxRemembered) this.existing.clear();
    }
    for (const { after } of changes.updated) if (!isOpen(after.state)) this.accountsOf.delete(after.id);
    for (const [index, operation] of batch.operations.entries()) {
      // Refused: there is no row whose accounts would have to be known.
      if (operation.kind !== "reserve" || reply.replies[index]?.kind === "held") continue;
      if (!reservations.has(operation.reservation.id)) this.accountsOf.delete(operation.reservation.id);
    }
    return reply;
  }

  private rememberAccounts(id: ReservationId, accounts: readonly AccountId[]): void {
    this.accountsOf.set(id, [...new Set(accounts)]);
  }

  /** Leaves no transaction open behind, and says what the error means for the batch. */
  private async afterFailure(error: unknown): Promise<StoreFailure> {
    const state = sqlStateOf(error);
    if (state === undefined) this.batches.drop();
    else await this.batches.run("ROLLBACK").catch(() => this.batches.drop());
    if (error instanceof StoreFailure) return error;
    const message = error instanceof Error ? error.message : String(error);
    // 22: bad data, also the division by zero of a row count that is not as expected. 23: a constraint.
    const kind = state?.startsWith("22") || state?.startsWith("23") ? "conflict" : "again";
    return new StoreFailure(kind, state === undefined ? message : `${state}: ${message}`, { cause: error });
  }

  /** A message on the connection aside: one at a time, answers of its last `count` statements. */
  private ask(statements: string, count: 1, limitMs?: number): Promise<[PostgresRow[]]>;
  private ask(statements: string, count: 2, limitMs?: number): Promise<[PostgresRow[], PostgresRow[]]>;
  private ask(statements: string, count: 3, limitMs?: number): Promise<[PostgresRow[], PostgresRow[], PostgresRow[]]>;
  private ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]>;
  private ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]> {
    const turn = this.asideBusy.then(async () => {
      try {
        const answers = await this.aside.run(statements, limitMs);
        return Array.from({ length: count }, (_, i) => [...(answers[answers.length - count + i] ?? [])]);
      } catch (error) {
        await this.aside.run("ROLLBACK").catch(() => this.aside.drop());
        throw new StoreFailure("again", error instanceof Error ? error.message : String(error), { cause: error });
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

function idOf(operation: Batch["operations"][number]): ReservationId {
  switch (operation.kind) {
    case "reserve":
      return operation.reservation.id;
    case "resolve":
      return operation.resolution.id;
    default:
      return operation.id;
  }
}

function isEmpty({ accounts, inserted, updated, entries }: Changes): boolean {
  return accounts.length + inserted.length + updated.length + entries.length === 0;
}

/**
 * The second message. The rows are locked and their new values are decided, so each update also says what it expects to
 * find; a count that differs divides by zero, and the whole message is undone.
 */
function writesOf(changes: Changes): string[] {
  const statements: string[] = [];
  const { accounts, inserted, updated, entries } = changes;
  if (inserted.length > 0) {
    const rows = rowsOf(inserted, {
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
      created_ms: ["bigint", (row) => row.createdMs],
      expires_ms: ["bigint", (row) => row.expiresMs],
      closed_ms: ["bigint", (row) => row.closedMs],
    });
    statements.push(`INSERT INTO reservation (${rows.columns}) SELECT ${rows.columns} FROM ${rows.source}`);
  }
  if (updated.length > 0) {
    const rows = rowsOf(updated, {
      id: ["text", ({ after }) => after.id],
      was: ["text", ({ before }) => before.state],
      state: ["text", ({ after }) => after.state],
      actual: ["bigint", ({ after }) => after.actual],
      source: ["text", ({ after }) => after.source],
      dispatched: ["boolean", ({ after }) => after.dispatched],
      closed_ms: ["bigint", ({ after }) => after.closedMs],
    });
    statements.push(
      counted(
        updated.length,
        `UPDATE reservation SET state = v.state, actual = v.actual, source = v.source, dispatched = v.dispatched, closed_ms = v.closed_ms
         FROM ${rows.source} WHERE reservation.id = v.id AND reservation.state = v.was`,
      ),
    );
  }
  // Each kind of event on its own: most of their columns are then the same in all rows.
  for (const same of Map.groupBy(entries, ({ event }) => event).values()) {
    const rows = rowsOf(same, {
      reservation_id: ["text", (entry) => entry.reservationId],
      event: ["text", (entry) => entry.event],
      held: ["bigint", (entry) => entry.held],
      spent: ["bigint", (entry) => entry.spent],
      overrun: ["bigint", (entry) => entry.overrun],
      reason: ["text", (entry) => entry.reason],
      node_id: ["text", (entry) => entry.nodeId],
      at_ms: ["bigint", (entry) => entry.atMs],
    });
    statements.push(`INSERT INTO ledger_entry (${rows.columns}) SELECT ${rows.columns} FROM ${rows.source}`);
  }
  if (accounts.length > 0) {
    const rows = rowsOf(accounts, {
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
        `UPDATE account SET held = v.held, spent = v.spent, overrun = v.overrun, hard = v.hard
         FROM ${rows.source} WHERE account.id = v.id AND account.held = v.was_held AND account.spent = v.was_spent`,
      ),
    );
  }
  return statements;
}

type Column<Row> =
  | readonly ["text", (row: Row) => string | null]
  | readonly ["bigint", (row: Row) => number | null]
  | readonly ["boolean", (row: Row) => boolean];

function arrayOf<Row>(column: Column<Row>, rows: readonly Row[]): string {
  switch (column[0]) {
    case "text":
      return textArrayLiteral(rows.map(column[1]));
    case "bigint":
      return `CAST('{${rows.map(column[1]).map(integerLiteral).join(",")}}' AS bigint[])`;
    case "boolean":
      return `CAST('{${rows.map(column[1]).join(",")}}' AS boolean[])`;
  }
}

/**
 * Rows as one array a column: the server parses 256 rows of literals several times slower. A column that is the same in all
 * rows is sent once; the first one never is, so that there are as many rows as there should be.
 */
function rowsOf<Row>(rows: readonly Row[], columns: Readonly<Record<string, Column<Row>>>) {
  const names = Object.keys(columns);
  const selected: string[] = [];
  const arrays: string[] = [];
  const unnested: string[] = [];
  for (const [name, column] of Object.entries(columns)) {
    const [type] = column;
    const read: (row: Row) => string | number | boolean | null = column[1];
    const values = rows.map(read);
    const [value = null] = values;
    if (unnested.length > 0 && values.every((one) => one === value)) {
      selected.push(`CAST(${literalOf(value)} AS ${type}) AS ${name}`);
    } else {
      arrays.push(arrayOf(column, rows));
      unnested.push(name);
      selected.push(name);
    }
  }
  return {
    columns: names.join(", "),
    source: `(SELECT ${selected.join(", ")} FROM unnest(${arrays.join(",\n")}) AS u (${unnested.join(", ")})) AS v`,
  };
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
  return {
    id: textOf(row, "id"),
    held: numberOf(row, "held"),
    spent: numberOf(row, "spent"),
    overrun: numberOf(row, "overrun"),
    hard: maybeNumberOf(row, "hard"),
    ownHard: maybeNumberOf(row, "own_hard"),
  };
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
  if (typeof value !== "string") throw new StoreFailure("again", `column ${column} is not text`);
  return value;
}

function numberOf(row: PostgresRow | undefined, column: string): number {
  const value = Number(row?.[column]);
  if (!Number.isSafeInteger(value)) throw new StoreFailure("again", `column ${column} is not a whole number`);
  return value;
}

function maybeNumberOf(row: PostgresRow, column: string): number | null {
  return row[column] === null ? null : numberOf(row, column);
}
