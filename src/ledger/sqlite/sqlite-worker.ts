import { asStoreFailure } from "#ledger/store.ts";
import { SqliteBooks } from "./sqlite-engine.ts";
import type { JoinReply, WorkerReply, WorkerRequest } from "./sqlite-store.ts";

/** The thread that owns the connection: one request after the other, each answered when it is on disk. */
declare const self: Worker;

let books: SqliteBooks | undefined;

function run(request: WorkerRequest): unknown {
  if (request.call === "open") {
    books = new SqliteBooks(request.path);
    return undefined;
  }
  if (books === undefined) throw new Error("the database is not open");
  switch (request.call) {
    case "join":
      return { node: books.join(request.nodeId, request.nowMs), empty: books.empty } satisfies JoinReply;
    case "commit":
      return books.commit(request.batch, request.nowMs);
    case "beat":
      return books.beat(request.node, request.nowMs);
    case "due":
      return books.due(request.node, request.limit, request.nowMs);
    case "day":
      return books.latestDay(request.nowMs);
    case "read":
      return books.read({ [request.day]: request.accounts }, request.nowMs);
    case "takeLookups":
      return books.takeLookups(request.limit, request.nowMs);
    case "dropLookups":
      return books.dropLookups(request.ids);
    case "openHolds":
      return books.openHolds(request.nowMs);
    case "prune":
      return books.prune(request.retentionMs, request.limit, request.nowMs);
    case "close":
      return books.close();
  }
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  // Only `SqliteStore` writes here.
  const { id, request } = JSON.parse(data) as { id: number; request: WorkerRequest };
  let reply: WorkerReply;
  try {
    reply = { id, ok: true, value: run(request) };
  } catch (error) {
    const { kind, message } = asStoreFailure(error);
    reply = { id, ok: false, kind, message };
  }
  self.postMessage(JSON.stringify(reply));
};
