import type { SqlValue } from "#db/sql-writes.ts";
import { asStoreFailure } from "#ledger/store.ts";
import { type CommitRequest, decodeBatch, encodeReply } from "./commit-messages.ts";
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

function commit({ id, batch, nowMs }: CommitRequest): string {
  if (engine === undefined) throw new Error("the database is not open");
  return encodeReply(id, batch, engine.commit(batch, nowMs));
}

/** `work` gives the text of the reply. */
function answer(id: number, work: () => string): void {
  let reply: string;
  try {
    reply = work();
  } catch (error) {
    const { kind, message } = asStoreFailure(error);
    reply = JSON.stringify({ id, ok: false, kind, message } satisfies WorkerReply);
  }
  self.postMessage(reply);
}

function textOf(id: number, value: unknown): string {
  return JSON.stringify({ id, ok: true, value } satisfies WorkerReply);
}

self.onmessage = ({ data }: MessageEvent<string | readonly SqlValue[]>) => {
  // Only `SqliteStore` writes here.
  if (typeof data !== "string") {
    const id = data[0] as number;
    answer(id, () => textOf(id, write(data)));
    return;
  }
  const message = JSON.parse(data) as readonly unknown[] | { id: number; request: WorkerRequest };
  if (isBatch(message)) {
    const request = decodeBatch(message);
    answer(request.id, () => commit(request));
  } else {
    const { id, request } = message;
    answer(id, () => textOf(id, run(request)));
  }
};

function isBatch(message: readonly unknown[] | object): message is readonly unknown[] {
  return Array.isArray(message);
}
