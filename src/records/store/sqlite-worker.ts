import type { Database } from "bun:sqlite";
import { runSqliteWrites, type SqlWrite } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { answerCalls } from "#platform/threads/answer-calls.ts";
import { searchBlocks } from "./blocks.ts";
import type { BlockSearch, SqlRow } from "./sql-connection.ts";

export type RecordsRequest =
  | { readonly call: "open"; readonly path: string; readonly readOnly: boolean }
  | { readonly call: "read"; readonly sql: string; readonly values: readonly (string | number)[] }
  | { readonly call: "search"; readonly search: BlockSearch }
  | { readonly call: "write"; readonly writes: readonly SqlWrite[] }
  | { readonly call: "close" };

let db: Database | undefined;

/** Runs in a thread of its own, so that a long query of the records blocks nobody. It writes where nobody else does. */
function run(request: RecordsRequest): unknown {
  if (request.call === "open") {
    db = openSqlite(request.path);
    // Checkpoints sync; they are the ledger's, in its own thread.
    if (request.readOnly) for (const pragma of ["query_only = 1", "wal_autocheckpoint = 0"]) db.run(`PRAGMA ${pragma}`);
    return undefined;
  }
  if (db === undefined) throw new Error("the database is not open");
  switch (request.call) {
    case "read":
      return read(db, request.sql, request.values);
    case "search": {
      const searching = searchBlocks(request.search, "sqlite");
      let step = searching.next();
      while (step.done !== true) step = searching.next(read(db, ...step.value));
      return step.value;
    }
    case "write":
      return runSqliteWrites(db, request.writes);
    case "close":
      return db.close();
  }
}

function read(from: Database, sql: string, values: readonly (string | number)[]): readonly SqlRow[] {
  return from.query<SqlRow, (string | number)[]>(sql).all(...values);
}

answerCalls(run);
