import { Database } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** How long the copy waits for a lock, which other processes hold only for moments. */
const busyTimeoutMs = 10_000;

/**
 * Writes a consistent copy of a database that may be in use. One read transaction: it contains what was committed when
 * it began, and no writer has to wait. The copy gets its name only when it is complete, checked and on disk. Throws
 * when the database does not exist, or the target does. Returns its bytes.
 */
export function backupSqlite(path: string, target: string): number {
  if (!existsSync(path)) throw new Error(`there is no database ${path}`);
  if (existsSync(target)) throw new Error(`${target} exists already`);
  const unfinished = `${target}.part`;
  // Created before SQLite does, as the database is: other users must not read it.
  closeSync(openSync(unfinished, "wx", 0o600));
  try {
    copy(path, unfinished);
    sync(unfinished);
    renameSync(unfinished, target);
    sync(dirname(target));
    return statSync(target).size;
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

function copy(from: string, to: string): void {
  using db = new Database(from, { readwrite: true, create: false });
  db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  db.query("VACUUM INTO ?").run(to);
  using made = new Database(to, { readonly: true });
  const found = made.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
  if (found !== "ok") throw new Error(`the copy is damaged: ${found}`);
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
