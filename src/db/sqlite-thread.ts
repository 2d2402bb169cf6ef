import type { Database } from "bun:sqlite";
import { answerCalls } from "#platform/thread-calls.ts";
import { openSqlite } from "./sqlite.ts";
import { runSqlite, type ThreadRequest, writeWithoutSync } from "./store-database.ts";

let db: Database | undefined;

/** A connection in a thread of its own, so that a long query holds up no request of this process. */
function run(request: ThreadRequest): unknown {
  if (request.call === "open") {
    db = opened(request.path, request.access);
    return undefined;
  }
  if (db === undefined) throw new Error("the database is not open");
  if (request.call === "close") return db.close();
  return request.call === "read" ? runSqlite(db, request.statements) : writeWithoutSync(db, request.statements);
}

function opened(path: string, access: "write" | "read"): Database {
  const file = openSqlite(path);
  // Checkpoints sync; they are the ledger's, in its own thread.
  if (access === "read")
    for (const pragma of ["query_only = 1", "wal_autocheckpoint = 0"]) file.run(`PRAGMA ${pragma}`);
  return file;
}

answerCalls(run);
