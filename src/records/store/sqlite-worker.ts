import type { Database } from "bun:sqlite";
import { runSqliteWrites, type SqlWrite } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { type SqlRow, withLines } from "./sql-connection.ts";

/** Between the threads both travel as JSON text. */
export type RecordsRequest =
  | { readonly call: "open"; readonly path: string; readonly readOnly: boolean }
  | { readonly call: "read"; readonly sql: string; readonly values: readonly (string | number)[] }
  | { readonly call: "write"; readonly writes: readonly SqlWrite[] }
  | { readonly call: "close" };
export type RecordsReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly message: string };

/** The thread that reads the records, so that a long query blocks nobody; it writes where nobody else does. */
declare const self: Worker;

let db: Database | undefined;

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
      return withLines(db.query<SqlRow, (string | number)[]>(request.sql).all(...request.values));
    case "write":
      return runSqliteWrites(db, request.writes);
    case "close":
      return db.close();
  }
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  // Only `SqliteRecords` writes here.
  const { id, request } = JSON.parse(data) as { id: number; request: RecordsRequest };
  let reply: RecordsReply;
  try {
    reply = { id, ok: true, value: run(request) };
  } catch (error) {
    reply = { id, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(JSON.stringify(reply));
};
