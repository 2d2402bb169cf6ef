import { SQLiteError } from "bun:sqlite";
import { StoreFailure } from "#ledger/store.ts";

/** What an error of SQLite means. After a failed read or sync it is unknown what is on the disk: no later reply can be trusted. */
export function sqliteFailureOf(error: unknown): unknown {
  if (!(error instanceof SQLiteError)) return error;
  const code = error.code ?? "";
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return new StoreFailure("fatal", `${code}: ${error.message}`);
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) {
    return new StoreFailure("conflict", `${code}: ${error.message}`);
  }
  return new StoreFailure("transient", `${code}: ${error.message}`);
}
