import { SQL } from "bun";
import { type Migration, pendingMigrations, postgresMigrations } from "./migrations.ts";

/** One row as the driver returns it: a bigint is text. */
export type PostgresRow = Record<string, unknown>;

/** How long one transaction may take. */
export interface TransactionLimits {
  /** Milliseconds that a statement waits for a lock. */
  readonly lockMs: number;
  /** Milliseconds that a statement runs. */
  readonly statementMs: number;
  /** Whether the answer waits until the transaction is on disk; it does by default. */
  readonly durable?: boolean;
}

/**
 * A time limit that ends so late tells that the process was stopped. What the server has sent meanwhile is read after
 * the timers, so it gets a moment more.
 */
const stallMs = 200;
const afterStallMs = 50;

/** It has not answered in time, or gateways write to it that would fail on the new schema. */
class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
}

/**
 * One connection, opened by the first use and reopened after a failure. Statements are sent in the simple protocol,
 * several in one message, with no prepared statement and no session state, so that PgBouncer can be used in transaction
 * mode. A message is sent once: whether it was executed when its answer is lost is for the caller to find out.
 */
export class PostgresConnection {
  readonly #url: string;
  readonly #answerLimitMs: number;
  #client: SQL | undefined;
  #closed = false;

  constructor(url: string, answerLimitMs: number) {
    this.#url = url;
    this.#answerLimitMs = answerLimitMs;
  }

  /** Runs the statements of one message; one array of rows each, in their order. Rejects after the answer limit. */
  async run(statements: string, limitMs = this.#answerLimitMs): Promise<readonly PostgresRow[][]> {
    if (this.#closed) throw new Error("the connection is closed");
    this.#client ??= new SQL(this.#url, {
      max: 1,
      prepare: false,
      // In seconds. An unreachable server must be detected within the caller's limit.
      connectionTimeout: Math.max(1, Math.ceil(limitMs / 1_000)),
      idleTimeout: 0,
    });
    const client = this.#client;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const overdue = new Promise<never>((_, reject) => {
      const giveUp = () => reject(new DatabaseUnavailable(`PostgreSQL did not answer in ${limitMs} ms`));
      const dueMs = performance.now() + limitMs;
      timer = setTimeout(() => {
        if (performance.now() - dueMs < stallMs) giveUp();
        else timer = setTimeout(giveUp, afterStallMs);
      }, limitMs);
    });
    // Sent now, not when it is first awaited: messages run in the order of these calls.
    const running = client.unsafe(statements).execute();
    try {
      // A message of one statement answers its rows, one of several an array of such answers.
      const answer = await Promise.race([running, overdue]);
      return (Array.isArray(answer[0]) ? answer : [answer]) as PostgresRow[][];
    } catch (error) {
      running.catch(() => {}); // It fails with its connection; the caller gets the time-out instead.
      if (this.#client === client && isConnectionUnusable(error)) this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Runs statements as one transaction, in one message, and returns their answers in order. For writes that can be lost
   * or repeated: an error drops the connection, because the session may be in a failed transaction.
   */
  async transact(limits: TransactionLimits, statements: readonly string[]): Promise<readonly PostgresRow[][]> {
    const { lockMs, statementMs, durable = true } = limits;
    const before = [
      "BEGIN",
      `SET LOCAL lock_timeout = '${lockMs}ms'`,
      `SET LOCAL statement_timeout = '${statementMs}ms'`,
      ...(durable ? [] : ["SET LOCAL synchronous_commit = off"]),
    ];
    try {
      const answers = await this.run([...before, ...statements, "COMMIT"].join("; "));
      return answers.slice(answers.length - 1 - statements.length, -1);
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  /** Drops the connection; the server rolls back an open transaction. */
  drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.close({ timeout: 0 }).catch(() => {}); // The connection is broken; an error of its close says nothing new.
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.drop();
  }
}

/**
 * Classes of SQLSTATE after which a connection is of no use: 08 connection exceptions, 28 and 3D refused at its start,
 * 53 out of resources (too many connections), 57P shut down or not up yet, 58 system errors. 25P03: idle in a
 * transaction too long. 25006: the server takes no writes (any more): after a fail-over behind a stable address a new
 * connection finds the new primary.
 */
const unusableStates = /^(?:08|28|3D|53|57P|58)|^25P03$|^25006$/;

/** Whether the connection cannot be used after this error; it may work over a new one. */
export function isConnectionUnusable(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === undefined || unusableStates.test(state);
}

/**
 * Whether a database may become available: it cannot be reached, is starting, in recovery, has no connection to spare,
 * or waits for gateways to stop. Not so where it answers that user, password or database are wrong, or that the schema
 * is newer.
 */
export function mayBecomeAvailable(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(?:08|53|57P)|^25006$/.test(state);
  if (error instanceof DatabaseUnavailable) return true;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(?:ERR_POSTGRES_CONNECTION|E[A-Z]+$|FailedToOpenSocket$)/.test(code);
}

/** The five-character SQLSTATE of an error that the server reported. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof SQL.PostgresError)) return undefined;
  const state = String(error.errno ?? "");
  return /^[0-9A-Z]{5}$/.test(state) ? state : undefined;
}

/** All but the characters that no setting of the server and no encoding gives a meaning within a literal. */
const notPlain = /[^A-Za-z0-9 _./:@#+,=~(){}"-]/g;

/**
 * Text as an SQL literal of plain ASCII: whatever is not on a short list of harmless characters is written as its code.
 * NUL and lone surrogates, which PostgreSQL cannot store, become U+FFFD.
 */
export function textLiteral(text: string | null): string {
  if (text === null) return "NULL";
  const codeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const escaped = text.toWellFormed().replaceAll("\0", "\ufffd").replace(notPlain, codeOf);
  return escaped.includes("\\") ? `E'${escaped}'` : `'${escaped}'`;
}

/** Texts as an SQL array. */
export function textArrayLiteral(texts: readonly (string | null)[]): string {
  const elements = texts.map((text) => (text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`));
  return `CAST(${textLiteral(`{${elements.join(",")}}`)} AS text[])`;
}

/** A whole number as an SQL literal; anything else is a defect. */
export function integerLiteral(value: number | null): string {
  if (value === null) return "NULL";
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a whole number: ${value}`);
  return String(value);
}

/** A statement with the values of its `?` as literals: the simple protocol has no parameters. */
export function statementWith(sql: string, values: readonly (string | number | boolean | null)[]): string {
  let next = 0;
  return sql.replace(/\?/g, () => {
    const value = values[next++];
    if (value === undefined) throw new RangeError("fewer values than places");
    if (typeof value === "boolean") return String(value);
    return typeof value === "number" ? integerLiteral(value) : textLiteral(value);
  });
}

/** Names the migration among PostgreSQL's advisory locks. */
const migrationLock = 7_310_246_001;
/** A gateway whose last heartbeat is older, in milliseconds, has stopped: it has missed two. */
const runningMs = 15_000;

/**
 * Applies the missing migrations in one transaction. Of several nodes that start together one does it, and the others
 * wait for its lock. Rejects when the database is newer than this program, and while gateways run on a schema that
 * would change.
 */
export async function migratePostgres(
  url: string,
  migrations: readonly Migration[] = postgresMigrations,
): Promise<void> {
  const connection = new PostgresConnection(url, 30_000);
  try {
    const locked = `BEGIN; SELECT pg_advisory_xact_lock(${migrationLock}); SELECT to_regclass('schema_migration') AS found`;
    const [, , [table] = []] = await connection.run(locked);
    // Not IF NOT EXISTS: that needs the right to create tables, also where there is one.
    if (table?.["found"] == null) {
      await connection.run(
        `CREATE TABLE schema_migration
           (version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
    }
    // Version 0 was a lock of 1.0.0.
    const [rows = []] = await connection.run("SELECT version FROM schema_migration WHERE version > 0");
    const applied = rows.map(({ version }) => Number(version));
    const pending = pendingMigrations(applied, migrations);
    if (applied.length > 0 && pending.length > 0) await requireNoneRunning(connection);
    for (const { version, name, sql } of pending) {
      const noted = `INSERT INTO schema_migration (version, name) VALUES (${version}, ${textLiteral(name)})`;
      await connection.run(`${sql}; ${noted}`);
    }
    await connection.run("COMMIT");
  } finally {
    // Which rolls back what was not committed.
    await connection.close();
  }
}

/** Statements of a gateway that runs would fail on the new schema, those that settle its calls too. */
async function requireNoneRunning(connection: PostgresConnection): Promise<void> {
  const [running = []] = await connection.run(
    `SELECT id FROM node WHERE heartbeat_ms > extract(epoch FROM now()) * 1000 - ${runningMs} ORDER BY id`,
  );
  if (running.length === 0) return;
  const names = running.map(({ id }) => id).join(", ");
  throw new DatabaseUnavailable(
    `the schema has to change, and gateways of an earlier release run on the database (${names}): stop them first; ${runningMs / 1_000} s after the last has stopped the schema is changed`,
  );
}
