import { asStoreFailure } from "#ledger/store.ts";
import { SqliteEngine } from "./sqlite-engine.ts";
import type { WorkerReply, WorkerRequest } from "./sqlite-store.ts";

/** The thread that owns the connection: one call after the other, each answered when it is on disk. */
declare const self: Worker;

let engine: SqliteEngine | undefined;

function run({ method, args }: WorkerRequest): unknown {
  if (method === "open") {
    engine = new SqliteEngine(...(args as [string]));
    return undefined;
  }
  if (engine === undefined) throw new Error("the database is not open");
  // `SqliteStore` sends what the method takes.
  const call = engine[method] as (...args: readonly unknown[]) => unknown;
  return call.apply(engine, [...args]);
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  const request = JSON.parse(data) as WorkerRequest; // as `SqliteStore` sends it
  const { id } = request;
  let reply: WorkerReply;
  try {
    reply = { id, ok: true, value: run(request) };
  } catch (error) {
    const { kind, message } = asStoreFailure(error);
    reply = { id, ok: false, kind, message };
  }
  self.postMessage(JSON.stringify(reply));
};
