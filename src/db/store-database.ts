import type { Database as Sqlite } from "bun:sqlite";
import { databaseLocationOf } from "./database-url.ts";
import type { PostgresConnection } from "./postgres.ts";
import { openSqlite, writeWithRetries } from "./sqlite.ts";

/** A boolean is a column of that type in PostgreSQL, 0 or 1 in SQLite. */
export type StoreValue = string | number | boolean | null;
export type StoreRow = Readonly<Record<string, unknown>>;
/** A statement that both dialects understand, with `?` for each value. It may return rows. */
export type Statement = readonly [sql: string, ...values: readonly StoreValue[]];

/**
 * A small store's own connection to the gateway's database: few rows, read and written now and then, never by a request. Whole numbers of
 * PostgreSQL arrive as text, those of SQLite as numbers.
 */
export interface StoreDatabase {
  /** The rows of each statement. */
  read(...statements: readonly Statement[]): Promise<readonly StoreRow[][]>;
  /** The same as one transaction. Rejects when it was not written, or when nobody knows. */
  write(...statements: readonly Statement[]): Promise<readonly StoreRow[][]>;
  close(): Promise<void>;
}

/** Milliseconds. What these stores hold can wait; a message without an answer by then counts as lost. */
const answerLimitMs = 3_000;
const limits = { lockMs: 300, statementMs: 2_000 };

/** Opens the database that a URL names and brings its schema up to date. Rejects when it cannot be reached or is newer than this program. */
export async function openStoreDatabase(databaseUrl: string): Promise<StoreDatabase> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return sqliteDatabase(openSqlite(location.path));
  // A gateway on SQLite never needs it, and modules take memory.
  const { migratePostgres, PostgresConnection } = await import("./postgres.ts");
  await migratePostgres(location.url);
  return postgresDatabase(new PostgresConnection(location.url, answerLimitMs));
}

/** Over an open connection, which it closes with itself. The event loop never waits for another writer: writes are tried again. */
export function sqliteDatabase(db: Sqlite): StoreDatabase {
  db.run("PRAGMA busy_timeout = 0");
  const run = (statements: readonly Statement[]) =>
    statements.map(([sql, ...values]) => db.query<StoreRow, StoreValue[]>(sql).all(...values.map(numbered)));
  return {
    read: async (...statements) => run(statements),
    write: (...statements) => writeWithRetries(() => db.transaction(() => run(statements)).immediate()),
    async close() {
      db.close();
    },
  };
}

function numbered(value: StoreValue): StoreValue {
  return typeof value === "boolean" ? Number(value) : value;
}

/** Over a connection, which it closes with itself. */
export function postgresDatabase(connection: PostgresConnection): StoreDatabase {
  return {
    async read(...statements) {
      const { statementWith } = await import("./postgres.ts");
      return connection.run(statements.map(([sql, ...values]) => statementWith(sql, values)).join("; "));
    },
    async write(...statements) {
      const { statementWith } = await import("./postgres.ts");
      return connection.transact(
        limits,
        statements.map(([sql, ...values]) => statementWith(sql, values)),
      );
    },
    close: () => connection.close(),
  };
}
