import { Database } from "bun:sqlite";
import { answerCalls } from "#platform/threads/answer-calls.ts";
import type { ReadRequest } from "./sqlite-reader.ts";

let db: Database | undefined;

/** Runs in a thread of its own: a query over many accounts takes a while, and nobody who waits for an answer should wait with it. */
function run(request: ReadRequest): unknown {
  if (request.call === "open") {
    db = new Database(request.path, { readonly: true, strict: true });
    db.run("PRAGMA busy_timeout = 1000");
    return undefined;
  }
  if (db === undefined) throw new Error("the database is not open");
  return db.query<Record<string, unknown>, (string | number | null)[]>(request.sql).all(...request.values);
}

answerCalls(run);
