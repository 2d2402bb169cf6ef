import type { Database as Sqlite } from "bun:sqlite";
import { ThreadCalls } from "#platform/thread-calls.ts";
import { databaseLocationOf } from "./database-url.ts";
import type { PostgresConnection, TransactionLimits } from "./postgres.ts";
import { openSqlite, writeWithRetries } from "./sqlite.ts";

/** A boolean is a column of that type in PostgreSQL, 0 or 1 in SQLite. */
export type StoreValue = string | number | boolean | null;
export type StoreRow = Readonly<Record<string, unknown>>;
/** A statement that both dialects understand, with `?` for each value. It may return rows. */
export type Statement = readonly [sql: string, ...values: readonly StoreValue[]];
/** Runs statements as one transaction, all or none of them. */
export type WriteTransaction = (statements: readonly Statement[]) => Promise<unknown>;

/** A store's own connection to the gateway's database. Whole numbers of PostgreSQL arrive as text, those of SQLite as numbers. */
export interface StoreDatabase {
  readonly kind: "sqlite" | "postgres";
  /** The rows of each statement. */
  read(...statements: readonly Statement[]): Promise<readonly StoreRow[][]>;
  /** The same as one transaction. Rejects when it was not written, or when nobody knows. */
  write(...statements: readonly Statement[]): Promise<readonly StoreRow[][]>;
  close(): Promise<void>;
}

/** Milliseconds. What these stores hold can wait; a message without an answer by then counts as lost. */
const answerLimitMs = 3_000;
const limits: TransactionLimits = { lockMs: 300, statementMs: 2_000 };
/** The same for stores of many rows: their sums over long ranges are slow, and their writes may be lost. */
const readManyMs = 30_000;
const writeManyMs = 5_000;
const manyLimits: TransactionLimits = { lockMs: 2_000, statementMs: 4_000, durable: false };

/**
 * For a small store: few rows, read and written now and then, never by a request. Opens the database that a URL names
 * and brings its schema up to date. Rejects when it cannot be reached or is newer than this program.
 */
export async function openStoreDatabase(databaseUrl: string): Promise<StoreDatabase> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return sqliteDatabase(openSqlite(location.path));
  const { connect } = await migratedPostgres(location.url);
  return postgresDatabase(connect(answerLimitMs));
}

async function migratedPostgres(url: string) {
  // A gateway on SQLite never needs it, and modules take memory.
  const { migratePostgres, PostgresConnection } = await import("./postgres.ts");
  await migratePostgres(url);
  return { connect: (limitMs: number) => new PostgresConnection(url, limitMs) };
}

/**
 * The same for a store of many rows: long readings hold up neither requests nor its own writes. `sharedWrite` writes
 * over the ledger's connection to an SQLite file: it has one writer at a time, and a second connection would make the
 * ledger wait and read its rows anew. Without it the store is not for a process that serves requests: an SQLite file is
 * read and written here.
 */
export async function openLargeStore(databaseUrl: string, sharedWrite?: WriteTransaction): Promise<StoreDatabase> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "postgres") {
    const { connect } = await migratedPostgres(location.url);
    return postgresDatabase(connect(readManyMs), connect(writeManyMs), manyLimits);
  }
  if (sharedWrite === undefined) return sqliteDatabase(openSqlite(location.path));
  const worker = new Worker(new URL("./sqlite-thread.ts", import.meta.url), { name: "sqlite" });
  const thread = new ThreadCalls<ThreadRequest>(worker);
  const close = async () => {
    await thread.call({ call: "close" }).catch(() => {}); // A thread that died has closed it.
    thread.terminate("the store is closed");
  };
  await thread.call({ call: "open", path: location.path }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    kind: "sqlite",
    read: (...statements) => thread.call({ call: "read", statements }),
    async write(...statements) {
      await sharedWrite(statements);
      return [];
    },
    close,
  };
}

export type ThreadRequest =
  | { readonly call: "open"; readonly path: string }
  | { readonly call: "read"; readonly statements: readonly Statement[] }
  | { readonly call: "close" };

/** Over an open connection, which it closes with itself. The event loop never waits for another writer: writes are tried again. */
export function sqliteDatabase(db: Sqlite): StoreDatabase {
  db.run("PRAGMA busy_timeout = 0");
  return {
    kind: "sqlite",
    read: async (...statements) => runSqlite(db, statements),
    write: (...statements) => writeWithRetries(() => db.transaction(() => runSqlite(db, statements)).immediate()),
    async close() {
      db.close();
    },
  };
}

/** The rows of each statement. */
export function runSqlite(db: Sqlite, statements: readonly Statement[]): StoreRow[][] {
  return statements.map(([sql, ...values]) => db.query<StoreRow, StoreValue[]>(sql).all(...values));
}

/**
 * Writes that may be lost with the power, but never half: without a sync to disk. On the connection of a part that
 * syncs, they become durable with its next commit. Throws when the database is busy or full; then nothing was written.
 */
export function writeWithoutSync(db: Sqlite, statements: readonly Statement[]): void {
  // Takes effect when it is compiled, so it cannot be prepared.
  db.run("PRAGMA synchronous = NORMAL");
  try {
    db.transaction(() => runSqlite(db, statements)).immediate();
  } finally {
    db.run("PRAGMA synchronous = FULL");
  }
}

/** Over connections, which it closes with itself. */
export function postgresDatabase(
  reader: PostgresConnection,
  writer: PostgresConnection = reader,
  within: TransactionLimits = limits,
): StoreDatabase {
  const written = async (statements: readonly Statement[]) => {
    const { statementWith } = await import("./postgres.ts");
    return statements.map(([sql, ...values]) => statementWith(sql, values));
  };
  return {
    kind: "postgres",
    read: async (...statements) => reader.run((await written(statements)).join("; ")),
    write: async (...statements) => writer.transact(within, await written(statements)),
    async close() {
      await reader.close();
      await writer.close();
    },
  };
}
