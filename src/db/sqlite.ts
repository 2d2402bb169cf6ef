import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { type Migration, pendingMigrations, sqliteMigrations } from "./migrations.ts";

/** Below this, SQLite's WAL reset could lose committed pages under concurrent checkpoints. */
const oldestSqliteVersion = "3.51.3";
/** How long one statement waits for another process that writes. */
const busyTimeoutMs = 1_000;
/** The same while opening, where another process may be changing the schema. */
const openTimeoutMs = 10_000;
/** The size of the write-ahead log's file after a checkpoint; four times its usual size. */
const maxLogBytes = 16 * 1_024 * 1_024;

/**
 * Opens (and creates) a database file, durable by its settings: write-ahead log, a sync to disk at each commit. Both
 * are set on every open and read back, because either can be refused without an error. `:memory:` is a database of this
 * process only.
 */
export function openSqlite(path: string, migrations: readonly Migration[] = sqliteMigrations): Database {
  const inMemory = path === ":memory:";
  if (!inMemory) {
    mkdirSync(dirname(path), { recursive: true });
    createPrivately(path);
  }
  const db = new Database(path, { create: true, strict: true });
  try {
    db.run(`PRAGMA busy_timeout = ${openTimeoutMs}`);
    const { version, supported } = sqliteVersionOf(db);
    if (!supported) throw new Error(`SQLite ${version} is too old: ${oldestSqliteVersion} or newer is needed`);
    if (!inMemory) retryWhileBusy(() => requirePragma(db, "journal_mode", "WAL", "wal"));
    requirePragma(db, "synchronous", "FULL", 2);
    db.run("PRAGMA temp_store = MEMORY");
    // A log that a slow reader has made grow is truncated after the next checkpoint.
    db.run(`PRAGMA journal_size_limit = ${maxLogBytes}`);
    migrateSqlite(db, migrations);
    db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Creates the file before SQLite does, which would let all users read it. The log's files get the database's mode. An
 * existing file is not touched: closing it here would release the locks that other connections of this process hold on
 * it.
 */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/**
 * Applies the missing migrations under the write lock: of several processes that start together one does it, and the
 * others find it done. Where none is missing, nobody who only reads waits for the lock.
 */
function migrateSqlite(db: Database, migrations: readonly Migration[]): void {
  if (pendingMigrations(appliedIn(db), migrations).length === 0) return;
  const migrate = db.transaction(() => {
    db.run(
      "CREATE TABLE IF NOT EXISTS schema_migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)",
    );
    const noted = "INSERT INTO schema_migration (version, name, applied_at) VALUES (?, ?, datetime('now'))";
    for (const { version, name, sql } of pendingMigrations(appliedIn(db), migrations)) {
      db.run(sql);
      db.run(noted, [version, name]);
    }
  });
  migrate.immediate();
}

/** The numbers of the migrations that it has; none where no gateway has used it. */
export function appliedIn(db: Database): readonly number[] {
  if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migration'").get() === null) return [];
  const rows = db.query<{ version: number }, []>("SELECT version FROM schema_migration").all();
  return rows.map(({ version }) => version);
}

/** Retries while another process holds the lock. SQLite's own `busy_timeout` does not cover a change of the journal mode. */
function retryWhileBusy(work: () => void): void {
  const until = performance.now() + openTimeoutMs;
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!(error instanceof SQLiteError) || error.code !== "SQLITE_BUSY" || performance.now() > until) throw error;
      Bun.sleepSync(20);
    }
  }
}

function requirePragma(db: Database, name: string, value: string, expected: string | number): void {
  db.run(`PRAGMA ${name} = ${value}`);
  const row = db.query<Record<string, string | number>, []>(`PRAGMA ${name}`).get();
  if (row?.[name] !== expected) {
    throw new Error(
      `SQLite did not accept ${name} = ${value} (it says ${row?.[name]}): the file system may not allow it`,
    );
  }
}

/** The version of the SQLite library, and whether it is safe to use. */
export function sqliteVersionOf(db: Database): { readonly version: string; readonly supported: boolean } {
  const version = db.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version ?? "0";
  return { version, supported: Bun.semver.order(version, oldestSqliteVersion) >= 0 };
}

/** How often, and how many milliseconds apart, a write is retried that another connection's transaction blocks. */
const writeTries = 60;
const writeTryEveryMs = 7;

/**
 * Runs a write over a connection whose `busy_timeout` is 0, again while another connection writes. SQLite would wait
 * for that itself, but the event loop with it. Rejects with the last error after about half a second.
 */
export async function writeWithRetries<T>(write: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return write();
    } catch (error) {
      if (!(error instanceof SQLiteError) || !error.code?.startsWith("SQLITE_BUSY") || tries >= writeTries) throw error;
      await Bun.sleep(writeTryEveryMs);
    }
  }
}
