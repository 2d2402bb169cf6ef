import { Database } from "bun:sqlite";
import type { ReadReply, ReadRequest } from "./sqlite-reader.ts";

/** The thread that reads: a query over many accounts takes a while, and nobody who waits for an answer should wait with it. */
declare const self: Worker;

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

self.onmessage = ({ data }: MessageEvent<string>) => {
  // Only `SqliteReader` writes here.
  const { id, request } = JSON.parse(data) as { id: number; request: ReadRequest };
  let reply: ReadReply;
  try {
    reply = { id, ok: true, value: run(request) };
  } catch (error) {
    reply = { id, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(JSON.stringify(reply));
};
