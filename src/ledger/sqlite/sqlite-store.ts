import { inMemoryPath } from "#db/database-url.ts";
import { type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { ThreadCalls } from "#platform/thread-calls.ts";
import type { Clock } from "#platform/time.ts";
import type { SqliteEngine } from "./sqlite-engine.ts";

/** The methods of the engine that the thread is asked for. */
type Method = Exclude<keyof SqliteEngine, symbol>;
type WithoutTime<Args extends readonly unknown[]> = Args extends [...infer Rest, nowMs: number] ? Rest : Args;

export type EngineCall = readonly [method: Method | "open", ...args: unknown[]];

/**
 * The ledger in an SQLite file, reached through the worker thread that owns the connection. The process clock counts.
 * `path` as SQLite takes it; `:memory:` for a ledger that ends with the process. Rejects when it cannot be opened.
 */
export async function openSqliteStore(path: string, clock: Clock): Promise<LedgerStore> {
  const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { name: "ledger" });
  const thread = new ThreadCalls<EngineCall>(worker, {
    keepsAlive: true,
    // The thread's own death is fatal to the ledger; its failures travel with their kind.
    errorOf: (message, kind) =>
      kind === undefined
        ? new StoreFailure("fatal", `the ledger's thread ended: ${message}`)
        : new StoreFailure(kind as StoreFailure["kind"], message),
  });
  await thread.call(["open", path]).catch((error: unknown) => {
    thread.terminate("the store cannot be opened");
    throw error;
  });
  /** A method of the engine, with the time of the call as its last argument. */
  const method =
    <M extends Method>(name: M) =>
    (...args: WithoutTime<Parameters<SqliteEngine[M]>>): Promise<ReturnType<SqliteEngine[M]>> =>
      thread.call([name, ...args, clock.now()]);
  return {
    kind: "sqlite",
    join: method("join"),
    commit: method("commit"),
    heartbeat: method("heartbeat"),
    findDue: method("findDue"),
    takeLookups: method("takeLookups"),
    dropLookups: method("dropLookups"),
    openHolds: method("openHolds"),
    prune: method("prune"),
    // Nobody else could read a database in memory.
    ...(path !== inMemoryPath && { sharedWrite: (statements) => thread.call(["sharedWrite", statements], true) }),
    async close() {
      // A thread that hangs on a dead disk must not keep the process.
      const deadline = new Promise((resolve) => setTimeout(resolve, 1_000).unref());
      await Promise.race([thread.call(["close"]).catch(() => {}), deadline]);
      thread.terminate("the ledger is closed");
    },
  };
}
