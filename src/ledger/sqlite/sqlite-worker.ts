import type { SqlValue } from "#db/sql-writes.ts";
import { asStoreFailure } from "#ledger/store.ts";
import { SqliteEngine } from "./sqlite-engine.ts";
import type { JoinReply, WorkerReply, WorkerRequest } from "./sqlite-store.ts";

/** The thread that owns the connection: one request after the other, each answered when it is on disk. */
declare const self: Worker;

let engine: SqliteEngine | undefined;

function run(request: WorkerRequest): unknown {
  if (request.call === "open") {
    engine = new SqliteEngine(request.path);
    return undefined;
  }
  if (engine === undefined) throw new Error("the database is not open");
  switch (request.call) {
    case "join":
      return { node: engine.join(request.nodeId, request.nowMs), empty: engine.empty } satisfies JoinReply;
    case "commit":
      return engine.commit(request.batch, request.nowMs);
    case "heartbeat":
      return engine.heartbeat(request.node, request.nowMs);
    case "findDue":
      return engine.findDue(request.node, request.limit, request.nowMs);
    case "day":
      return engine.latestDay(request.nowMs);
    case "read":
      return engine.read({ [request.day]: request.accounts }, request.nowMs);
    case "takeLookups":
      return engine.takeLookups(request.limit, request.nowMs);
    case "dropLookups":
      return engine.dropLookups(request.ids);
    case "openHolds":
      return engine.openHolds(request.nowMs);
    case "prune":
      return engine.prune(request.retentionMs, request.limit, request.nowMs);
    case "close":
      return engine.close();
  }
}

function write(message: readonly SqlValue[]): void {
  if (engine === undefined) throw new Error("the database is not open");
  engine.sharedWrite(message, 1);
}

function answer(id: number, work: () => unknown): void {
  let reply: WorkerReply;
  try {
    reply = { id, ok: true, value: work() };
  } catch (error) {
    const { kind, message } = asStoreFailure(error);
    reply = { id, ok: false, kind, message };
  }
  self.postMessage(JSON.stringify(reply));
}

self.onmessage = ({ data }: MessageEvent<string | readonly SqlValue[]>) => {
  // Only `SqliteStore` writes here.
  if (typeof data === "string") {
    const { id, request } = JSON.parse(data) as { id: number; request: WorkerRequest };
    answer(id, () => run(request));
  } else {
    answer(data[0] as number, () => write(data));
  }
};
