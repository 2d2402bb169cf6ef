import { SQLiteError } from "bun:sqlite";
import { inMemoryPath } from "#db/database-url.ts";
import { diskFaultOf } from "#db/disk-fault.ts";
import { StoreFailure } from "#ledger/store.ts";

/**
 * The operating system has refused a write: no room, a quota, a limit, a read-only file system. Nothing of the transaction counts then:
 * its pages are in no file that is read, or in the log without the end of a commit, and SQLite reads its own pages anew. Only if a sync
 * fails, pages that were written before may be lost.
 */
const isNotWritten = /^SQLITE_(?:FULL|IOERR_WRITE|IOERR_SHMSIZE)$/;

/** Whether SQLite reports that the operating system has refused a write. */
export function isRefusedWrite(error: unknown): boolean {
  return error instanceof SQLiteError && isNotWritten.test(error.code ?? "");
}

/** What an error of SQLite means. After a failed read or sync it is unknown what is on the disk: no later reply can be trusted. */
export function sqliteFailureOf(error: unknown, path: string): unknown {
  if (!(error instanceof SQLiteError)) return error;
  const code = error.code ?? "";
  const message = `${code}: ${error.message}`;
  if (/^SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) return new StoreFailure("conflict", message);
  const isDisk = path !== inMemoryPath && /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/.test(code);
  const fault = isDisk ? diskFaultOf(path) : undefined;
  const isFatal = /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/.test(code) && !isNotWritten.test(code);
  return new StoreFailure(isFatal ? "fatal" : "transient", fault === undefined ? message : `${message} (${fault})`);
}
