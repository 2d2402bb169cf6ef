import { asStoreFailure } from "#ledger/store.ts";
import { answerCalls } from "#platform/thread-calls.ts";
import { SqliteEngine } from "./sqlite-engine.ts";
import type { EngineCall } from "./sqlite-store.ts";

/** The thread that owns the connection: one call after the other, each answered when it is on disk. */
let engine: SqliteEngine | undefined;

function run([method, ...args]: EngineCall): unknown {
  if (method === "open") {
    engine = new SqliteEngine(...(args as [string]));
    return undefined;
  }
  if (engine === undefined) throw new Error("the database is not open");
  // `SqliteStore` sends what the method takes.
  const call = engine[method] as (...args: readonly unknown[]) => unknown;
  return call.apply(engine, args);
}

answerCalls(run, (error) => asStoreFailure(error).kind);
