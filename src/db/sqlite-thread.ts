import type { Database } from "bun:sqlite";
import { answerCalls } from "#platform/thread-calls.ts";
import { openSqlite } from "./sqlite.ts";
import { runSqlite, type ThreadRequest } from "./store-database.ts";

let db: Database | undefined;

/** A connection that only reads, in a thread of its own, so that a long query holds up no request of this process. */
function run(request: ThreadRequest): unknown {
  if (request.call === "read" && db !== undefined) return runSqlite(db, request.statements);
  if (request.call !== "open") return db?.close();
  db = openSqlite(request.path);
  // Checkpoints sync; they are the ledger's, in its own thread.
  for (const pragma of ["query_only = 1", "wal_autocheckpoint = 0"]) db.run(`PRAGMA ${pragma}`);
  return undefined;
}

answerCalls(run);
