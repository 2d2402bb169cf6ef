import { Database } from "bun:sqlite";
import { answerCalls } from "#platform/threads/answer-calls.ts";

/** Reads an SQLite file in a thread of its own, so that long queries hold up no request of a gateway in this process. */
export type ReadRequest =
  | { readonly call: "open"; readonly path: string }
  | { readonly call: "read"; readonly sql: string; readonly values: readonly (string | number | null)[] };

let db: Database | undefined;

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
