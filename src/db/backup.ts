import { Database } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

export interface Backup {
  readonly bytes: number;
}

/** A whole copy waits this long for a lock that another process holds only for moments. */
const busyTimeoutMs = 10_000;

/**
 * Writes a consistent copy of a database that may be in use: one read transaction, so what is committed when it begins is in
 * it, what comes later is not, and nobody who writes has to wait. The copy appears under its name only when it is whole, checked
 * and on the disk. Throws when there is no such database, or something under that name already.
 */
export function backupSqlite(path: string, target: string): Backup {
  if (!existsSync(path)) throw new Error(`there is no database ${path}`);
  if (existsSync(target)) throw new Error(`${target} exists already`);
  const unfinished = `${target}.part`;
  // Made before SQLite would, for the same reason as the database itself: it is nobody else's to read.
  closeSync(openSync(unfinished, "wx", 0o600));
  try {
    const db = new Database(path, { readwrite: true, create: false });
    try {
      db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      db.query("VACUUM INTO ?").run(unfinished);
    } finally {
      db.close();
    }
    checkCopy(unfinished);
    sync(unfinished);
    renameSync(unfinished, target);
    sync(dirname(target));
    return { bytes: statSync(target).size };
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

function checkCopy(path: string): void {
  const db = new Database(path, { readonly: true });
  try {
    const found = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
    if (found !== "ok") throw new Error(`the copy is damaged: ${found}`);
  } finally {
    db.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
